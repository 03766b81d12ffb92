import { appendFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { Indexer } from "../../../src/codeindex/indexer.ts";
import type { FileParser } from "../../../src/codeindex/parsing/parser.ts";
import { tempDir } from "../../support/temp.ts";
import { openIndexer, parserHere, writeTree } from "./test-index.ts";

/** An indexer whose list of files is cached, with what it does in order: files parsed, and the begin of writing. */
async function repeated(parserOf = parserHere) {
	const root = tempDir();
	writeTree(root, { "a.ts": "export const a = 1;\n", "b.ts": "export const b = 1;\n" });
	const { store, lock, database } = await openIndexer(root);
	const steps: string[] = [];
	const parser: FileParser = {
		...parserOf(root),
		async parse(files, ...others) {
			if (files.length > 0) steps.push(files.map(({ path }) => path).join(" "));
			await parserOf(root).parse(files, ...others);
		},
	};
	const indexer = new Indexer(root, store, () => lock, parser);
	for (let scan = 0; scan < 3; scan++) await indexer.refresh({ mayBuild: true });
	const begin = store.begin.bind(store);
	vi.spyOn(store, "begin").mockImplementation(() => {
		steps.push("write");
		begin();
	});
	steps.length = 0;
	return { root, store, indexer, database, steps };
}

describe("an edited file", () => {
	test("is parsed once, while the scan goes on", async () => {
		const { root, store, indexer, steps } = await repeated();
		appendFileSync(join(root, "b.ts"), "export const more = 1;\n");
		expect(await indexer.refresh({ mayBuild: false })).toMatchObject({ changed: 1 });
		expect(steps).toEqual(["b.ts", "write"]);
		expect(store.reader().named("more")).toHaveLength(1);
	});

	test("is parsed again with the next edit", async () => {
		const { root, store, indexer } = await repeated();
		for (const name of ["first", "second", "third"]) {
			writeFileSync(join(root, "b.ts"), `export const ${name} = 1;\n`);
			await indexer.refresh({ mayBuild: false });
			expect(store.reader().named(name)).toHaveLength(1);
		}
		expect(store.reader().named("second")).toHaveLength(0);
	});

	test("is parsed again if the parser fails the first time", async () => {
		let failures = 0;
		const { root, store, indexer, steps } = await repeated((folder) => ({
			...parserHere(folder),
			async parse(...given) {
				if (failures-- > 0) throw new Error("no process");
				await parserHere(folder).parse(...given);
			},
		}));
		failures = 1;
		appendFileSync(join(root, "b.ts"), "export const more = 1;\n");
		await indexer.refresh({ mayBuild: false });
		expect(steps).toEqual(["b.ts", "write", "b.ts"]);
		expect(store.reader().named("more")).toHaveLength(1);
	});

	test("is parsed as it is now if another process has written meanwhile", async () => {
		const { root, store, indexer, database } = await repeated();
		const other = await openIndexer(root, database);
		appendFileSync(join(root, "b.ts"), "export const more = 1;\n");
		await other.lock.take(0);
		const waiting = indexer.refresh({ mayBuild: false });
		vi.spyOn(other.lock, "take").mockResolvedValue(true);
		vi.spyOn(other.lock, "release").mockImplementation(() => {});
		writeFileSync(join(root, "a.ts"), "export const latest = 1;\n");
		await other.indexer.refresh({ mayBuild: false });
		vi.restoreAllMocks();
		writeFileSync(join(root, "b.ts"), "export const newest = 1;\n");
		other.lock.release();
		await waiting;
		expect(store.reader().named("latest")).toHaveLength(1);
		await indexer.refresh({ mayBuild: false });
		expect(store.reader().named("newest")).toHaveLength(1);
	});
});

test("many changed files are parsed together", async () => {
	const { root, store, indexer, steps } = await repeated();
	const names = ["c", "d", "e", "f", "g", "h"];
	writeTree(root, Object.fromEntries(names.map((name) => [`${name}.ts`, ""])));
	for (let scan = 0; scan < 3; scan++) await indexer.refresh({ mayBuild: false });
	steps.length = 0;
	writeTree(
		root,
		Object.fromEntries(names.map((name) => [`${name}.ts`, `export const ${name} = 1;`])),
	);
	expect(await indexer.refresh({ mayBuild: false })).toMatchObject({ changed: 6 });
	expect(steps).toEqual(["c.ts", "d.ts", "e.ts", "f.ts", "write", "g.ts h.ts"]);
	for (const name of names) expect(store.reader().named(name)).toHaveLength(1);
});
