import { getOrAdd } from "../../core/get-or-add.ts";
import type {
	FileOutline,
	OutlineAnswer,
	OutlineQuery,
	OutlineSymbol,
	SymbolAnswer,
	SymbolQuery,
	SymbolSource,
	Uncovered,
} from "../answers.ts";
import { CodeIndexError } from "../code-index.ts";
import type { IndexedFile, IndexReader, ReadText } from "../index-reader.ts";
import { languageOf } from "../languages.ts";
import { firstLine } from "../symbol-order.ts";
import { knownFile } from "./known-file.ts";
import { type FoundSymbol, symbolsIn, toBrief } from "./symbols.ts";
import { definitionsByUse } from "./usages.ts";

/** Throws if neither a file nor a symbol is named, or if the file is not in the index. */
export function outline(
	reader: IndexReader,
	{ file: path, symbol }: OutlineQuery,
): Uncovered<OutlineAnswer> {
	if (symbol !== undefined) {
		const { found, omitted, suggestions } = definitionsByUse(reader, symbol, path);
		return {
			outlines: found.flatMap(({ symbol: one }) => {
				const file = reader.files.get(one.entity.file);
				return file ? [{ ...toOutline(file), symbols: [withMembers(one)] }] : [];
			}),
			...(omitted > 0 && { omittedDefinitions: omitted }),
			...(found.length === 0 && { suggestions }),
		};
	}
	if (path === undefined) throw new CodeIndexError("bad-query", "Name a file or a symbol.");
	const file = knownFile(reader, path);
	const symbols = symbolsIn(reader, file.id).map(withMembers);
	return { outlines: [{ ...toOutline(file), symbols }] };
}

function toOutline(file: IndexedFile): Omit<FileOutline, "symbols"> {
	const { path, isTest, lines, problem } = file;
	return { path, isTest, lines, ...(problem !== undefined && { problem }) };
}

export function withMembers(found: Omit<FoundSymbol, "entity">): OutlineSymbol {
	const { exported } = found;
	const members = (found.facts.members ?? [])
		.map((facts) => withMembers({ facts, exported, owners: [] }))
		.sort((a, b) => a.line - b.line);
	return { ...toBrief(found), ...(members.length > 0 && { members }) };
}

/** Definitions with a text. More of them would exceed every budget. */
const MAX_TEXTS = 5;
/** Longer sources, such as generated tables, are cut. */
const MAX_LINES = 4_000;

export function symbolSource(
	reader: IndexReader,
	{ symbol, file }: SymbolQuery,
	readText: ReadText,
): Uncovered<SymbolAnswer> {
	const { found, omitted, suggestions } = definitionsByUse(reader, symbol, file);
	return {
		symbol,
		definitions: found.flatMap(({ symbol: one }, index) => {
			const at = reader.files.get(one.entity.file);
			if (!at) return [];
			const text = index < MAX_TEXTS ? readText(at.path) : undefined;
			const source = text === undefined ? {} : { source: sourceOf(reader, one, text) };
			return [{ ...withMembers(one), path: at.path, isTest: at.isTest, ...source }];
		}),
		...(omitted > 0 && { omittedDefinitions: omitted }),
		...(found.length === 0 && { suggestions }),
	};
}

function sourceOf(
	reader: IndexReader,
	{ entity, facts }: FoundSymbol,
	text: string,
): NonNullable<SymbolSource["source"]> {
	const lines = text.split(/\r?\n/);
	const places = (facts.alsoAt ?? []).map(([line]) => line);
	// Merged declarations of a type can be far apart, and so can a prototype: only the main one is shown.
	const language = languageOf(reader.files.get(entity.file)?.path ?? "");
	const isTogether = facts.symbol === "function" && language?.usages !== "names";
	const start = firstLine(facts);
	const first = isTogether ? Math.min(start, ...places) : start;
	const shown = withComments(lines, first);
	const last = Math.min(facts.endLine, shown + MAX_LINES - 1);
	return {
		firstLine: shown,
		lines: lines.slice(shown - 1, last),
		...namesWithin(reader, entity, [shown, last]),
	};
}

/** Returns the line of the first comment, decorator or attribute right above a declaration. */
function withComments(lines: readonly string[], declaredAt: number): number {
	let first = declaredAt;
	while (first > 1) {
		const above = (lines[first - 2] ?? "").trim();
		if (above.endsWith("*/")) {
			let start = first - 1;
			while (start > 1 && !lines[start - 1]?.trimStart().startsWith("/*")) start--;
			if (!lines[start - 1]?.trimStart().startsWith("/*")) break;
			first = start;
		} else if (/^(?:\/\/|@|#(?:\[|\s|!)|export$|export default$)/.test(above)) first--;
		else break;
	}
	return first;
}

/** The imports and top-level names of the file that are written within a range of lines. */
function namesWithin(
	reader: IndexReader,
	{ file, binding: own }: FoundSymbol["entity"],
	[first, last]: readonly [first: number, last: number],
): Pick<NonNullable<SymbolSource["source"]>, "imports" | "uses"> {
	const requests = reader.requests(file);
	const imports = new Map<string, string[]>();
	const uses: { name: string; line: number }[] = [];
	for (const [binding, one] of reader.bindings(file).entries()) {
		if (binding === own || one.name === "") continue;
		const isUsed = reader
			.references({ file, binding })
			.some(({ at }) => at !== undefined && at[0] >= first && at[0] <= last);
		if (!isUsed) continue;
		if (one.kind === "declared") uses.push({ name: one.name, line: one.at[0] });
		else {
			const { specifier = "" } = requests[one.request] ?? {};
			getOrAdd(imports, specifier, () => []).push(importText(one));
		}
	}
	return { imports: [...imports].map(([from, names]) => ({ from, names })), uses };
}

function importText({ name, imported }: { name: string; imported: string }): string {
	if (imported === "*" || imported === "=") return `* as ${name}`;
	return imported === name ? name : `${imported} as ${name}`;
}
