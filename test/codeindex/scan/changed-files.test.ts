import { describe, expect, test } from "vitest";
import { changedFiles } from "../../../src/codeindex/indexer.ts";
import type { KnownFile, ScannedFile } from "../../../src/codeindex/scan/scanned-tree.ts";

const now = 1_700_000_000_000;
const file: ScannedFile = {
	path: "a.ts",
	bytes: 10,
	mtimeMs: now - 60_000,
	ctimeMs: now - 60_000,
	inode: 7,
};
const stored = (known: Partial<KnownFile> = {}): ReadonlyMap<string, KnownFile> => {
	const whole = { ...file, storedMs: now, ...known };
	return new Map([[whole.path, whole]]);
};

describe("changedFiles", () => {
	test("takes a file with equal stat data, written well before it was stored, as unchanged", () => {
		expect(changedFiles(stored(), [file])).toEqual({
			added: [],
			removed: [],
			unchanged: [file],
			toHash: [],
		});
	});

	test.each<Partial<ScannedFile>>([
		{ bytes: 11 },
		{ mtimeMs: file.mtimeMs + 0.5 },
		{ mtimeMs: file.mtimeMs - 1_000 },
		{ ctimeMs: file.ctimeMs + 1 },
		{ inode: 8 },
	])("wants the content of a file with another %o", (difference) => {
		const changed = { ...file, ...difference };
		expect(changedFiles(stored(), [changed])).toMatchObject({ unchanged: [], toHash: [changed] });
	});

	test.each([-1_999, 0, 1_000, 3_600_000])(
		"wants the content of a file written %d ms from when it was stored",
		(ms) => {
			for (const time of ["mtimeMs", "ctimeMs"] as const) {
				const racy = { ...file, [time]: now + ms };
				const known = stored({ [time]: now + ms });
				expect(changedFiles(known, [racy]).toHash).toEqual([racy]);
			}
		},
	);

	test("tells added and removed files, a rename being both", () => {
		const renamed = { ...file, path: "b.ts" };
		expect(changedFiles(stored(), [renamed])).toMatchObject({
			added: [renamed],
			removed: ["a.ts"],
		});
		expect(changedFiles(new Map(), [])).toEqual({
			added: [],
			removed: [],
			unchanged: [],
			toHash: [],
		});
	});
});
