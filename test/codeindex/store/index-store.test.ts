import { statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { FileFacts } from "../../../src/codeindex/facts.ts";
import type { FileId, IndexReader, Resolution } from "../../../src/codeindex/index-reader.ts";
import { storeFailure, UnavailableStore } from "../../../src/codeindex/store/failures.ts";
import { IndexStore, removeDatabase } from "../../../src/codeindex/store/index-store.ts";
import { packFile } from "../../../src/codeindex/store/packed-file.ts";
import { fc, runs } from "../../support/property.ts";
import { atEnd, tempDir } from "../../support/temp.ts";
import { arbitraryFacts, NAMES } from "./arbitrary-facts.ts";
import { type MemoryFile, memoryReader } from "./memory-reader.ts";

const EMPTY: FileFacts = {
	status: "parsed",
	isModule: true,
	lines: 1,
	requests: [],
	bindings: [],
	exports: [],
	references: [],
	looseAccesses: new Map(),
};

async function openStore(path = join(tempDir(), "cache", "index.db")): Promise<IndexStore> {
	const store = await IndexStore.open(path);
	atEnd(() => store.close());
	return store;
}

interface NewFile {
	path: string;
	facts: FileFacts;
	resolutions?: readonly Resolution[];
	text?: string;
}

/** Stores a file as the indexer does, within a transaction that is open. */
function put(store: IndexStore, { path, facts, resolutions = [], text = "" }: NewFile): MemoryFile {
	const id = store.writer.put({
		scanned: { path, bytes: 10, mtimeMs: 1.5, ctimeMs: 2.5, inode: 2 ** 60 },
		storedMs: 1e12,
		hash: new Uint8Array(16),
		isTest: path.includes("test"),
		packed: packFile(facts, { path: path.replaceAll("/", " "), symbols: "", text }),
		requests: facts.requests,
		resolutions,
	});
	const problem = facts.problem ?? (facts.status === "broken" ? "cannot be parsed" : undefined);
	const file = {
		id,
		path,
		bytes: 10,
		lines: facts.lines,
		isTest: path.includes("test"),
		isModule: facts.isModule,
		...(problem === undefined ? {} : { problem }),
	};
	return { file, facts, resolutions };
}

/** Everything a reader can tell about the files, in an order of its own. */
function everything(reader: Omit<IndexReader, "matching" | "declaring">, files: readonly FileId[]) {
	const sorted = (items: Iterable<unknown>) => [...items].map(inOneOrder).sort();
	return {
		files: sorted(reader.files.values()),
		unresolved: sorted(reader.unresolved()),
		perFile: files.map((file) => ({
			bindings: reader.bindings(file),
			exports: reader.exports(file),
			requests: reader.requests(file),
			resolutions: reader.resolutions(file),
			references: reader.bindings(file).map((_, binding) => reader.references({ file, binding })),
			atOnce: reader.referencesOfAll([
				{ file, binding: 0 },
				{ file, binding: 3 },
			]),
			dependencies: sorted(reader.dependencies(file)),
			dependents: sorted(reader.dependents(file)),
			exportsFrom: sorted(reader.exportsFrom(file)),
			importsOf: [...NAMES, "*", "="].map((name) => sorted(reader.importsOf(file, name))),
		})),
		perName: NAMES.map((name) => ({
			named: sorted(reader.named(name)),
			accessing: sorted(reader.accessing(name)),
			loose: sorted(reader.looseAccesses(name)),
			like: reader.namesLike(name.slice(0, 2), 4),
		})),
	};
}

/** JSON with the properties in the order of their names. */
function inOneOrder(value: unknown): string {
	return JSON.stringify(value, (_, inner) =>
		inner && typeof inner === "object" && !Array.isArray(inner)
			? Object.fromEntries(Object.entries(inner).sort(([one], [other]) => (one < other ? -1 : 1)))
			: inner,
	);
}

/** Where a request leads: to the file at a place in a list of paths, whatever its id is by then, or to none. */
const target: fc.Arbitrary<number | Resolution> = fc.oneof(
	{ weight: 4, arbitrary: fc.nat({ max: 3 }) },
	fc.constant({ kind: "external" as const, name: "react" }),
	fc.constant({ kind: "unresolved" as const, reason: "no such file" }),
);

describe("a stored index", () => {
	test("tells all that was stored, also after changes, removals and a reopening", {
		tags: "slow",
	}, async () => {
		const paths = ["a.ts", "src/b.ts", "src/c.test.ts", "d/ü.tsx"];
		const change = fc.record({
			path: fc.nat({ max: 3 }),
			facts: arbitraryFacts,
			targets: fc.array(target, { minLength: 6, maxLength: 6 }),
			kind: fc.constantFrom("put", "put", "resolve", "remove"),
		});
		await fc.assert(
			fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 8 }), async (changes) => {
				const path = join(tempDir(), "index.db");
				let store = await IndexStore.open(path);
				const model = new Map<string, MemoryFile>();
				store.begin();
				// Announced at once, so that ids are known to what leads there.
				const register = (one: string) =>
					store.writer.register({ path: one, bytes: 10, mtimeMs: 0, ctimeMs: 0, inode: 0 });
				const ids = paths.map(register);
				store.commit();
				for (const step of changes) {
					const at = paths[step.path] as string;
					const before = model.get(at);
					const { requests = [] } = (step.kind === "resolve" ? before?.facts : step.facts) ?? {};
					const resolutions = step.targets
						.slice(0, requests.length)
						.map(
							(to): Resolution =>
								typeof to === "number" ? { kind: "file", file: ids[to] as FileId } : to,
						);
					store.begin();
					if (step.kind === "put") {
						model.set(at, put(store, { path: at, facts: step.facts, resolutions }));
					} else if (before && step.kind === "resolve") {
						store.writer.setResolutions(before.file.id, resolutions);
						model.set(at, { ...before, resolutions });
					} else if (before) {
						// With the others told, as the indexer does.
						store.writer.remove(at);
						model.delete(at);
						for (const [other, one] of model) {
							const elsewhere = one.resolutions.map((resolution) =>
								resolution.kind === "file" && resolution.file === before.file.id
									? ({ kind: "unresolved", reason: "gone" } as const)
									: resolution,
							);
							store.writer.setResolutions(one.file.id, elsewhere);
							model.set(other, { ...one, resolutions: elsewhere });
						}
						ids[step.path] = register(at);
					}
					store.commit();
				}
				const present = new Set([...model.values()].map(({ file }) => file.id));
				const visible = [...model.values()].map((one) => ({
					...one,
					resolutions: one.resolutions.map((resolution) =>
						resolution.kind === "file" && !present.has(resolution.file)
							? { kind: "unresolved" as const, reason: "that file is not indexed yet" }
							: resolution,
					),
				}));
				const expected = everything(
					{
						...memoryReader(visible),
						// A file that is not there yet is no unresolved import of the project.
						unresolved: memoryReader([...model.values()]).unresolved,
					},
					[...present],
				);
				expect(store.read((reader) => everything(reader, [...present]))).toEqual(expected);
				store.close();
				store = await IndexStore.open(path);
				expect(store.read((reader) => everything(reader, [...present]))).toEqual(expected);
				store.close();
			}),
			{ numRuns: runs(30) },
		);
	});

	test("is readable by its owner only", async () => {
		const store = await openStore();
		store.begin();
		put(store, { path: "a.ts", facts: EMPTY });
		store.commit();
		for (const end of ["", "-wal", "-shm"]) {
			expect(statSync(store.path + end).mode & 0o777, end).toBe(0o600);
		}
		expect(statSync(join(store.path, "..")).mode & 0o777).toBe(0o700);
	});

	test("finds files by all words or else by any, the best first, and forgets old text", async () => {
		const store = await openStore();
		store.begin();
		put(store, { path: "src/session.ts", facts: EMPTY, text: "agent starts here" });
		put(store, { path: "src/other.ts", facts: EMPTY, text: "session session agent" });
		put(store, { path: "src/third.ts", facts: EMPTY, text: "agents" });
		store.commit();
		const paths = (...words: string[]) =>
			store.read((reader) =>
				reader.matching(words, 10).map(({ file }) => reader.files.get(file)?.path),
			);
		expect(paths("session")).toEqual(["src/session.ts", "src/other.ts"]);
		expect(paths("sess", "agent").slice(0, 2).sort()).toEqual(["src/other.ts", "src/session.ts"]);
		expect(paths("sess", "agent")[2]).toBe("src/third.ts");
		expect(paths("agent ses").length).toBe(2);
		expect(paths('"', "(", "AND", "none:*")).toEqual([]);
		expect(paths("", "  ")).toEqual([]);
		store.begin();
		put(store, { path: "src/session.ts", facts: EMPTY, text: "nothing" });
		store.writer.remove("src/other.ts");
		store.commit();
		expect(paths("agent")).toEqual(["src/third.ts"]);
	});

	test("has a new reader when something was stored, and only then", async () => {
		const store = await openStore();
		store.begin();
		put(store, { path: "a.ts", facts: EMPTY });
		store.commit();
		const before = store.reader();
		store.begin();
		store.writer.confirm({ path: "a.ts", bytes: 10, mtimeMs: 1, ctimeMs: 1, inode: 1 }, 5);
		store.commit();
		expect(store.reader()).toBe(before);
		store.begin();
		put(store, { path: "b.ts", facts: EMPTY });
		store.commit();
		expect(store.reader()).not.toBe(before);
	});
});

