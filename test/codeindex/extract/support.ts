import ts from "typescript-5";
import { extractFacts } from "../../../src/codeindex/extract/extract.ts";
import type { FileFacts, Position } from "../../../src/codeindex/facts.ts";

/** The places of a name as `line:column`, in order, with the facts that they were taken from. */
export function placesOf(facts: FileFacts, name: string): string[] {
	return facts.bindings
		.flatMap((binding, index) => (binding.name === name ? placesAt(facts, index) : []))
		.sort(byPlace);
}

/** The places of a binding: where it is declared, used and listed for export. */
export function placesAt(facts: FileFacts, index: number): string[] {
	const binding = facts.bindings[index];
	if (!binding) return [];
	const declared = binding.kind === "declared" ? (binding.alsoAt ?? []) : [];
	const used = facts.references.flatMap((one) => (one.binding === index && one.at ? [one.at] : []));
	const listed = facts.exports.flatMap((one) =>
		one.kind === "local" && one.binding === index ? (one.at ?? []) : [],
	);
	return [...new Set([binding.at, ...declared, ...used, ...listed].map(text))].sort(byPlace);
}

/** The same by TypeScript's language service, asked at each declaration of the name. */
export function placesByTypeScript(
	path: string,
	source: string,
	from: readonly Position[],
): string[] {
	const service = serviceFor(path, source);
	const file = service.getProgram()?.getSourceFile(path);
	if (!file) throw new Error(`TypeScript has no file ${path}`);
	const found = from.flatMap(([line, column]) => {
		const offset = file.getPositionOfLineAndCharacter(line - 1, column - 1);
		return (service.findReferences(path, offset) ?? []).flatMap((one) => one.references);
	});
	const places = found.map(({ textSpan }) => {
		const { line, character } = file.getLineAndCharacterOfPosition(textSpan.start);
		return text([line + 1, character + 1]);
	});
	return [...new Set(places)].sort(byPlace);
}

/** Where facts and TypeScript disagree about the named bindings of a source; empty if nowhere. */
export function disagreements(path: string, source: string): string[] {
	const facts = extractFacts(path, source);
	if (facts.status !== "parsed") return [`${path}: ${facts.problem}`];
	return facts.bindings.flatMap((binding, index) => {
		if (binding.name === "" || binding.name === "default") return [];
		const from = [binding.at, ...(binding.kind === "declared" ? (binding.alsoAt ?? []) : [])];
		const theirs = placesByTypeScript(path, source, from);
		const ours = placesAt(facts, index);
		const missing = theirs.filter((place) => !ours.includes(place));
		const extra = ours.filter((place) => !theirs.includes(place));
		return [
			...missing.map((place) => `${path}: ${binding.name} misses ${place}`),
			...extra.map((place) => `${path}: ${binding.name} has ${place} too much`),
		];
	});
}

/** References with steps as `binding[.instance] > step@line:column() …: usage`, in order. */
export function accesses(facts: FileFacts): string[] {
	return facts.references.flatMap(({ binding, side, steps, usage }) => {
		if (!steps) return [];
		const names = steps.map(
			({ name, at, called }) => `${name}${at ? "" : "?"}${called ? "()" : ""}`,
		);
		const owner = facts.bindings[binding]?.name;
		return [`${owner}${side === "instance" ? "" : " itself"} > ${names.join(" > ")}: ${usage}`];
	});
}

function serviceFor(path: string, source: string): ts.LanguageService {
	// The file alone is looked at: imports lead nowhere, and so do the types of the runtime.
	return ts.createLanguageService({
		getScriptFileNames: () => [path],
		getScriptVersion: () => "1",
		getScriptSnapshot: (name) => (name === path ? ts.ScriptSnapshot.fromString(source) : undefined),
		getCurrentDirectory: () => "/",
		getCompilationSettings: () => ({
			noResolve: true,
			noLib: true,
			allowJs: true,
			target: ts.ScriptTarget.ESNext,
			module: ts.ModuleKind.ESNext,
			jsx: ts.JsxEmit.Preserve,
		}),
		getDefaultLibFileName: () => "lib.d.ts",
		fileExists: (name) => name === path,
		readFile: (name) => (name === path ? source : undefined),
	});
}

function text([line, column]: Position): string {
	return `${line}:${column}`;
}

function byPlace(a: string, b: string): number {
	const [lineA = 0, columnA = 0] = a.split(":").map(Number);
	const [lineB = 0, columnB = 0] = b.split(":").map(Number);
	return lineA - lineB || columnA - columnB;
}
