import { expect, test } from "vitest";
import { isSurelySame } from "../../src/core/file-times.ts";

test.each([
	["was not touched for long", {}, true],
	["has changed", { mtimeMs: 2_000 }, false],
	["has other rights", { ctimeMs: 2_000 }, false],
	["has another size", { bytes: 6 }, false],
	["is another one", { inode: 8 }, false],
])("a file or folder that %s is looked into again only if it must be", (_, change, isSame) => {
	const before = { bytes: 5, mtimeMs: 1_000, ctimeMs: 1_000, inode: 7 };
	const now = { ...before, ...change };
	expect(isSurelySame(before, 9_000, now)).toBe(isSame);
	// Of one that had only just changed when it was looked at, nothing is sure.
	expect(isSurelySame(before, 2_500, now)).toBe(false);
});
