import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readSource } from "../../src/codeindex/read-source.ts";
import { tempDir } from "../support/temp.ts";

test("a file above the caller's limit is not read", () => {
	const root = tempDir();
	writeFileSync(join(root, "data.json"), "x".repeat(100));
	expect(readSource(root, "data.json", { maxBytes: 100 }).kind).toBe("read");
	expect(readSource(root, "data.json", { maxBytes: 99 })).toEqual({
		kind: "unreadable",
		reason: "it is too large",
	});
});
