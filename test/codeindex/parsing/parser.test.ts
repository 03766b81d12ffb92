import { statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { FileOutcome } from "../../../src/codeindex/parsing/file-outcome.ts";
import { Parser, type ParserOptions } from "../../../src/codeindex/parsing/parser.ts";
import type { ScannedFile } from "../../../src/codeindex/scan/scanned-tree.ts";
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

test("every file of many batches is handed on once, also by a parser that was used before", async () => {
	const { parser, scanned } = setUp(many(150));
	for (let round = 0; round < 2; round++) {
		const paths: string[] = [];
		await parser.parse(scanned, (outcome) => paths.push(outcome.path));
		expect(paths.sort()).toEqual(scanned.map(({ path }) => path).sort());
	}
});

test("files that take too long are reported one by one", async () => {
	const text = `export const long = [${"1, ".repeat(100_000)}];\n`;
	const { parser, scanned } = setUp({ "long.ts": text, ...many(3) }, { deadlineMs: 1 });
	const outcomes = new Map<string, FileOutcome>();
	await parser.parse(scanned, (outcome) => void outcomes.set(outcome.path, outcome));
	expect(outcomes.size).toBe(scanned.length);
	expect(JSON.stringify(outcomes.get("long.ts"))).toContain("parsing it did not end");
});

test("an abort ends what is in flight, and so does a failure to take an outcome", async () => {
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
