import { compareText } from "../../core/compare-text.ts";
import { matchesAny } from "../../core/glob.ts";
import type { SearchAnswer, SearchHit, SearchQuery, Uncovered } from "../answers.ts";
import type { FileId, IndexedFile, IndexReader, ReadText, TextMatch } from "../reader.ts";
import { ranksOf } from "./graph.ts";
import { stemOf } from "./known-file.ts";
import { type FoundSymbol, symbolsCalled, symbolsNamed, toBrief } from "./symbols.ts";
import {
	hasIdentifier,
	identifierIn,
	matchingLines,
	type QueryWord,
	queryWords,
	type WantedInLine,
} from "./words.ts";

/**
 * Declaring files first, tests last. A single name matches exactly if it is declared anywhere, else
 * by its parts. `readText` returns undefined if a file is gone.
 */
export function search(
	reader: IndexReader,
	query: SearchQuery,
	readText: ReadText,
): Uncovered<SearchAnswer> {
	const words = queryWords(query.query);
	const { scope = ["code", "symbols"], limit = 15 } = query;
	const name = identifierIn(query.query);
	const declared = name === undefined ? undefined : symbolsOfName(reader, name, query);
	// Names such as `$` or `_` have no full-text words.
	const hasNoWords = words.length === 0;
	if (hasNoWords && !declared) return { hits: [], total: 0 };
	const symbols = declared ?? matchingSymbols(reader, words, query);
	const textLimit = hasPathFilter(query) ? MAX_FILES_FILTERED : MAX_FILES;
	const texts =
		scope.includes("code") && !hasNoWords
			? matchingTexts(reader, words, { limit: textLimit, wholeOnly: declared !== undefined })
			: [];
	const places = placesOf(texts);
	const listsSymbols = declared !== undefined || scope.includes("symbols");
	const ids = new Set([...places.keys(), ...(listsSymbols ? symbols.keys() : [])]);
	const isWanted = pathFilter(query);
	const found = [...ids].flatMap((id): Candidate[] => {
		const file = reader.files.get(id);
		if (!file || !isWanted(file)) return [];
		const matches = symbols.get(id) ?? [];
		const score =
			textScore(places.get(id)) +
			(matches[0]?.score ?? 0) +
			pathScore(file, words) +
			importance(ranksOf(reader).get(id) ?? 0);
		return [{ file, matches, score }];
	});
	found.sort(declared ? byDeclaration : byScore);
	const isOneWord = words.length === 1 && words[0]?.parts.length === 1;
	const { files, having, isCut }: Checked =
		name === undefined
			? { files: found }
			: isOneWord && !declared
				? havingNameFirst(found, name, readText)
				: havingName(found, name, { isDeclared: declared !== undefined, readText });
	const wanted = { words, ...(having === "name" && { name }) };
	return {
		hits: files.slice(0, limit).map((one) => toHit(one, wanted, query, readText)),
		total: files.length,
		...((isCut || hasNoWords || texts.length === textLimit) && { atLeast: true as const }),
		...(having === "nothing" && files.length > 0 && { inexact: true as const }),
	};
}

/** Candidates from the full text; more are fetched if a filter will drop some. */
const MAX_FILES = 300;
const MAX_FILES_FILTERED = 2000;
const MAX_SYMBOLS_OF_HIT = 5;

interface Candidate {
	readonly file: IndexedFile;
	readonly matches: readonly SymbolMatch[];
	readonly score: number;
	readonly text?: string | undefined;
}

interface Checked {
	readonly files: readonly Candidate[];
	readonly having?: "name" | "part of another" | "nothing";
	readonly isCut?: boolean;
}

function havingName(
	found: readonly Candidate[],
	name: string,
	{ isDeclared, readText }: { isDeclared: boolean; readText: ReadText },
): Checked {
	const isCut = found.length > MAX_FILES;
	const read = found.slice(0, MAX_FILES).map((one) => {
		const declares = isDeclared && one.matches.length > 0;
		return declares ? one : { ...one, text: readText(one.file.path) };
	});
	if (isDeclared) {
		const files = read.filter(({ matches, text = "" }) => {
			return matches.length > 0 || hasIdentifier(text, name);
		});
		return { files, having: "name", isCut };
	}
	const having = (test: (text: string) => boolean) =>
		read.filter(({ file, text = "" }) => test(text) || test(file.path));
	const whole = having((text) => hasIdentifier(text, name));
	if (whole.length > 0) return { files: whole, having: "name", isCut };
	const folded = name.toLowerCase();
	const part = having((text) => text.toLowerCase().includes(folded));
	if (part.length > 0) return { files: part, having: "part of another", isCut };
	return isCut ? { files: found, isCut } : { files: found, having: "nothing" };
}

