import { compareText } from "../../core/compare-text.ts";
import type { SearchQuery } from "../answers.ts";
import type { FileId, IndexReader } from "../reader.ts";
import { type FoundSymbol, symbolsCalled, symbolsNamed } from "./symbols.ts";
import type { QueryWord } from "./words.ts";

export interface SymbolMatch {
	readonly symbol: FoundSymbol;
	/** Up to 4 for a word that is the very name. */
	readonly score: number;
}

type SymbolFilters = Pick<SearchQuery, "symbolKinds" | "exportedOnly">;

export function matchingSymbols(
	reader: IndexReader,
	words: readonly QueryWord[],
	filters: SymbolFilters,
): ReadonlyMap<FileId, readonly SymbolMatch[]> {
	const found: [FoundSymbol, number][] = [];
	for (const [name, strength] of matchingNames(reader, words)) {
		if (found.length >= MAX_SYMBOLS) break;
		const limit = Math.min(MAX_SYMBOLS - found.length, MAX_BEARERS);
		for (const symbol of symbolsNamed(reader, name, { limit }).symbols) {
			found.push([symbol, strength]);
		}
	}
	return matchesByFile(found, filters);
}

/** The symbols of exactly the name that was asked for, which may be `Owner.member`; `undefined` if there are none. */
export function symbolsOfName(
	reader: IndexReader,
	name: string,
	filters: SymbolFilters,
): ReadonlyMap<FileId, readonly SymbolMatch[]> | undefined {
	const { symbols } = symbolsCalled(reader, name, { limit: MAX_BEARERS });
	if (symbols.length === 0) return undefined;
	return matchesByFile(
		symbols.map((symbol) => [symbol, VERY_NAME]),
		filters,
	);
}

function matchesByFile(
	found: readonly (readonly [symbol: FoundSymbol, strength: number])[],
	{ symbolKinds, exportedOnly = false }: SymbolFilters,
): ReadonlyMap<FileId, readonly SymbolMatch[]> {
	const kinds = symbolKinds && new Set<string>(symbolKinds);
	const byFile = new Map<FileId, SymbolMatch[]>();
	for (const [symbol, strength] of found) {
		const { facts, exported, entity } = symbol;
		if ((kinds && !kinds.has(facts.symbol)) || (exportedOnly && !exported)) continue;
		const score = strength * (exported ? 1 : 0.8) * (entity.kind === "member" ? 0.6 : 1);
		const others = byFile.get(entity.file);
		if (others) others.push({ symbol, score });
		else byFile.set(entity.file, [{ symbol, score }]);
	}
	for (const matches of byFile.values()) {
		matches.sort((a, b) => b.score - a.score || a.symbol.facts.at[0] - b.symbol.facts.at[0]);
	}
	return byFile;
}

/** How many names of a word are looked at, how many symbols of a name, and how many symbols in all. */
const MAX_NAMES = 60;
const MAX_BEARERS = 100;
const MAX_SYMBOLS = 400;
const VERY_NAME = 4;

function matchingNames(
	reader: IndexReader,
	words: readonly QueryWord[],
): readonly (readonly [name: string, strength: number])[] {
	const strengths = new Map<string, number>();
	const names = new Set(words.flatMap(({ text }) => reader.namesLike(text, MAX_NAMES)));
	for (const name of names) {
		const sum = words.reduce((total, { text }) => total + likeness(name, text), 0);
		strengths.set(name, sum / words.length);
	}
	// "agent session" means AgentSession, too.
	if (words.length > 1 && words.length <= 4) {
		const joined = words.map(({ text }) => text).join("");
		for (const name of reader.namesLike(joined, MAX_NAMES)) {
			strengths.set(name, Math.max(strengths.get(name) ?? 0, likeness(name, joined)));
		}
	}
	return [...strengths]
		.sort(
			([nameA, a], [nameB, b]) => b - a || nameA.length - nameB.length || compareText(nameA, nameB),
		)
		.slice(0, MAX_NAMES);
}

/** The very name, the same but for case, its beginning, a part of it, or none of these. */
function likeness(name: string, text: string): number {
	if (name === text) return VERY_NAME;
	const folded = name.toLowerCase();
	const wanted = text.toLowerCase();
	if (folded === wanted) return 3.5;
	if (folded.startsWith(wanted)) return 2;
	return folded.includes(wanted) ? 1 : 0;
}
