import { expect, test } from "vitest";
import type { FileId, ImportOf } from "../../../src/codeindex/index-reader.ts";
import { ImportLists } from "../../../src/codeindex/store/stored-reader.ts";
import { fc } from "../../support/property.ts";

function importOf(file: number, binding: number): ImportOf {
	const at = [1, 1] as const;
	const as = {
		kind: "imported",
		name: "a",
		request: 0,
		imported: "a",
		typeOnly: false,
		at,
	} as const;
	return { file: file as FileId, binding, as, isExported: false };
}

test("a long list stays what the database says while files change, come and go", () => {
	const anyChanges = fc.array(
		fc.array(fc.record({ file: fc.nat(260), imports: fc.nat(3) }), { maxLength: 4 }),
		{ maxLength: 6 },
	);
	fc.assert(
		fc.property(anyChanges, (rounds) => {
			const stored = new Map(Array.from({ length: 120 }, (_, n) => [n * 2, [importOf(n * 2, 0)]]));
			const all = () =>
				[...stored.keys()].sort((a, b) => a - b).flatMap((n) => stored.get(n) ?? []);
			const lists = new ImportLists();
			let readings = 0;
			const get = () =>
				lists.get("1 2", {
					all: () => {
						readings++;
						return all();
					},
					ofFile: (file) => stored.get(file) ?? [],
				});
			expect(get()).toEqual(all());
			for (const changes of rounds) {
				for (const { file, imports } of changes) {
					stored.set(
						file,
						Array.from({ length: imports }, (_, binding) => importOf(file, binding)),
					);
					lists.invalidate(file as FileId);
				}
				expect(get()).toEqual(all());
			}
			expect(readings).toBe(1);
		}),
	);
});

test("after everything was forgotten, a list is read anew", () => {
	const lists = new ImportLists();
	const listOf = (length: number) => Array.from({ length }, (_, file) => importOf(file, 0));
	const get = (length: number) =>
		lists.get("1 2", { all: () => listOf(length), ofFile: () => [] }).length;
	expect([get(150), get(151)]).toEqual([150, 150]);
	lists.clear();
	expect(get(152)).toBe(152);
});
