import { compareText } from "../../core/compare-text.ts";
import { getOrAdd } from "../../core/get-or-add.ts";
import { nearest } from "../../text/nearest.ts";
import type { Definition, Uncovered, Usage, UsagesAnswer, UsagesQuery } from "../answers.ts";
import { CodeIndexError } from "../code-index.ts";
import type { SymbolKind } from "../facts.ts";
import type { FileId, IndexedFile, IndexReader } from "../index-reader.ts";
import { languageOf } from "../languages.ts";
import { type Linker, linkerOf } from "../link/linker.ts";
import { type Entity, keyOf } from "../link/modules.ts";
import { type MemberUsages, type Sites, usagesOfMembers, usagesOfSymbol } from "../link/usages.ts";
import { usagesByName } from "../link/usages-by-name.ts";
import { firstLine, type OrderedSymbol, symbolsOf } from "../symbol-order.ts";
import { reach } from "./graph.ts";
import { knownFile } from "./known-file.ts";
import { byPlace, describe, type FoundSymbol, splitName, symbolsByName } from "./symbols.ts";

export function usages(
	reader: IndexReader,
	{ symbol, file, includeTests = true }: UsagesQuery,
): Uncovered<UsagesAnswer> {
	const { found, omitted, suggestions } = definitionsByUse(reader, symbol, file);
	if (found.length === 0) return { symbol, definitions: [], suggestions };
	const around = enclosing(reader);
	const definitions = found.map(({ symbol: one, sites, members, byName }) => {
		const definition = toDefinition(reader, one, toUsages(reader, sites(), includeTests, around));
		if (byName) return { ...definition, byName };
		if (!members || one.entity.kind !== "member") return definition;
		const possible = possibleIn(reader, members.unclear, includeTests);
		return {
			...definition,
			...familyOf(reader, members.familyOf(one.entity), isApart(pathOf(reader, one))),
			...(possible.count > 0 && { possible }),
		};
	});
	return { symbol, definitions, ...(omitted > 0 && { omittedDefinitions: omitted }) };
}

interface UsedSymbol {
	readonly symbol: FoundSymbol;
	readonly sites: () => Sites;
	/** Of a member: all members of the name, since their accesses are resolved together. */
	readonly members?: MemberUsages;
	/** Set if the sites are all places of the name. */
	readonly byName?: true;
}

/** Definitions of a name: tests last, most used first. In a named file, the top level comes first. */
export function definitionsByUse(
	reader: IndexReader,
	symbol: string,
	path: string | undefined,
): {
	readonly found: readonly UsedSymbol[];
	readonly omitted: number;
	readonly suggestions: readonly string[];
} {
	const linker = linkerOf(reader);
	const file = path === undefined ? undefined : knownFile(reader, path);
	const { name } = splitName(symbol);
	const { found, omitted } = definitionsOf(linker, symbol, file);
	if (found.length === 0) return { found: [], omitted, suggestions: suggest(reader, name) };
	let members: MemberUsages | undefined;
	const used = found.map((one): UsedSymbol => {
		const { entity } = one;
		const language = languageOf(pathOf(reader, one));
		if (language?.usages === "names") {
			const definition = { file: entity.file, at: one.facts.at };
			const sites = once(() => usagesByName(reader, name, language, definition));
			return { symbol: one, sites, byName: true };
		}
		if (entity.kind === "declared") {
			return { symbol: one, sites: once(() => usagesOfSymbol(linker, entity)) };
		}
		members ??= usagesOfMembers(linker, name, reachersOf(linker, found));
		const known = members;
		return { symbol: one, members, sites: once(() => known.forMember(entity)) };
	});
	if (used.length === 1) return { found: used, omitted, suggestions: [] };
	const isTest = ({ symbol }: UsedSymbol) =>
		Number(reader.files.get(symbol.entity.file)?.isTest ?? false);
	// The sort is stable: equally used definitions keep their order of importance.
	const uses = new Map(used.map((one) => [one, countOf(one.sites())]));
	// In a named file, a name without an owner means the top level.
	const isMeant = ({ symbol }: UsedSymbol) =>
		Number(file !== undefined && symbol.entity.kind === "declared");
	used.sort(
		(a, b) =>
			isMeant(b) - isMeant(a) || isTest(a) - isTest(b) || (uses.get(b) ?? 0) - (uses.get(a) ?? 0),
	);
	return { found: used, omitted, suggestions: [] };
}

