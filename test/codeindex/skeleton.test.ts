// @module-tag slow
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { CodeIndex } from "../../src/codeindex/index.ts";
import { openCodeIndex } from "../../src/codeindex/open.ts";
import { PATIENCE } from "../support/patience.ts";
import { atEnd, tempDir } from "../support/temp.ts";
import { writeTree } from "./indexer/test-index.ts";

const TREE = {
	"src/greet.ts":
		"/** Says hello. */\nexport function greet(name: string) {\n\treturn polite(name);\n}\n\nfunction polite(name: string) {\n\treturn name;\n}\n",
	"src/index.ts": 'export { greet } from "./greet.ts";\n',
	"src/main.ts": 'import { greet } from "./index.ts";\n// A remark.\ngreet("you");\n',
	"src/other.ts": "export function twice() {}\n",
	"src/another.ts": "export function twice() {}\n",
	"test/greet.test.ts": 'import { greet } from "../src/greet.ts";\ngreet("me");\n',
};
const FILES = Object.keys(TREE).length;

/** An index whose skeleton is built. */
async function skeleton(inThisThread = true): Promise<CodeIndex & { folder: string }> {
	const root = tempDir();
	writeTree(root, TREE);
	const folder = tempDir();
	const index = openCodeIndex({ root, folder, inThisThread });
	atEnd(() => index.close());
	const { coverage, added } = await index.build({ skeletonFirst: true });
	expect({ ...coverage, added }).toMatchObject({ complete: true, pending: FILES, added: FILES });
	return { ...index, folder };
}

const pending = { coverage: { files: FILES, complete: true, pending: FILES } };

describe("questions to a skeleton are answered at once, and say what is still being read", () => {
	test("search, for words and for a declared name", async () => {
		const index = await skeleton();
		const byName = await index.search({ query: "greet" });
		expect(byName).toMatchObject({ ...pending, atLeast: true, hits: [{ path: "src/greet.ts" }] });
		const other = await skeleton();
		const byWords = await other.search({ query: "says hello" });
		expect(byWords).toMatchObject({ ...pending, atLeast: true, hits: [{ path: "src/greet.ts" }] });
	});

	test("dependencies, outline and task context", async () => {
		const deps = await (await skeleton()).dependencies({ path: "src/greet.ts", depth: 2 });
		expect(deps).toMatchObject(pending);
		expect(deps.dependents.map(({ path }) => path)).toEqual([
			"src/index.ts",
			"test/greet.test.ts",
			"src/main.ts",
		]);
		const outline = await (await skeleton()).outline({ file: "src/greet.ts" });
		expect(outline).toMatchObject(pending);
		expect(outline.outlines[0]?.symbols.map(({ name }) => name)).toEqual(["greet", "polite"]);
		const context = await (await skeleton()).taskContext({ files: ["src/greet.ts"] });
		expect(context).toMatchObject({ ...pending, tests: ["test/greet.test.ts"] });
	});

	test("the source of a symbol, after its file was read", async () => {
		const { definitions, coverage } = await (await skeleton()).symbol({ symbol: "greet" });
		expect(definitions).toMatchObject([{ source: { uses: [{ name: "polite", line: 6 }] } }]);
		expect(coverage.pending).toBe(FILES - 1);
	});
});

describe("questions that need references or texts wait for them", () => {
	const whole = { coverage: expect.not.objectContaining({ pending: expect.anything() }) };

	test("usages and impact", async () => {
		const usages = await (await skeleton()).usages({ symbol: "greet" });
		expect(usages).toMatchObject(whole);
		expect(usages.definitions[0]?.usages.map(({ path, line }) => `${path}:${line}`)).toEqual([
			"src/index.ts:1",
			"src/main.ts:1",
			"src/main.ts:3",
			"test/greet.test.ts:1",
			"test/greet.test.ts:2",
		]);
		const impact = await (await skeleton()).impact({ modify: ["src/greet.ts"] });
		expect(impact).toMatchObject({ ...whole, symbols: [{ name: "greet", usages: 5 }] });
	});

	test("a search that finds no declaration", async () => {
		const found = await (await skeleton()).search({ query: "remark" });
		expect(found).toMatchObject({ ...whole, hits: [{ path: "src/main.ts" }] });
		const nothing = await (await skeleton()).search({ query: "nowhere" });
		expect(nothing).toMatchObject({ ...whole, hits: [] });
	});

	test("definitions that are ordered by use", async () => {
		const outline = await (await skeleton()).outline({ symbol: "twice" });
		expect(outline).toMatchObject({ ...whole, outlines: [{}, {}] });
		const source = await (await skeleton()).symbol({ symbol: "twice" });
		expect(source).toMatchObject({ ...whole, definitions: [{}, {}] });
	});

	test("an edit right before the question counts", async () => {
		const index = await skeleton();
		appendFileSync(join(index.root, "src/main.ts"), 'greet("them");\n');
		const { definitions, coverage } = await index.usages({ symbol: "greet" });
		expect(definitions[0]?.usages.map(({ line }) => line)).toContain(4);
		expect(coverage.pending).toBeUndefined();
	});
});

test("a build reads what is left, and an index in a thread reads it after the first answer", async () => {
	const index = await skeleton(false);
	expect(await index.outline({ file: "src/greet.ts" })).toMatchObject(pending);
	const { coverage, added } = await index.build();
	expect({ pending: coverage.pending, added }).toEqual({ pending: undefined, added: 0 });
	expect((await index.status()).pending).toBeUndefined();

	const other = await skeleton(false);
	expect((await other.status()).pending).toBe(FILES);
	await other.outline({ file: "src/greet.ts" });
	await expect.poll(async () => (await other.status()).pending, PATIENCE).toBeUndefined();
});

test("an index that is closed while files are still being read goes on later", async () => {
	const index = await skeleton();
	await index.outline({ file: "src/greet.ts" });
	await index.close();
	const again = openCodeIndex({ root: index.root, folder: index.folder, inThisThread: true });
	atEnd(() => again.close());
	const { definitions } = await again.usages({ symbol: "greet" });
	expect(definitions[0]?.usages).toHaveLength(5);
});