/** A single word may be a name or a plain word: files with the name come first. */
function havingNameFirst(found: readonly Candidate[], name: string, readText: ReadText): Checked {
	const read = found.slice(0, MAX_FILES).map((one) => {
		const text = readText(one.file.path);
		return { ...one, text, isFirst: hasIdentifier(text ?? "", name) };
	});
	read.sort((a, b) => Number(b.isFirst) - Number(a.isFirst));
	return { files: [...read, ...found.slice(MAX_FILES)], having: "name" };
}

function matchingTexts(
	reader: IndexReader,
	words: readonly QueryWord[],
	{ limit, wholeOnly }: { limit: number; wholeOnly: boolean },
): readonly TextMatch[] {
	const whole = reader.matching(
		words.map((word) => word.whole),
		limit,
	);
	const isEnough = wholeOnly || whole.length >= limit;
	if (isEnough || words.every(({ parts }) => parts.length === 1)) return whole;
	const known = new Set(whole.map(({ file }) => file));
	const parts = reader.matching(
		words.map((word) => word.parts.join(" ")),
		limit,
	);
	return [...whole, ...parts.filter(({ file }) => !known.has(file))].slice(0, limit);
}

/** Ties share a place, since their order is arbitrary. */
function placesOf(texts: readonly TextMatch[]): Map<FileId, number> {
	const places = new Map<FileId, number>();
	let place = 0;
	for (const [index, { file, rank }] of texts.entries()) {
		if (texts[index - 1]?.rank !== rank) place = index;
		places.set(file, place);
	}
	return places;
}

/** By place: scores of different full-text queries do not compare. */
function textScore(place: number | undefined): number {
	return place === undefined ? 0 : 1 / (1 + place / 20);
}

function pathScore(file: IndexedFile, words: readonly QueryWord[]): number {
	const stem = stemOf(file.path).toLowerCase().replaceAll(/[-_.]/g, "");
	const joined = words.map(({ text }) => text).join("");
	return [joined, ...words.map(({ text }) => text)].some((text) => text.toLowerCase() === stem)
		? 1
		: 0;
}

/** From 0 to 0.5, logarithmic. */
function importance(rank: number): number {
	return rank <= 0 ? 0 : Math.max(0, 1 + Math.log10(rank) / 4) / 2;
}

function byScore(a: Candidate, b: Candidate): number {
	if (a.file.isTest !== b.file.isTest) return a.file.isTest ? 1 : -1;
	return b.score - a.score || compareText(a.file.path, b.file.path);
}

function byDeclaration(a: Candidate, b: Candidate): number {
	return Math.sign(b.matches.length) - Math.sign(a.matches.length) || byScore(a, b);
}

function toHit(
	{ file, matches, text: read }: Candidate,
	wanted: WantedInLine,
	{ contextLines }: SearchQuery,
	readText: ReadText,
): SearchHit {
	const symbols = matches.slice(0, MAX_SYMBOLS_OF_HIT).map(({ symbol }) => toBrief(symbol));
	const hit = { path: file.path, isTest: file.isTest, symbols, lines: [] };
	const text = contextLines === undefined ? undefined : (read ?? readText(file.path));
	if (contextLines === undefined || text === undefined) return hit;
	const preferred = symbols.map(({ line }) => line);
	return { ...hit, ...matchingLines(text, wanted, { context: contextLines, preferred }) };
}

function hasPathFilter(query: SearchQuery): boolean {
	const { glob, exclude = [], language, includeTests = true } = query;
	return glob !== undefined || exclude.length > 0 || language !== undefined || !includeTests;
}

function pathFilter(query: SearchQuery): (file: IndexedFile) => boolean {
	const { glob, exclude = [], language, includeTests = true } = query;
	return ({ path, isTest }) =>
		(includeTests || !isTest) &&
		(glob === undefined || matchesAny([glob], path)) &&
		!matchesAny(exclude, path) &&
		(language === undefined || languageOf(path) === language);
}

function languageOf(path: string): "typescript" | "javascript" {
	return /\.([cm]?ts|tsx)$/.test(path) ? "typescript" : "javascript";
}

export interface SymbolMatch {
	readonly symbol: FoundSymbol;
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

/** `name` may be `Owner.member`. Returns `undefined` if there are none. */
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
	// "agent session" also means AgentSession.
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

function likeness(name: string, text: string): number {
	if (name === text) return VERY_NAME;
	const folded = name.toLowerCase();
	const wanted = text.toLowerCase();
	if (folded === wanted) return 3.5;
	if (folded.startsWith(wanted)) return 2;
	return folded.includes(wanted) ? 1 : 0;
}