/** Overloads and merged declarations are no uses. */
function countOf(sites: Sites): number {
	let count = 0;
	sites.each((_file, _at, kind) => {
		if (kind !== "declaration") count++;
	});
	return count;
}

function once<Value>(make: () => Value): () => Value {
	let made: { readonly value: Value } | undefined;
	return () => {
		made ??= { value: make() };
		return made.value;
	};
}

/** Maximum number. If there are more, callers have to name an owner or a file. */
const MAX_DEFINITIONS = 100;
/** Above this many omitted definitions, following every access is slow and not useful. */
const MAX_OMITTED = 1000;

function definitionsOf(
	linker: Linker,
	symbol: string,
	file: IndexedFile | undefined,
): { readonly found: readonly FoundSymbol[]; readonly omitted: number } {
	const { reader } = linker;
	const { name, owners } = splitName(symbol);
	const limits = { limit: MAX_DEFINITIONS, file: file?.id };
	const { symbols, omitted } = symbolsByName(reader, symbol, limits);
	const found = withoutDescriptions(linker, symbols).sort(byImportance(reader));
	if (omitted > MAX_OMITTED && found.every(({ entity }) => entity.kind === "member")) {
		throw new CodeIndexError(
			"bad-query",
			`${found.length + omitted} things have a member ${name}: ask for Owner.${name}, or name the file.`,
		);
	}
	if (!file || found.length > 0 || owners.length > 0) return { found, omitted };
	const binding = reader.bindings(file.id).findIndex((one) => one.name === name);
	const at = { file: file.id, binding };
	const entity = binding >= 0 ? linker.resolveBinding(at) : linker.resolveExport(file.id, name);
	const imported = entity && describe(reader, entity);
	return { found: imported ? [imported] : [], omitted: 0 };
}

/** Whether a file imports a declaration, even indirectly. Only then can it know the type. */
function reachersOf(linker: Linker, found: readonly FoundSymbol[]): (file: FileId) => boolean {
	const { reader } = linker;
	const owners = found.flatMap(({ entity }) =>
		entity.kind === "member" ? [entity, ...linker.overridden(entity)] : [],
	);
	const described = owners.flatMap(({ file, binding }) => {
		return linker.implementation({ kind: "declared", file, binding }) ?? [];
	});
	const reachers = new Set([...owners, ...described].map(({ file }) => file));
	const files = [...reachers].flatMap((id) => reader.files.get(id) ?? []);
	for (const { file } of reach(reader, files, { direction: "dependents" })) reachers.add(file.id);
	return (file) => reachers.has(file);
}

function withoutDescriptions(linker: Linker, symbols: readonly FoundSymbol[]): FoundSymbol[] {
	const keys = new Set(symbols.map(({ entity }) => keyOf(entity)));
	return symbols.filter(({ entity }) => {
		const described = linker.implementation(entity);
		return !described || !keys.has(keyOf(described));
	});
}

/** Tests last, top level before members, exported before internal, then by path and place. */
function byImportance(reader: IndexReader): (a: FoundSymbol, b: FoundSymbol) => number {
	const order = (one: FoundSymbol) =>
		(reader.files.get(one.entity.file)?.isTest ? 4 : 0) +
		(one.entity.kind === "member" ? 2 : 0) +
		(one.exported ? 0 : 1);
	return (a, b) =>
		order(a) - order(b) || compareText(pathOf(reader, a), pathOf(reader, b)) || byPlace(a, b);
}

function pathOf(reader: IndexReader, { entity }: FoundSymbol): string {
	return reader.files.get(entity.file)?.path ?? "";
}

