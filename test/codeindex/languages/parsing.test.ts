// @module-tag slow
import { statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { grammarPath } from "../../../src/codeindex/extract/tree-sitter/grammars.ts";
import { languageOf } from "../../../src/codeindex/languages.ts";
import type { FileOutcome } from "../../../src/codeindex/parsing/file-outcome.ts";
import { Parser, type ParserOptions } from "../../../src/codeindex/parsing/parser.ts";
import { dependencies } from "../../../src/codeindex/queries/dependencies.ts";
import type { ScannedFile } from "../../../src/codeindex/scan/scanned-tree.ts";
import { atEnd, tempDir } from "../../support/temp.ts";
import { openIndexer, writeTree } from "../indexer/test-index.ts";
import { SAMPLES } from "./samples.ts";

test("a parser process takes files of all languages, and a hostile one costs itself only", async () => {
	const root = tempDir();
	const files = {
		...Object.assign({}, ...Object.values(SAMPLES).map((sample) => sample.files)),
		"deep.py": `x = ${"(".repeat(50_000)}\n`,
		"long.go": `package long\n\nvar x = "" ${'+\n"a" '.repeat(20_000)}\n`,
		"zero.rb": "\0".repeat(1000),
	};
	delete files["go.mod"];
	delete files["composer.json"];
	writeTree(root, files);
	const parser = new Parser(root);
	atEnd(() => parser.close());
	const scanned = Object.keys(files).map(
		(path) => ({ path, bytes: statSync(join(root, path)).size }) as ScannedFile,
	);
	const outcomes = new Map<string, FileOutcome>();
	await parser.parse(scanned, (outcome) => void outcomes.set(outcome.path, outcome));
	expect([...outcomes.keys()].sort()).toEqual(Object.keys(files).sort());
	const broken = [...outcomes.values()].filter((one) => {
		return one.kind === "parsed" && one.packed.problem !== undefined;
	});
	expect(broken.map(({ path }) => path).sort()).toEqual(["deep.py", "zero.rb"]);
});

const languages = Object.entries(SAMPLES).map(([language, { files }]) => {
	const [path = "", text = ""] = Object.entries(files).find(([path]) => languageOf(path)) ?? [];
	return { language, path, text, ending: path.slice(path.lastIndexOf(".")) };
});

async function problemsOf(files: Record<string, string>, options: ParserOptions) {
	const root = tempDir();
	writeTree(root, files);
	const parser = new Parser(root, options);
	atEnd(() => parser.close());
	const toParse = Object.entries(files).map(([path, text]) => ({ path, bytes: text.length }));
	const problems: Record<string, string | undefined> = {};
	await parser.parse(toParse, (outcome) => {
		problems[outcome.path] = outcome.kind === "parsed" ? outcome.packed.problem : outcome.kind;
	});
	return problems;
}

test.each(languages)("a parser that dies costs one file and says so: $language", async (one) => {
	const { path, text, ending } = one;
	const entry = new URL("mortal-parser.ts", import.meta.url);
	const files = { [path]: text, [`deadly${ending}`]: text, [`last${ending}`]: text };
	expect(await problemsOf(files, { entry })).toEqual({
		[path]: undefined,
		[`deadly${ending}`]: "the parser failed on it",
		[`last${ending}`]: undefined,
	});
});

test("a source that takes too long is reported, in every language", async () => {
	const files = Object.fromEntries(languages.map(({ path, text }) => [path, text]));
	const late = Object.keys(files).map((path) => [path, "parsing it took too long"]);
	expect(await problemsOf(files, { deadlineMs: 1 })).toEqual(Object.fromEntries(late));
});

test("a grammar that is missing is named, with what to do", () => {
	const grammar = { package: "tree-sitter-none", file: "tree-sitter-none.wasm" };
	expect(() => grammarPath(grammar)).toThrow(/tree-sitter-none\.wasm is neither at .* run npm ci/);
});

test("a file that moves to another package of its folder leaves its siblings", async () => {
	const root = tempDir();
	writeTree(root, {
		"go.mod": "module m\n",
		"a.go": "package a\n\nfunc One() {}\n",
		"b.go": "package a\n\nfunc Two() { One() }\n",
	});
	const { store, indexer } = await openIndexer(root);
	const siblings = async () => {
		await indexer.refresh({ mayBuild: true });
		const { dependents } = store.read((reader) => dependencies(reader, { path: "a.go" }));
		return dependents.map(({ path }) => path);
	};
	expect(await siblings()).toEqual(["b.go"]);
	writeTree(root, { "b.go": "package b\n\nfunc Two() { One() }\n" });
	expect(await siblings()).toEqual([]);
});
