import { execFile } from "node:child_process";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import type { FileOutcome } from "../../../src/codeindex/parsing/file-outcome.ts";
import { Parser, type ParserOptions } from "../../../src/codeindex/parsing/parser.ts";
import type { ScannedFile } from "../../../src/codeindex/scan/scanned-tree.ts";
import { childProcess } from "../../../src/core/worker-port.ts";
import { WorkerSupervisor } from "../../../src/core/worker-supervisor.ts";
import { PATIENCE } from "../../support/patience.ts";
import { atEnd, tempDir } from "../../support/temp.ts";
import { writeTree } from "../indexer/test-index.ts";

function setUp(files: Record<string, string>, options?: ParserOptions) {
	const root = tempDir();
	writeTree(root, files);
	const parser = new Parser(root, options);
	atEnd(() => parser.close());
	const scanned = Object.keys(files).map(
		(path) => ({ path, bytes: statSync(join(root, path)).size }) as ScannedFile,
	);
	return { parser, scanned };
}

const many = (count: number): Record<string, string> =>
	Object.fromEntries(
		Array.from({ length: count }, (_, i) => [`src/file-${i}.ts`, `export const x${i} = ${i};\n`]),
	);

test("every file of many batches is handed on once, also by a parser that was used before", {
	tags: "slow",
}, async () => {
	const { parser, scanned } = setUp(many(150));
	for (let round = 0; round < 2; round++) {
		const paths: string[] = [];
		await parser.parse(scanned, (outcome) => paths.push(outcome.path));
		expect(paths.sort()).toEqual(scanned.map(({ path }) => path).sort());
	}
});

test("files that take too long are reported one by one", { tags: "slow" }, async () => {
	const text = `export const long = [${"1, ".repeat(100_000)}];\n`;
	const { parser, scanned } = setUp({ "long.ts": text, ...many(3) }, { deadlineMs: 1 });
	const outcomes = new Map<string, FileOutcome>();
	await parser.parse(scanned, (outcome) => void outcomes.set(outcome.path, outcome));
	expect(outcomes.size).toBe(scanned.length);
	expect(JSON.stringify(outcomes.get("long.ts"))).toContain("parsing it took too long");
});

test("a parser process leaves its compiled code to the next one", { tags: "slow" }, async () => {
	const compileCache = tempDir();
	const root = tempDir();
	writeTree(root, many(1));
	const entry = new URL("../../../src/codeindex/parsing/parser-process.ts", import.meta.url);
	const options = { args: [root], maxHeapMb: 512, compileCache };
	const supervisor = new WorkerSupervisor({ start: () => childProcess(entry, options) });
	atEnd(() => supervisor.close());
	await supervisor.run({ paths: Object.keys(many(1)), extent: "whole" });
	const kept = () => readdirSync(compileCache, { recursive: true }).length;
	await expect.poll(kept, PATIENCE).toBeGreaterThan(30);
});

test("an abort ends what is in flight, and so does a failure to take an outcome", {
	tags: "slow",
}, async () => {
	const { parser, scanned } = setUp(many(150));
	const stop = new AbortController();
	const aborted = parser.parse(scanned, () => stop.abort(), stop.signal);
	await expect(aborted).rejects.toMatchObject({ code: "aborted" });
	let taken = 0;
	const failed = parser.parse(scanned, () => {
		taken++;
		throw new Error("disk full");
	});
	await expect(failed).rejects.toThrow("disk full");
	expect(taken).toBe(1);
	await expect(parser.parse(scanned, () => {}, AbortSignal.abort())).rejects.toMatchObject({
		code: "aborted",
	});
});

test("a process that cannot be started for want of file descriptors is no fault of the files", async () => {
	const parser = new URL("../../../src/codeindex/parsing/parser.ts", import.meta.url).href;
	const script = `
		import { closeSync, openSync } from "node:fs";
		import { Parser } from ${JSON.stringify(parser)};
		const parser = new Parser(process.cwd(), { processes: 1 });
		const open = [];
		try {
			while (true) open.push(openSync("/dev/null"));
		} catch {}
		const taken = [];
		const files = [{ path: "a.ts", bytes: 1 }, { path: "b.ts", bytes: 1 }];
		const error = await parser.parse(files, ({ path }) => taken.push(path)).catch((error) => error);
		for (const descriptor of open) closeSync(descriptor);
		console.log(JSON.stringify({ taken, code: error?.code, message: error?.message }));
		parser.close();
	`;
	const words = [
		"-c",
		'ulimit -n 100; exec "$0" --input-type=module -e "$1"',
		process.execPath,
		script,
	];
	const { stdout } = await promisify(execFile)("sh", words);
	expect(JSON.parse(stdout)).toEqual({
		taken: [],
		code: "failed",
		message: expect.stringMatching(/^The parser could not be started: .*EMFILE/),
	});
});
