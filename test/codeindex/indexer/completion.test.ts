import { appendFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { writeMonorepo } from "../../../bench/codeindex/monorepo.ts";
import { Indexer } from "../../../src/codeindex/indexer.ts";
import type { FileParser } from "../../../src/codeindex/parsing/parser.ts";
import { tempDir } from "../../support/temp.ts";
import { dumpIndex } from "./index-dump.ts";
import { openIndexer, parserHere, writeTree } from "./test-index.ts";

const TREE = {
	"src/greet.ts": "export function greet(name: string) {\n\treturn name;\n}\n",
	"src/main.ts": 'import { greet } from "./greet.ts";\ngreet("you");\n',
	"src/late.ts": 'export const late = () => import("./greet.ts");\n',
};

const FIRST = { mayBuild: true, extent: "skeleton" } as const;

function project(files: Record<string, string> = TREE): string {
	const root = tempDir();
	writeTree(root, files);
	return root;
}

describe("an index of skeletons", () => {
	test("has all declarations and edges at once, and nothing that a whole index has not", async () => {
		const { store, indexer } = await openIndexer(project());
		await indexer.refresh(FIRST);
		const reader = store.reader();
		expect(store.state().isComplete).toBe(true);
		// The file with the call of `import()` was read whole.
		expect(store.files.skeletons.size).toBe(2);
		const greet = reader.fileAt("src/greet.ts");
		const dependents = greet ? reader.dependents(greet.id) : [];
		expect(dependents.map(({ file }) => reader.files.get(file)?.path).sort()).toEqual([
			"src/late.ts",
			"src/main.ts",
		]);
		expect(reader.named("greet")).toHaveLength(1);
		const main = reader.fileAt("src/main.ts");
		expect(main && reader.references({ file: main.id, binding: 0 })).toEqual([]);
	});

	test("equals an index that was made whole, once it is completed", async () => {
		const root = tempDir();
		writeMonorepo(root, { files: 40, filesPerPackage: 20 });
		const [early, whole] = [await openIndexer(root), await openIndexer(root)];
		await whole.indexer.refresh({ mayBuild: true });
		await early.indexer.refresh(FIRST);
		expect(early.store.files.skeletons.size).toBeGreaterThan(30);
		const seen: number[] = [];
		await early.indexer.complete({ onProgress: ({ done }) => seen.push(done) });
		expect(early.store.files.skeletons.size).toBe(0);
		expect(seen).toEqual([32]);
		expect(dumpIndex(early.store.reader())).toEqual(dumpIndex(whole.store.reader()));
	});

	test("is completed by the next process if the first one ends early", async () => {
		const root = project();
		const { database, indexer } = await openIndexer(root);
		await indexer.refresh(FIRST);
		indexer.close();
		const next = await openIndexer(root, database);
		expect(next.store.files.skeletons.size).toBe(2);
		expect(await next.indexer.refresh({ mayBuild: false })).toMatchObject({ added: 0, changed: 0 });
		await next.indexer.complete({});
		expect(next.store.files.skeletons.size).toBe(0);
		expect(next.store.reader().matching(["you"], 10)).toHaveLength(1);
	});

	test("reads some files first if asked to", async () => {
		const { store, indexer } = await openIndexer(project());
		await indexer.refresh(FIRST);
		await indexer.complete({ files: ["src/main.ts"] });
		expect([...store.files.skeletons].map((id) => store.files.byId.get(id)?.path)).toEqual([
			"src/greet.ts",
		]);
	});

	test("reads a changed file whole", async () => {
		const root = project();
		const { store, indexer } = await openIndexer(root);
		await indexer.refresh(FIRST);
		appendFileSync(join(root, "src/main.ts"), "greet('me');\n");
		expect(await indexer.refresh({ mayBuild: false })).toMatchObject({ changed: 1 });
		expect(store.files.skeletons.size).toBe(1);
		const main = store.reader().fileAt("src/main.ts");
		expect(main && store.reader().references({ file: main.id, binding: 0 })).toHaveLength(2);
	});

	test("leaves a file that changes while it is completed to the next refresh", async () => {
		const root = project();
		const { store, indexer } = await openIndexer(root);
		await indexer.refresh(FIRST);
		appendFileSync(join(root, "src/main.ts"), "greet('me');\n");
		rmSync(join(root, "src/greet.ts"));
		await indexer.complete({});
		expect(store.files.skeletons.size).toBe(2);
		expect(await indexer.refresh({ mayBuild: false })).toMatchObject({ changed: 1, removed: 1 });
		expect(store.files.skeletons.size).toBe(0);
	});

	test("keeps the skeleton of a file that kills the parser, and says so", async () => {
		const root = project();
		const { store, lock } = await openIndexer(root);
		const here = parserHere(root);
		const parser: FileParser = {
			...here,
			async parse(files, take, signal, extent) {
				const { failedFile } = await import("../../../src/codeindex/parsing/file-outcome.ts");
				if (extent === "skeleton") return await here.parse(files, take, signal, extent);
				for (const { path } of files) take(failedFile(path, "the parser failed on it"));
			},
		};
		const indexer = new Indexer(root, store, () => lock, parser);
		await indexer.refresh(FIRST);
		await indexer.complete({});
		expect(store.files.skeletons.size).toBe(0);
		expect(store.reader().fileAt("src/greet.ts")?.problem).toBe("the parser failed on it");
		expect(store.reader().named("greet")).toHaveLength(1);
	});

	test("ends the waiting of a caller that aborts, and goes on for others", async () => {
		const { store, indexer } = await openIndexer(project());
		await indexer.refresh(FIRST);
		const stop = new AbortController();
		const aborted = indexer.complete({ signal: stop.signal });
		const other = indexer.complete({});
		stop.abort();
		await expect(aborted).rejects.toMatchObject({ code: "aborted" });
		await other;
		expect(store.files.skeletons.size).toBe(0);
	});
});