describe("two who have the same index open", () => {
	test("see what the other has stored, and nothing before it is finished", async () => {
		const one = await openStore();
		const other = await openStore(one.path);
		const paths = (store: IndexStore) =>
			store.read((reader) => [...reader.files.values()].map(({ path }) => path));
		one.begin();
		put(one, { path: "a.ts", facts: EMPTY });
		expect(paths(other)).toEqual([]);
		one.commit();
		expect(paths(other)).toEqual(["a.ts"]);
		other.begin();
		put(other, { path: "b.ts", facts: EMPTY });
		other.commit();
		expect(paths(one)).toEqual(["a.ts", "b.ts"]);
	});
});

describe("a store that fails", () => {
	test("is as before when a transaction is given up", async () => {
		const store = await openStore();
		store.begin();
		const { file } = put(store, { path: "a.ts", facts: EMPTY, text: "kept" });
		store.commit();
		store.begin();
		put(store, { path: "a.ts", facts: { ...EMPTY, lines: 7 }, text: "lost" });
		put(store, { path: "b.ts", facts: EMPTY });
		store.rollback();
		const [found, files] = store.read((reader) => [
			reader.matching(["kept"], 5).map((match) => match.file),
			[...reader.files.values()],
		]);
		expect(found).toEqual([file.id]);
		expect(files).toEqual([file]);
	});

	test("knows that its file was deleted or replaced", async () => {
		const store = await openStore();
		expect(store.isInPlace()).toBe(true);
		removeDatabase(store.path);
		expect(store.isInPlace()).toBe(false);
		const other = await openStore(store.path);
		expect(store.isInPlace()).toBe(false);
		expect(other.isInPlace()).toBe(true);
	});

	test("calls damage, a full disk and a lock by their names", () => {
		const failure = (errcode: number) => storeFailure(Object.assign(new Error(), { errcode }));
		expect([11, 26, 267, 522, 1032].map(failure)).toEqual(Array(5).fill("damaged"));
		expect(failure(13)).toBe("full");
		expect([8, 1544, 14, 778, 4618, 4874].map(failure)).toEqual(Array(6).fill("unwritable"));
		expect(failure(266)).toBe("other");
		const refused = (code: string) => storeFailure(Object.assign(new Error(), { code }));
		expect(["ENOSPC", "EDQUOT", "EFBIG"].map(refused)).toEqual(Array(3).fill("full"));
		expect(["EROFS", "EACCES", "EPERM"].map(refused)).toEqual(Array(3).fill("unwritable"));
		const cause = Object.assign(new Error(), { code: "EROFS" });
		expect(storeFailure(new UnavailableStore({ message: "x", cause }))).toBe("unwritable");
		expect(failure(517)).toBe("busy");
		expect(failure(1)).toBe("other");
		expect(storeFailure(new Error("x"))).toBe("other");
	});
});
