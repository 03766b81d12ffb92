// @module-tag slow
import { existsSync, readdirSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { Declared, Member } from "../../../src/codeindex/facts.ts";
import type { IndexReader } from "../../../src/codeindex/index-reader.ts";
import { LANGUAGES, languageOf, pathKind } from "../../../src/codeindex/languages.ts";
import { dependenciesOf } from "../../../src/codeindex/link/modules.ts";
import { usages } from "../../../src/codeindex/queries/usages.ts";
import { packFile } from "../../../src/codeindex/store/packed-file.ts";
import { unpackBindings } from "../../../src/codeindex/store/records.ts";
import { tempDir } from "../../support/temp.ts";
import { openIndexer, writeTree } from "../indexer/test-index.ts";
import { factsOf, indexProject } from "./language-project.ts";
import { SAMPLES } from "./samples.ts";

test("every language with a folder is in the registry and has a sample, and no two share a file ending", () => {
	expect(Object.keys(SAMPLES).sort()).toEqual(LANGUAGES.map(({ name }) => name).sort());
	const folder = new URL("../../../src/codeindex/extract/", import.meta.url);
	const folders = readdirSync(folder).filter((name) => {
		return existsSync(new URL(`${name}/language.ts`, folder));
	});
	// TypeScript's extractor is the folder itself.
	expect(folders).toHaveLength(LANGUAGES.length - 1);
	const endings = LANGUAGES.flatMap((language) => language.endings);
	expect(new Set(endings).size).toBe(endings.length);
});

test("a file of the environment is no source, even with the ending of one", () => {
	expect(["app/.env.php", "app/env.php", "go.mod"].map(pathKind)).toEqual([
		"other",
		"source",
		"config",
	]);
});

describe.each(Object.entries(SAMPLES))("%s", (name, sample) => {
	const { outline, imports, edit, broken } = sample;

	test("has an outline with owners, kinds and line spans", async () => {
		const reader = await indexProject(sample.files);
		expect(outlineOf(reader, outline.path)).toEqual(outline.symbols);
	});

	test("leads imports to files", async () => {
		const reader = await indexProject(sample.files);
		for (const [path, targets] of Object.entries(imports)) {
			const edges = dependenciesOf(reader, fileIn(reader, path));
			const paths = edges.flatMap(({ file, kinds }) =>
				kinds.join() === "package" ? [] : (reader.files.get(file)?.path ?? []),
			);
			expect([path, ...paths.sort()]).toEqual([path, ...[...targets].sort()]);
		}
		expect(reader.unresolved()).toEqual([]);
	});

	test("finds usages, and says whether they are found by name", async () => {
		const reader = await indexProject(sample.files);
		for (const [place, expected] of Object.entries(sample.usages)) {
			expect([place, ...usagesAt(reader, place)]).toEqual([place, ...expected]);
		}
		const language = LANGUAGES.find((one) => one.name === name);
		const [first = ""] = Object.keys(sample.usages);
		expect(definitionAt(reader, first).byName === true).toBe(language?.usages === "names");
	});

	test("keeps what is understood of a source with an error, and says so", async () => {
		const facts = await factsOf(broken.path, broken.text);
		expect(facts.status).toBe("broken");
		expect(facts.problem).toMatch(/line \d+/);
		expect(facts.bindings.map((one) => one.name)).toContain(broken.keeps);
	});

	test("has facts that are the same after storing", async () => {
		for (const [path, text] of Object.entries(sample.files)) {
			if (!languageOf(path)) continue;
			const facts = await factsOf(path, text);
			const { bindings } = packFile(facts, { path: "", symbols: "", text: "" });
			expect(unpackBindings(bindings)).toEqual(facts.bindings);
		}
	});

	test("takes an empty file, and one without end, for what they are", async () => {
		const { path } = broken;
		expect((await factsOf(path, "")).bindings.filter((one) => one.kind === "declared")).toEqual([]);
		const deep = await factsOf(path, broken.text + "(".repeat(20_000));
		expect(deep.status).toBe("broken");
	});

	test("is fresh after an edit, a removal and a new file", async () => {
		const root = tempDir();
		writeTree(root, sample.files);
		const { store, indexer } = await openIndexer(root);
		await indexer.refresh({ mayBuild: true });
		const [place = "", expected] = Object.entries(sample.usages)[0] ?? [];
		const here = () => store.read((reader) => usagesAt(reader, place));
		expect(here()).toEqual(expected);
		writeTree(root, { [edit.path]: edit.text });
		await indexer.refresh({ mayBuild: true });
		expect(here()).toEqual(edit.places);
		writeTree(root, { [edit.path]: undefined });
		await indexer.refresh({ mayBuild: true });
		expect(here()).toEqual(edit.places.filter((one) => !one.startsWith(`${edit.path}:`)));
		writeTree(root, { [edit.path]: sample.files[edit.path] });
		await indexer.refresh({ mayBuild: true });
		expect(here()).toEqual(expected);
	});
});

test("one index holds all languages", async () => {
	const files = Object.assign({}, ...Object.values(SAMPLES).map((sample) => sample.files));
	const reader = await indexProject(files);
	for (const { usages: expected } of Object.values(SAMPLES)) {
		const [place = "", places] = Object.entries(expected)[0] ?? [];
		expect(usagesAt(reader, place).filter((one) => !one.startsWith("other"))).toEqual(places);
	}
});

function outlineOf(reader: IndexReader, path: string): string[] {
	const lines = (
		{ name, symbol, at, endLine, members = [] }: Declared | Member,
		owner: string,
	): string[] => [
		`${owner}${name} ${symbol} ${Math.min(at[0], endLine)}-${endLine}`,
		...members.flatMap((member) => lines(member, `${owner}${name}.`)),
	];
	return reader
		.bindings(fileIn(reader, path))
		.flatMap((one) => (one.kind === "declared" ? lines(one, "") : []));
}

function definitionAt(reader: IndexReader, place: string) {
	const [path = "", line, column] = place.split(":");
	const file = fileIn(reader, path);
	const isHere = ({ at }: Declared | Member) => at[0] === Number(line) && at[1] === Number(column);
	const names = reader.bindings(file).flatMap((one) => {
		if (one.kind !== "declared") return [];
		const all = [one, ...allMembers(one)];
		return all.filter(isHere).map((found) => found.name);
	});
	const { definitions } = usages(reader, { symbol: names[0] ?? "", file: path });
	const found = definitions.find(
		(one) => one.line === Number(line) && one.column === Number(column),
	);
	if (!found) throw new Error(`nothing is declared at ${place}`);
	return found;
}

function allMembers({ members = [] }: Declared | Member): Member[] {
	return members.flatMap((member) => [member, ...allMembers(member)]);
}

function usagesAt(reader: IndexReader, place: string): string[] {
	return definitionAt(reader, place)
		.usages.map(({ path, line, column }) => `${path}:${line}:${column}`)
		.sort();
}

function fileIn(reader: IndexReader, path: string) {
	const file = reader.fileAt(path);
	if (!file) throw new Error(`${path} is not indexed`);
	return file.id;
}
