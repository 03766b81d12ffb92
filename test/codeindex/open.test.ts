import { execFile } from "node:child_process";
import {
	appendFileSync,
	cpSync,
	existsSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	rmSync,
	statSync,
	truncateSync,
	writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { writeMonorepo } from "../../bench/codeindex/monorepo.ts";
import { type CodeIndex, CodeIndexError } from "../../src/codeindex/code-index.ts";
import { openCodeIndex } from "../../src/codeindex/open.ts";
import { IndexClient } from "../../src/codeindex/service/index-client.ts";
import type { IndexWorkerStart } from "../../src/codeindex/service/messages.ts";
import { PATIENCE } from "../support/patience.ts";
import { atEnd, tempDir } from "../support/temp.ts";
import { writeTree } from "./indexer/test-index.ts";

const TREE = {
	"src/greet.ts":
		"/** Says hello. */\nexport function greet(name: string): string {\n\treturn name;\n}\n",
	"src/index.ts": 'export { greet } from "./greet.ts";\n',
	"src/main.ts": 'import { greet } from "./index.ts";\ngreet("you");\n',
};

function open(root: string, folder = tempDir()): CodeIndex {
	const index = openCodeIndex({ root, folder });
	atEnd(() => index.close());
	return index;
}

function project(files: Record<string, string> = TREE): string {
	const root = tempDir();
	writeTree(root, files);
	return root;
}

async function codeOf(call: Promise<unknown>): Promise<string> {
	const error = await call.then(
		() => undefined,
		(reason: unknown) => reason,
	);
	expect(error).toBeInstanceOf(CodeIndexError);
	return (error as CodeIndexError).code;
}

async function usesOf(index: CodeIndex, symbol: string): Promise<string[]> {
	const { definitions } = await index.usages({ symbol });
	return definitions.flatMap(({ usages }) => usages.map(({ path, line }) => `${path}:${line}`));
}

test.skipIf(process.platform === "win32")(
	"in the calling thread, a question without an index does not list the files",
	{ tags: "slow" },
	async () => {
		const root = project();
		const bin = tempDir();
		const log = join(bin, "calls");
		const { PATH } = process.env;
		writeFileSync(join(bin, "git"), `#!/bin/sh\necho >> "${log}"\nPATH="${PATH}" exec git "$@"\n`, {
			mode: 0o755,
		});
		process.env.PATH = `${bin}:${PATH}`;
		atEnd(() => {
			process.env.PATH = PATH;
		});
		const runs = () => (existsSync(log) ? readFileSync(log, "utf8").length : 0);
		const here = openCodeIndex({ root, folder: tempDir(), inThisThread: true });
		atEnd(() => here.close());
		await expect(here.usages({ symbol: "greet" })).rejects.toMatchObject({ code: "not-indexed" });
		expect(runs()).toBe(0);
		await here.build();
		expect(runs()).toBe(2);
	},
);

test("an index in the calling thread gives the same answers, one call after the other", async () => {
	const root = tempDir();
	writeFileSync(join(root, "a.ts"), "export const a = 1;\n");
	writeFileSync(join(root, "b.ts"), 'import { a } from "./a.ts";\na;\n');
	const folder = tempDir();
	const here = openCodeIndex({ root, folder, inThisThread: true });
	await expect(here.usages({ symbol: "a" })).rejects.toMatchObject({ code: "not-indexed" });
	await here.build();
	const [first, second] = await Promise.all([
		here.usages({ symbol: "a" }),
		here.outline({ file: "b.ts" }),
	]);
	expect(second.outlines).toMatchObject([{ path: "b.ts", symbols: [] }]);
	await expect(here.outline({ file: "c.ts" })).rejects.toMatchObject({ code: "unknown-file" });
	await here.close();
	const worker = openCodeIndex({ root, folder });
	const { definitions } = await worker.usages({ symbol: "a" });
	await worker.close();
	expect(definitions).toEqual(first.definitions);
});

describe("a code index", () => {
	test("answers once it was built, and follows the files from then on", {
		tags: "slow",
	}, async () => {
		const root = project();
		const index = open(root);
		expect(await index.status()).toMatchObject({ state: "absent", root, files: 0 });
		expect(await codeOf(index.usages({ symbol: "greet" }))).toBe("not-indexed");
		const report = await index.build();
		expect(report).toMatchObject({ added: 3, changed: 0, removed: 0 });
		expect(report.coverage).toMatchObject({ files: 3, complete: true, unresolvedImports: 0 });
		expect(await usesOf(index, "greet")).toEqual([
			"src/index.ts:1",
			"src/main.ts:1",
			"src/main.ts:2",
		]);
		expect(await index.status()).toMatchObject({ state: "ready", files: 3, symbols: 1 });

		writeTree(root, {
			"src/main.ts": 'import { greet } from "./index.ts";\n\n\ngreet("all");\n',
			"src/more.ts": 'import { greet } from "./greet.ts";\ngreet("more");\n',
			"src/index.ts": undefined,
		});
		const { coverage } = await index.dependencies({ path: "src/greet.ts" });
		expect(coverage).toMatchObject({ refreshedFiles: 3, unresolvedImports: 1, files: 3 });
		expect(await usesOf(index, "greet")).toEqual(["src/more.ts:1", "src/more.ts:2"]);
	});

	test("is kept out of the project, under the folder it was given, for its owner only", {
		tags: "slow",
	}, async () => {
		const root = project();
		const folder = tempDir();
		const index = open(root, folder);
		await index.build();
		const { database } = await index.status();
		expect(dirname(dirname(database))).toBe(folder);
		expect(readdirSync(root)).toEqual(["src"]);
		for (const name of readdirSync(dirname(database))) {
			expect(statSync(join(dirname(database), name)).mode & 0o077, name).toBe(0);
		}
	});

	test("survives its own end: another one opened later need not build", {
		tags: "slow",
	}, async () => {
		const root = project();
		const folder = tempDir();
		const first = open(root, folder);
		await first.build();
		await first.close();
		expect(await codeOf(first.status())).toBe("failed");
		expect(await usesOf(open(root, folder), "greet")).toHaveLength(3);
	});

	test("says what is wrong with a question, a folder that is not there and a query that cannot be sent", {
		tags: "slow",
	}, async () => {
		expect(() => openCodeIndex({ root: join(tempDir(), "none") })).toThrow(CodeIndexError);
		const index = open(project());
		await index.build();
		expect(await codeOf(index.dependencies({ path: "src/none.ts" }))).toBe("unknown-file");
		const query = { symbol: "greet", file: (() => "") as unknown as string };
		expect(await codeOf(index.usages(query))).toBe("bad-query");
		expect(await usesOf(index, "greet")).toHaveLength(3);
	});
});

test("a declaration file that comes or goes beside JavaScript leaves its dependents", {
	tags: "slow",
}, async () => {
	const root = project({
		"index.js": "exports.run = function run() {};\n",
		"test/run.test.js": 'const { run } = require("../index");\nrun();\n',
	});
	const index = open(root);
	await index.build();
	const asked = async (path: string) => {
		const { dependents } = await index.dependencies({ path });
		const { tests } = await index.impact({ modify: [path] });
		const found = [...dependents, ...tests].map((one) => one.path);
		return [...new Set(found), (await usesOf(index, "run")).length];
	};
	expect(await asked("index.js")).toEqual(["test/run.test.js", 2]);
	writeTree(root, { "index.d.ts": "export function run(): void;\n" });
	expect(await asked("index.js")).toEqual(["test/run.test.js", 3]);
	expect(await asked("index.d.ts")).toEqual(["test/run.test.js", 3]);
	writeTree(root, { "index.d.ts": undefined });
	expect(await asked("index.js")).toEqual(["test/run.test.js", 2]);
});

describe("building", () => {
	test("can be aborted, keeps what it has done, answers with that and goes on later", {
		tags: "slow",
	}, async () => {
		const root = tempDir();
		const { files } = writeMonorepo(root, { files: 200 });
		const folder = tempDir();
		const index = open(root, folder);
		const stop = new AbortController();
		const building = index.build({
			signal: stop.signal,
			onProgress: ({ phase, done }) => {
				if (phase === "parsing" && done >= 32) stop.abort();
			},
		});
		expect(await codeOf(building)).toBe("aborted");
		const status = await index.status();
		expect(status.state).toBe("partial");
		expect(status.files).toBeGreaterThanOrEqual(32);
		expect(status.files).toBeLessThan(files);
		const { coverage } = await index.search({ query: "ledger" });
		expect(coverage).toMatchObject({ complete: false, files: status.files });
		await index.close();

		const later = open(root, folder);
		const report = await later.build();
		expect(report.added).toBe(files - status.files);
		expect(report.coverage).toMatchObject({ complete: true, files });
		expect(await later.status()).toMatchObject({ state: "ready", files });
	});

	test("can be killed, and goes on with what was stored by then", { tags: "slow" }, async () => {
		const root = tempDir();
		const { files } = writeMonorepo(root, { files: 320 });
		const folder = tempDir();
		const script = `
			import { openCodeIndex } from ${JSON.stringify(new URL("../../src/codeindex/open.ts", import.meta.url).href)};
			const index = openCodeIndex({ root: ${JSON.stringify(root)}, folder: ${JSON.stringify(folder)} });
			await index.build({
				onProgress: ({ phase, done }) => {
					if (phase === "parsing" && done >= 256) process.kill(process.pid, "SIGKILL");
				},
			});`;
		const arguments_ = ["--input-type=module-typescript", "--eval", script];
		await expect(promisify(execFile)(process.execPath, arguments_)).rejects.toThrow();
		const index = open(root, folder);
		const before = await index.status();
		expect(before).toMatchObject({ state: expect.stringMatching(/partial|ready/) });
		expect(before.files).toBeGreaterThanOrEqual(250);
		const report = await index.build();
		expect(report.added).toBe(files - before.files);
		expect(report.coverage).toMatchObject({ complete: true, files });
	});

	test("tells how far it is", { tags: "slow" }, async () => {
		const root = project();
		const told: string[] = [];
		await open(root).build({ onProgress: ({ phase }) => told.push(phase) });
		expect(new Set(told)).toEqual(new Set(["scanning", "parsing"]));
	});

	test("by two processes at once gives one index, and both know it", {
		tags: "slow",
	}, async () => {
		const root = tempDir();
		const { files } = writeMonorepo(root, { files: 120 });
		const folder = tempDir();
		const script = `
			import { openCodeIndex } from ${JSON.stringify(new URL("../../src/codeindex/open.ts", import.meta.url).href)};
			const index = openCodeIndex({ root: ${JSON.stringify(root)}, folder: ${JSON.stringify(folder)} });
			const { added, coverage } = await index.build();
			console.log(JSON.stringify({ added, files: coverage.files, complete: coverage.complete }));
			await index.close();`;
		const run = async () => {
			const arguments_ = ["--input-type=module-typescript", "--eval", script];
			const { stdout } = await promisify(execFile)(process.execPath, arguments_);
			return JSON.parse(stdout) as { added: number; files: number; complete: boolean };
		};
		const reports = await Promise.all([run(), run()]);
		for (const report of reports) expect(report).toMatchObject({ files, complete: true });
		expect(reports.map(({ added }) => added).sort((a, b) => a - b)).toEqual([0, files]);
	});
});

describe("an index that something happens to", () => {
	test.each([
		["deleted", (database: string) => rmSync(dirname(database), { recursive: true })],
		["overwritten", (database: string) => writeFileSync(database, "no database ".repeat(1000))],
		["cut short", (database: string) => truncateSync(database, 4096 * 3)],
		["damaged inside", damage],
	])("is built anew when it was %s while open, with a note", { tags: "slow" }, async (_, harm) => {
		const root = project();
		const index = open(root);
		await index.build();
		const { database } = await index.status();
		// What is still in the log would hide the damage.
		const other = new DatabaseSync(database);
		other.exec("PRAGMA wal_checkpoint(TRUNCATE)");
		other.close();
		harm(database);
		appendFileSync(join(root, "src/main.ts"), "greet('again');\n");
		expect(await usesOf(index, "greet")).toEqual([
			"src/index.ts:1",
			"src/main.ts:1",
			"src/main.ts:2",
			"src/main.ts:3",
		]);
		expect(await index.status()).toMatchObject({ state: "ready", note: expect.any(String) });
	});

	test("and was damaged before it was opened is built anew too", { tags: "slow" }, async () => {
		const root = project();
		const folder = tempDir();
		const first = open(root, folder);
		await first.build();
		const { database } = await first.status();
		await first.close();
		writeFileSync(database, "no database ".repeat(1000));
		const index = open(root, folder);
		expect(await usesOf(index, "greet")).toHaveLength(3);
		expect((await index.status()).note).toMatch(/damaged/);
	});

	/** An index as a later version would leave it. Returns the path of its database. */
	async function newerIndex(root: string, folder: string): Promise<string> {
		const first = open(root, folder);
		await first.build();
		const { database } = await first.status();
		await first.close();
		const newer = new DatabaseSync(database);
		newer.exec("PRAGMA user_version = 99");
		newer.close();
		return database;
	}

	test("and is of a newer version is left alone", { tags: "slow" }, async () => {
		const root = project();
		const folder = tempDir();
		const database = await newerIndex(root, folder);
		const before = readFileSync(database);
		const index = open(root, folder);
		expect(await codeOf(index.usages({ symbol: "greet" }))).toBe("unavailable");
		expect(readFileSync(database).equals(before)).toBe(true);
	});

	test("and is of a newer version is left alone whatever the project is called", {
		tags: "slow",
	}, async () => {
		const root = join(tempDir(), "malformed");
		cpSync(project(), root, { recursive: true });
		const folder = tempDir();
		const database = await newerIndex(root, folder);
		const before = readFileSync(database);
		expect(await codeOf(open(root, folder).build())).toBe("unavailable");
		expect(readFileSync(database).equals(before)).toBe(true);
	});

	test("and is of an older version is parsed again by the next question", {
		tags: "slow",
	}, async () => {
		const root = project({
			...TREE,
			"src/lib.js": "if (module) module.exports = lib;\nfunction lib() {}\n",
		});
		writeTree(root, { "src/user.js": 'const lib = require("./lib");\nlib();\n' });
		const folder = tempDir();
		const first = open(root, folder);
		await first.build();
		const { database } = await first.status();
		await first.close();
		const older = new DatabaseSync(database);
		older.exec("PRAGMA user_version = 1; DELETE FROM imports; UPDATE files SET lines = lines + 1");
		older.close();
		const index = open(root, folder);
		expect(await usesOf(index, "lib")).toEqual(["src/lib.js:1", "src/user.js:1", "src/user.js:2"]);
		expect(await index.status()).toMatchObject({ state: "ready", files: 5 });
		const { coverage } = await index.dependencies({ path: "src/lib.js" });
		expect(coverage).toMatchObject({ files: 5, complete: true, refreshedFiles: 0 });
		await index.close();
		const stored = new DatabaseSync(database);
		const lines = stored.prepare("SELECT lines FROM files ORDER BY path").all();
		stored.close();
		expect(lines.map((row) => row.lines)).toEqual([4, 1, 2, 2, 2]);
	});

	test("and cannot be written where it should be says so", async () => {
		const folder = join(tempDir(), "file");
		writeFileSync(folder, "");
		expect(await codeOf(open(project(), folder).build())).toBe("unavailable");
	});
});

test("a process does not stay alive for an index that has nothing to do", {
	tags: "slow",
}, async () => {
	const root = project();
	const script = `
		import { openCodeIndex } from ${JSON.stringify(new URL("../../src/codeindex/open.ts", import.meta.url).href)};
		const index = openCodeIndex({ root: ${JSON.stringify(root)}, folder: ${JSON.stringify(tempDir())} });
		await index.build();
		console.log("built");`;
	const arguments_ = ["--input-type=module-typescript", "--eval", script];
	const { stdout } = await promisify(execFile)(process.execPath, arguments_, PATIENCE);
	expect(stdout.trim()).toBe("built");
});

test("calls to a thread that dies are rejected, and the next one starts it again", {
	tags: "slow",
}, async () => {
	// Without what it is started with, the thread fails at once.
	const client = new IndexClient(undefined as unknown as IndexWorkerStart);
	for (const method of ["status", "build"] as const) {
		await expect(client.call(method, undefined)).rejects.toThrow(/stopped unexpectedly/);
	}
	await client.close();
});

test("files that cannot be understood or read are told, and nothing else suffers", {
	tags: "slow",
}, async () => {
	const root = project({
		...TREE,
		"src/broken.ts": "export const = ;;; import {",
		"src/binary.ts": "\u0000\u0001\u0002",
		"src/deep.ts": `export const deep = ${"[".repeat(20_000)}${"]".repeat(20_000)};`,
	});
	mkdirSync(join(root, "src/folder.ts"));
	const index = open(root);
	const { coverage } = await index.build();
	expect(coverage.files).toBe(6);
	expect(coverage.unparsed.paths).toContain("src/broken.ts");
	expect(await usesOf(index, "greet")).toHaveLength(3);
});

function damage(database: string): void {
	const bytes = readFileSync(database);
	// Everything but the header and the table of tables.
	bytes.fill(0xa5, 4096);
	writeFileSync(database, bytes);
}
