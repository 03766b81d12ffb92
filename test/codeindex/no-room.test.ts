/** An index whose disk is full or read-only. */
import { execFile } from "node:child_process";
import {
	appendFileSync,
	existsSync,
	readdirSync,
	readFileSync,
	statSync,
	writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { describe, expect, test, vi } from "vitest";
import { openCodeIndex } from "../../src/codeindex/open.ts";
import { Parser } from "../../src/codeindex/parsing/parser.ts";
import { TreeScanner } from "../../src/codeindex/scan/scan-tree.ts";
import { IndexService } from "../../src/codeindex/service/index-service.ts";
import { IndexStore, migrations, removeDatabase } from "../../src/codeindex/store/index-store.ts";
import { IndexWriter } from "../../src/codeindex/store/index-writer.ts";
import { openInMemory } from "../../src/core/sqlite.ts";
import { atEnd, tempDir } from "../support/temp.ts";
import { writeTree } from "./indexer/test-index.ts";

const TREE = {
	"src/greet.ts": "export function greet(name: string): string {\n\treturn name;\n}\n",
	"src/main.ts": 'import { greet } from "./greet.ts";\ngreet("you");\n',
};

interface Outcome {
	readonly uses?: string[];
	readonly notStored?: { place: string; reason: string };
	readonly files?: number;
	readonly note?: string;
	readonly state?: string;
	readonly code?: string;
	readonly message?: string;
}

/**
 * Builds or asks in a process whose files must not grow beyond so many blocks: writing fails with a real error of the
 * system, for the superuser too.
 */
async function withBlocks(
	blocks: number,
	{ root, folder }: { root: string; folder: string },
	...steps: ("build" | "ask")[]
): Promise<Outcome[]> {
	const script = `
		import { openCodeIndex } from ${JSON.stringify(new URL("../../src/codeindex/open.ts", import.meta.url).href)};
		const index = openCodeIndex(${JSON.stringify({ root, folder })});
		const outcomes = [];
		for (const step of ${JSON.stringify(steps)}) {
			try {
				if (step === "build") {
					const { coverage } = await index.build();
					outcomes.push({ files: coverage.files, notStored: coverage.notStored });
				} else {
					const { definitions, coverage } = await index.usages({ symbol: "greet" });
					const uses = definitions.flatMap(({ usages }) => usages.map(({ path, line }) => path + ":" + line));
					const { note, state } = await index.status();
					outcomes.push({ uses, files: coverage.files, notStored: coverage.notStored, note, state });
				}
			} catch ({ code, message }) {
				outcomes.push({ code, message });
			}
		}
		await index.close();
		console.log(JSON.stringify(outcomes));`;
	const node = `exec "${process.execPath}" --input-type=module-typescript --eval "$0"`;
	const { stdout } = await promisify(execFile)("sh", [
		"-c",
		`ulimit -f ${blocks}; ${node}`,
		script,
	]);
	return JSON.parse(stdout) as Outcome[];
}

function project(): { root: string; folder: string } {
	const root = tempDir();
	writeTree(root, TREE);
	return { root, folder: tempDir() };
}

async function builtProject() {
	const made = project();
	const index = openCodeIndex(made);
	await index.build();
	const { database } = await index.status();
	await index.close();
	return { ...made, database };
}

const filesIn = (folder: string) =>
	readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((path) =>
		statSync(join(folder, path)).isFile(),
	);

describe("without room on the disk", () => {
	test("an index that is there answers as the files are now, says so, and stays as it was", {
		tags: "slow",
	}, async () => {
		const { root, folder, database } = await builtProject();
		const before = readFileSync(database);
		appendFileSync(join(root, "src/main.ts"), 'greet("again");\n');
		writeTree(root, { "src/more.ts": 'import { greet } from "./greet.ts";\n' });
		const [first, second] = await withBlocks(0, { root, folder }, "ask", "ask");
		const notStored = { place: dirname(database), reason: expect.any(String) };
		const uses = ["src/main.ts:1", "src/main.ts:2", "src/main.ts:3", "src/more.ts:1"];
		expect(first).toMatchObject({ uses, files: 3, notStored, state: "ready" });
		expect(first?.note).toContain("in memory only");
		expect(second).toEqual(first);
		expect(readFileSync(database).equals(before)).toBe(true);

		const index = openCodeIndex({ root, folder });
		const { coverage } = await index.search({ query: "greet" });
		await index.close();
		expect(coverage).toMatchObject({ refreshedFiles: 2, files: 3 });
		expect(coverage.notStored).toBeUndefined();
	});

	test("an older index survives the step to the version of today, and is read all the same", {
		tags: "slow",
	}, async () => {
		const { root, folder, database } = await builtProject();
		const older = new DatabaseSync(database);
		older.exec("PRAGMA user_version = 1");
		older.close();
		const before = readFileSync(database);
		const [answer] = await withBlocks(0, { root, folder }, "ask");
		expect(answer).toMatchObject({ uses: ["src/main.ts:1", "src/main.ts:2"], files: 2 });
		expect(readFileSync(database).equals(before)).toBe(true);
	});

	test.each([0, 100, 200])(
		"a first build with %d blocks is kept in memory, and leaves nothing behind",
		{ tags: "slow" },
		async (blocks) => {
			const made = project();
			// More than the blocks hold.
			const many = Array.from(
				{ length: 60 },
				(_, at) => `export const name${at} = "${"x".repeat(99)}";`,
			);
			for (let at = 0; at < 40; at++)
				writeTree(made.root, { [`src/f${at}.ts`]: many.join(`\nexport const a${at} = 1;//`) });
			const [unasked, built, asked] = await withBlocks(blocks, made, "ask", "build", "ask");
			expect(unasked).toMatchObject({ code: "not-indexed" });
			expect(built).toMatchObject({ files: 42, notStored: { reason: expect.any(String) } });
			expect(asked).toMatchObject({ uses: ["src/main.ts:1", "src/main.ts:2"], state: "ready" });
			expect(
				filesIn(made.folder).filter((path) => !/^(version\.json|\.gitignore)$/.test(path)),
			).toEqual([]);
		},
	);
});

describe("a copy in memory", () => {
	const copy = (copyOf: string, maxBytes = 1e8) => openInMemory(migrations, { copyOf, maxBytes });

	test("has what the file has, and changes none", { tags: "slow" }, async () => {
		const { database } = await builtProject();
		const before = readFileSync(database);
		const opened = await copy(database);
		if (opened.kind !== "open") throw new Error(opened.message);
		expect(opened.database.prepare("SELECT count(*) AS n FROM files").get()).toEqual({ n: 2 });
		opened.database.exec("DELETE FROM files");
		opened.database.close();
		expect(readFileSync(database).equals(before)).toBe(true);
	});

	test("of a database of a newer version is refused", { tags: "slow" }, async () => {
		const { database } = await builtProject();
		const newer = new DatabaseSync(database);
		newer.exec("PRAGMA user_version = 99");
		newer.close();
		expect((await copy(database)).kind).toBe("newer");
	});

	test("is full at its bound", async () => {
		const opened = await copy(join(tempDir(), "none"), 200_000);
		if (opened.kind !== "open") throw new Error(opened.message);
		const fill = () =>
			opened.database.exec(
				"INSERT INTO meta VALUES (random(), zeroblob(100000)), (random(), zeroblob(200000))",
			);
		expect(fill).toThrow(expect.objectContaining({ errcode: 13 }));
		opened.database.close();
	});

	test("of what is no database is refused", async () => {
		const path = join(tempDir(), "no database");
		writeFileSync(path, "no database ".repeat(1000));
		expect(await copy(path)).toMatchObject({ kind: "unavailable", errorCode: 26 });
	});
});

test("an index that was built by the same process survives a disk that is full later", {
	tags: "slow",
}, async () => {
	const { root, folder } = project();
	const path = join(folder, "project-0123456789abcdef", "index.db");
	const service = new IndexService(root, path);
	atEnd(() => service.close());
	const call = { signal: new AbortController().signal, onProgress: () => {} };
	await service.build(call);
	appendFileSync(join(root, "src/main.ts"), "export const more = 1;\n");
	const full = Object.assign(new Error("database or disk is full"), { errcode: 13 });
	vi.spyOn(IndexWriter.prototype, "put").mockImplementationOnce(() => {
		throw full;
	});
	atEnd(() => vi.restoreAllMocks());
	const { coverage } = await service.ask("usages", { symbol: "a" }, call);
	expect(coverage).toMatchObject({
		files: 2,
		refreshedFiles: 1,
		notStored: { reason: full.message },
	});
	const stored = new DatabaseSync(path, { readOnly: true });
	expect(stored.prepare("SELECT count(*) AS n FROM files WHERE hash IS NOT NULL").get()).toEqual({
		n: 2,
	});
	stored.close();
});

test("an index in memory goes to the disk as soon as that can be written again", {
	tags: "slow",
}, async () => {
	const { root, folder } = project();
	const path = join(folder, "project-0123456789abcdef", "index.db");
	const service = new IndexService(root, path);
	atEnd(() => service.close());
	const call = { signal: new AbortController().signal, onProgress: () => {} };
	const refused = Object.assign(new Error("EROFS: read-only file system"), { code: "EROFS" });
	vi.spyOn(IndexStore, "open").mockRejectedValueOnce(refused);
	const clock = vi.spyOn(performance, "now");
	atEnd(() => vi.restoreAllMocks());
	const ask = async () => (await service.ask("usages", { symbol: "a" }, call)).coverage;

	expect((await service.build(call)).coverage.notStored).toEqual({
		place: dirname(path),
		reason: "EROFS: read-only file system",
	});
	expect(existsSync(dirname(path))).toBe(false);
	expect(await ask()).toMatchObject({ files: 2, notStored: expect.anything() });
	expect((await service.status()).note).toContain("in memory only");
	const later = performance.now() + 61_000;
	clock.mockImplementation(() => later);
	const coverage = await ask();
	expect(coverage).toMatchObject({ files: 2, complete: true });
	expect(coverage.notStored).toBeUndefined();
	expect(await service.status()).toMatchObject({ state: "ready", bytes: expect.any(Number) });
	expect((await service.status()).note).toBeUndefined();
	expect(readdirSync(dirname(path)).filter((name) => name.endsWith(".tmp"))).toEqual([]);
});

describe("a disk that is full while the index has to be made again", () => {
	const call = { signal: new AbortController().signal, onProgress: () => {} };
	const full = Object.assign(new Error("database or disk is full"), { errcode: 13 });

	function service() {
		const { root, folder } = project();
		const path = join(folder, "project-0123456789abcdef", "index.db");
		const made = new IndexService(root, path);
		atEnd(() => made.close());
		atEnd(() => vi.restoreAllMocks());
		return { root, path, made };
	}

	const noRoomOnce = () =>
		vi.spyOn(IndexWriter.prototype, "put").mockImplementationOnce(() => {
			throw full;
		});

	test("a damaged index is answered from memory", { tags: "slow" }, async () => {
		const { path, made } = service();
		await made.build(call);
		made.close();
		writeFileSync(path, "no database ".repeat(1000));
		noRoomOnce();
		const { coverage } = await made.ask("usages", { symbol: "a" }, call);
		expect(coverage).toMatchObject({ files: 2, notStored: { reason: full.message } });
	});

	test("an index that was deleted is answered from memory", { tags: "slow" }, async () => {
		const { path, made } = service();
		await made.build(call);
		removeDatabase(path);
		noRoomOnce();
		const { coverage } = await made.ask("usages", { symbol: "a" }, call);
		expect(coverage).toMatchObject({ files: 2, notStored: { reason: full.message } });
	});

	test("an index in memory that finds too little room on the disk goes on in memory", {
		tags: "slow",
	}, async () => {
		const { path, made } = service();
		noRoomOnce();
		await made.build(call);
		let later = performance.now() + 61_000;
		vi.spyOn(performance, "now").mockImplementation(() => later);
		const put = noRoomOnce();
		const { coverage } = await made.ask("usages", { symbol: "a" }, call);
		expect(coverage).toMatchObject({ files: 2, notStored: { reason: full.message } });
		expect(existsSync(dirname(path))).toBe(false);
		// A build for nothing is not repeated every minute.
		later += 61_000;
		put.mockClear();
		expect((await made.ask("usages", { symbol: "a" }, call)).coverage.notStored).toBeDefined();
		expect(put).not.toHaveBeenCalled();
		later += 60_000;
		expect((await made.ask("usages", { symbol: "a" }, call)).coverage.notStored).toBeUndefined();
	});

	test("what another process has built meanwhile is not removed", { tags: "slow" }, async () => {
		const { root, path, made } = service();
		const other = new IndexService(root, path);
		atEnd(() => other.close());
		await expect(made.ask("usages", { symbol: "a" }, call)).rejects.toThrow("not been indexed");
		const scan = vi.spyOn(TreeScanner.prototype, "scan");
		scan.mockImplementationOnce(async function (this: TreeScanner, options) {
			await other.build(call);
			writeTree(root, { "src/new.ts": "export {};\n" });
			noRoomOnce();
			return await this.scan(options);
		});
		const { coverage } = await made.build(call);
		expect(coverage).toMatchObject({ files: 3, notStored: { reason: full.message } });
		expect(existsSync(path)).toBe(true);
		expect((await other.status()).files).toBe(2);
	});

	test("a build that waited for one which failed is on the disk", { tags: "slow" }, async () => {
		const { root, path, made } = service();
		const other = new IndexService(root, path);
		atEnd(() => other.close());
		let waiting: Promise<unknown> | undefined;
		vi.spyOn(IndexWriter.prototype, "put").mockImplementationOnce(() => {
			throw full;
		});
		vi.spyOn(Parser.prototype, "parse").mockImplementationOnce(async function (
			this: Parser,
			...given
		) {
			waiting = other.build(call);
			await delay(300);
			await this.parse(...given);
		});
		await made.build(call);
		expect(await waiting).toMatchObject({ coverage: { files: 2 } });
		expect((await other.status()).note).not.toContain("in memory");
		const stored = new DatabaseSync(path, { readOnly: true });
		expect(stored.prepare("SELECT count(*) AS n FROM files").get()).toEqual({ n: 2 });
		stored.close();
	});
});