function toDefinition(
	reader: IndexReader,
	found: FoundSymbol,
	usages: readonly Usage[],
): Definition {
	const { entity, facts, exported, owners } = found;
	const [line, column] = facts.at;
	const isGlobal = reader.files.get(entity.file)?.isModule === false;
	return {
		path: pathOf(reader, found),
		line,
		column,
		kind: facts.symbol as SymbolKind,
		...(owners.length > 0 && { owner: owners.join(".") }),
		exported,
		signature: facts.signature,
		usages,
		...(isGlobal && { global: true as const }),
	};
}

function toUsages(
	reader: IndexReader,
	sites: Sites,
	includeTests: boolean,
	around: ReturnType<typeof enclosing>,
): readonly Usage[] {
	const files = new Map<string, Usage[]>();
	let current: { file: FileId; path: string; isTest: boolean; usages: Usage[] } | undefined;
	sites.each((file, [line, column], kind) => {
		if (current?.file !== file) {
			const { path = "", isTest = false } = reader.files.get(file) ?? {};
			current = { file, path, isTest, usages: [] };
			if (includeTests || !isTest) files.set(path, current.usages);
		}
		const { path, isTest, usages } = current;
		const within = kind === "import" || kind === "re-export" ? undefined : around(file, line);
		const usage = { path, line, column, kind, isTest };
		usages.push(within === undefined ? usage : { ...usage, within });
	});
	// A loop, since `flatMap` takes several times as long for thousands of files.
	const all: Usage[] = [];
	for (const path of [...files.keys()].sort())
		for (const one of files.get(path) ?? []) all.push(one);
	return all;
}

/** More files than this are not shown one by one, so their symbols are not looked up. */
const MAX_GROUPED_FILES = 200;

/** Returns the name of the innermost symbol around a line, for the first few files. */
function enclosing(reader: IndexReader): (file: FileId, line: number) => string | undefined {
	const spans = new Map<FileId, readonly OrderedSymbol[]>();
	return (file, line) => {
		if (!spans.has(file) && spans.size >= MAX_GROUPED_FILES) return undefined;
		const symbols = getOrAdd(spans, file, () => symbolsOf(reader.bindings(file)));
		// Members follow their owners, so the last one around the line is the innermost.
		const one = symbols.findLast(({ facts }) => firstLine(facts) <= line && line <= facts.endLine);
		return one && [...one.owners, one.facts.name].join(".");
	};
}

const MAX_FAMILY = 20;

function familyOf(
	reader: IndexReader,
	{ above, below, beside }: ReturnType<MemberUsages["familyOf"]>,
	apart: boolean,
): Pick<Definition, "family"> {
	if (above.length + below.length === 0) return {};
	const named = (members: readonly Entity[]) =>
		members.slice(0, MAX_FAMILY).flatMap((entity) => {
			const found = describe(reader, entity);
			if (!found) return [];
			const name = [...found.owners, found.facts.name].join(".");
			return [{ name, path: pathOf(reader, found), line: found.facts.at[0] }];
		});
	const family = { above: named(above), below: named(below), beside };
	return { family: apart ? { ...family, apart } : family };
}

function isApart(path: string): boolean {
	return languageOf(path)?.countsRelatives !== true;
}

function possibleIn(
	reader: IndexReader,
	counts: ReadonlyMap<FileId, number>,
	includeTests: boolean,
): Required<NonNullable<Definition["possible"]>> {
	const found: { path: string; times: number }[] = [];
	for (const [id, times] of counts) {
		const file = reader.files.get(id);
		if (file && (includeTests || !file.isTest)) found.push({ path: file.path, times });
	}
	found.sort((one, other) => compareText(one.path, other.path));
	return {
		count: found.reduce((sum, { times }) => sum + times, 0),
		files: found.map(({ path }) => path),
		counts: found.map(({ times }) => times),
	};
}

function suggest(reader: IndexReader, name: string): readonly string[] {
	if (name === "") return [];
	const longer = reader.namesLike(name, 5);
	const alike = [name.slice(0, 2), name.slice(-2)].flatMap((edge) => {
		return reader.namesLike(edge, CANDIDATES);
	});
	const near = nearest(name, alike);
	return [...new Set([...(near === undefined ? [] : [near]), ...longer])].slice(0, 5);
}

const CANDIDATES = 1000;
