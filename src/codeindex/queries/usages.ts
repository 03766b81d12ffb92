import { compareText } from "../../core/compare-text.ts";
import { nearest } from "../../text/nearest.ts";
import type { Definition, Uncovered, Usage, UsagesAnswer, UsagesQuery } from "../answers.ts";
import { CodeIndexError } from "../code-index.ts";
import type { SymbolKind } from "../facts.ts";
import type { FileId, IndexedFile, IndexReader } from "../index-reader.ts";
import { languageOf } from "../languages.ts";
import { type Linker, linkerOf } from "../link/linker.ts";
import { keyOf } from "../link/modules.ts";
import {
	type MemberUsages,
	type UsageSite,
	usagesOfMembers,
	usagesOfSymbol,
} from "../link/usages.ts";
import { usagesByName } from "../link/usages-by-name.ts";
import { reach } from "./graph.ts";
import { knownFile } from "./known-file.ts";
import { byPlace, describe, type FoundSymbol, splitName, symbolsByName } from "./symbols.ts";

export function usages(
	reader: IndexReader,
	{ symbol, file: path, includeTests = true }: UsagesQuery,
): Uncovered<UsagesAnswer> {
	const linker = linkerOf(reader);
	const file = path === undefined ? undefined : knownFile(reader, path);
	const { name } = splitName(symbol);
	const { found, omitted } = definitionsOf(linker, symbol, file);
	if (found.length === 0) {
		return { symbol, definitions: [], suggestions: suggest(reader, name) };
	}
	let members: MemberUsages | undefined;
	const definitions = found.map((one) => {
		const language = languageOf(pathOf(reader, one));
		if (language?.usages === "names") {
			const definition = { file: one.entity.file, at: one.facts.at };
			const sites = usagesByName(reader, name, language, definition);
			return { ...toDefinition(reader, one, sites, includeTests), byName: true as const };
		}
		if (one.entity.kind === "declared") {
			return toDefinition(reader, one, usagesOfSymbol(linker, one.entity).all(), includeTests);
		}
		members ??= usagesOfMembers(linker, name, reachersOf(linker, found));
		const definition = toDefinition(reader, one, members.forMember(one.entity), includeTests);
		const possible = possibleIn(reader, members.unclear, includeTests);
		return possible.count > 0 ? { ...definition, possible } : definition;
	});
	return { symbol, definitions, ...(omitted > 0 && { omittedDefinitions: omitted }) };
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
	sites: readonly UsageSite[],
	includeTests: boolean,
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
		usages: toUsages(reader, sites, includeTests),
		...(isGlobal && { global: true as const }),
	};
}

function toUsages(
	reader: IndexReader,
	sites: readonly UsageSite[],
	includeTests: boolean,
): readonly Usage[] {
	const files = new Map<string, Usage[]>();
	let current: { file: FileId; path: string; isTest: boolean; usages: Usage[] } | undefined;
	for (const { file, at, kind } of sites) {
		if (current?.file !== file) {
			const { path = "", isTest = false } = reader.files.get(file) ?? {};
			current = { file, path, isTest, usages: [] };
			if (includeTests || !isTest) files.set(path, current.usages);
		}
		const { path, isTest } = current;
		current.usages.push({ path, line: at[0], column: at[1], kind, isTest });
	}
	return [...files.keys()].sort().flatMap((path) => files.get(path) ?? []);
}

function possibleIn(
	reader: IndexReader,
	counts: ReadonlyMap<FileId, number>,
	includeTests: boolean,
): { count: number; files: readonly string[] } {
	let count = 0;
	const files: string[] = [];
	for (const [id, times] of counts) {
		const file = reader.files.get(id);
		if (!file || (file.isTest && !includeTests)) continue;
		count += times;
		files.push(file.path);
	}
	return { count, files: files.sort() };
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
