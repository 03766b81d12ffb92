import { expect, test } from "vitest";
import { counted } from "../../src/core/counted.ts";

test("one thing is one, and none are many", () => {
	expect(counted(1, "file")).toBe("1 file");
	expect(counted(0, "file")).toBe("0 files");
	expect(counted(12, "cache miss", "cache misses")).toBe("12 cache misses");
});
