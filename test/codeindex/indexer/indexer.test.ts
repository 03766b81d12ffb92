import { appendFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { tempDir } from "../../support/temp.ts";
import { dumpIndex } from "./index-dump.ts";
import { openIndexer, writeTree } from "./test-index.ts";

const TREE = {
	"a.ts": 'import { b } from "./b.ts";\nb();\n',
	"b.ts": "export function b(): void {}\n",
};

async function built(files: Record<string, string> = TREE) {
	const root = tempDir();
	writeTree(root, files);
	const opened = await openIndexer(root);
	await opened.indexer.refresh({ mayBuild: true });
	return { root, ...opened };
}

describe("a refresh", () => {
	test("takes in what changed and counts it", async () => {
		const { root, store, indexer } = await built();
		writeTree(root, { "b.ts": "export const b = 1;\n", "c.ts": "", "a.ts": undefined });
		const report = await indexer.refresh({ mayBuild: false });
		expect(report).toMatchObject({ added: 1, changed: 1, removed: 1 });
		expect([...store.files.indexed.values()].map(({ path }) => path).sort()).toEqual([
			"b.ts",
			"c.ts",
		]);
		expect(await indexer.refresh({ mayBuild: false })).toMatchObject({
			added: 0,
			changed: 0,
			removed: 0,
		});
	});

	test("sees an edit that leaves size and time as they were", async () => {
		const { root, store, indexer } = await built();
		const time = new Date(Date.now() - 60_000);
		const path = join(root, "b.ts");
		utimesSync(path, time, time);
		await indexer.refresh({ mayBuild: false });
		writeFileSync(path, "export function c(): void {}\n");
		utimesSync(path, time, time);
		expect(await indexer.refresh({ mayBuild: false })).toMatchObject({ changed: 1 });
		expect(store.reader().named("c")).toHaveLength(1);
	});

	test("of files that were only touched changes nothing", async () => {
		const { root, store, indexer } = await built();
		const before = store.reader();
		utimesSync(join(root, "b.ts"), new Date(), new Date());
		expect(await indexer.refresh({ mayBuild: false })).toMatchObject({ changed: 0 });
		expect(store.reader()).toBe(before);
	});

	test("links importers to a file that has appeared, and lets go of one that is gone", async () => {
		const { root, store, indexer } = await built({ "a.ts": TREE["a.ts"] });
		const kinds = () => {
			const reader = store.reader();
			return reader.resolutions(reader.fileAt("a.ts")?.id ?? (0 as never)).map(({ kind }) => kind);
		};
		expect(kinds()).toEqual(["unresolved"]);
		writeTree(root, { "b.ts": TREE["b.ts"] });
		await indexer.refresh({ mayBuild: false });
		expect(kinds()).toEqual(["file"]);
		writeTree(root, { "b.ts": undefined });
		await indexer.refresh({ mayBuild: false });
		expect(kinds()).toEqual(["unresolved"]);
	});

	test("that fails half-way, as on a full disk, leaves the old state", async () => {
		const { root, store, indexer } = await built();
		const before = store.read(dumpIndex);
		writeTree(root, { "b.ts": "export const other = 1;\n", "c.ts": "export const c = 1;\n" });
		const put = store.writer.put.bind(store.writer);
		let calls = 0;
		vi.spyOn(store.writer, "put").mockImplementation((file) => {
			if (++calls === 2) throw Object.assign(new Error("full"), { errcode: 13 });
			return put(file);
		});
		await expect(indexer.refresh({ mayBuild: false })).rejects.toThrow("full");
		expect(store.read(dumpIndex)).toEqual(before);
		vi.restoreAllMocks();
		expect(await indexer.refresh({ mayBuild: false })).toMatchObject({ added: 1, changed: 1 });
	});

	test("waits for another that writes, and finds its work done", async () => {
		const { root, indexer, store, database } = await built();
		const other = await openIndexer(root, database);
		appendFileSync(join(root, "b.ts"), "export const more = 1;\n");
		await other.lock.take(0);
		const waiting = indexer.refresh({ mayBuild: false });
		// The other one goes first.
		const take = vi.spyOn(other.lock, "take").mockResolvedValue(true);
		const release = vi.spyOn(other.lock, "release").mockImplementation(() => {});
		expect(await other.indexer.refresh({ mayBuild: false })).toMatchObject({ changed: 1 });
		take.mockRestore();
		release.mockRestore();
		other.lock.release();
		expect(await waiting).toMatchObject({ changed: 0 });
		expect(store.reader().named("more")).toHaveLength(1);
	});

	test("of an unfinished first indexing keeps what is there fresh, and takes in nothing new", async () => {
		const { root, store, indexer } = await built();
		store.begin();
		store.setState({ isComplete: false });
		store.commit();
		writeTree(root, { "b.ts": "export const changed = 1;\n", "c.ts": "" });
		await indexer.refresh({ mayBuild: false });
		expect(store.reader().named("changed")).toHaveLength(1);
		expect(store.reader().fileAt("c.ts")).toBeUndefined();
		expect(store.state().isComplete).toBe(false);
		await indexer.refresh({ mayBuild: true });
		expect(store.reader().fileAt("c.ts")).toBeDefined();
		expect(store.state().isComplete).toBe(true);
	});
});
