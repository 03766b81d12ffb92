// @module-tag slow
/** How far a reader has to go: the source files that four actions pass, bounded and listed in docs/architecture.md. */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { beforeAll, describe, expect, test } from "vitest";
import { PATIENCE_MS } from "./support/patience.ts";

const MOST: Record<string, number> = {
	"A repeated read": 16,
	"A code question": 28,
	"A prompt over WebSocket": 35,
	"Prune and read back": 21,
};
const script = fileURLToPath(new URL("../scripts/walks.ts", import.meta.url));
const page = readFileSync(new URL("../docs/architecture.md", import.meta.url), "utf8");
let walks: Record<string, string[]>;

beforeAll(async () => {
	walks = JSON.parse((await promisify(execFile)(process.execPath, [script])).stdout);
}, 2 * PATIENCE_MS);

describe.each(Object.entries(MOST))("%s", (name, most) => {
	test(`passes ${most} files or fewer`, () => {
		expect(walks[name]?.length, walks[name]?.join("\n")).toBeLessThanOrEqual(most);
	});

	test("passes the files that docs/architecture.md lists", () => {
		const [, section = ""] = page.split(`### ${name}\n`);
		const [own = ""] = section.split(/^#+ /m);
		const listed = [...own.matchAll(/`([\w/.-]+\.ts)`/g)].map(([, file]) => file);
		expect([...new Set(listed)].sort()).toEqual(walks[name]);
	});
});
