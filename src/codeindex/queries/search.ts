import { compareText } from "../../core/compare-text.ts";
import { matchesAny } from "../../core/glob.ts";
import type { SearchAnswer, SearchHit, SearchQuery } from "../answers.ts";
import type { FileId, IndexedFile, IndexReader, TextMatch } from "../reader.ts";
import { stemOf } from "./known-file.ts";
import { matchingLines } from "./matching-lines.ts";
import { ranksOf } from "./rank.ts";
import { matchingSymbols, type SymbolMatch } from "./symbol-matches.ts";
import { toBrief } from "./symbols.ts";
import type { Uncovered } from "./uncovered.ts";
import { type QueryWord, queryWords } from "./words.ts";

/**
 * Where something is: files that declare what was asked for, then files that speak of it, tests last. `readText` gives
 * the text of a file as the index knows it, or undefined if it is gone; it is only asked for the files of the answer.
 */
export function search(
	reader: IndexReader,
	query: SearchQuery,
	readText: (path: string) => string | undefined,
): Uncovered<SearchAnswer> {
	const words = queryWords(query.query);
	if (words.length === 0) return { hits: [], total: 0 };
	const { scope = ["code", "symbols"], limit = 15 } = query;
	const symbols = matchingSymbols(reader, words, query);
	const textLimit = hasPathFilter(query) ? MAX_FILES_FILTERED : MAX_FILES;
	const texts = scope.includes("code") ? matchingTexts(reader, words, textLimit) : [];
	const places = placesOf(texts);
	const ids = new Set([...places.keys(), ...(scope.includes("symbols") ? symbols.keys() : [])]);
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
	found.sort(byScore);
	return {
		hits: found.slice(0, limit).map((one) => toHit(one, words, query, readText)),
		total: found.length,
		...(texts.length === textLimit && { atLeast: true as const }),
	};
}

/** So many files are taken from the full text, more where a filter will drop some. */
const MAX_FILES = 300;
const MAX_FILES_FILTERED = 2000;
const MAX_SYMBOLS_OF_HIT = 5;

interface Candidate {
	readonly file: IndexedFile;
	readonly matches: readonly SymbolMatch[];
	readonly score: number;
}

/** Files that have the words as they are, then files that have their parts. */
function matchingTexts(
	reader: IndexReader,
	words: readonly QueryWord[],
	limit: number,
): readonly TextMatch[] {
	const whole = reader.matching(
		words.map((word) => word.whole),
		limit,
	);
	if (whole.length >= limit || words.every(({ parts }) => parts.length === 1)) return whole;
	const known = new Set(whole.map(({ file }) => file));
	const parts = reader.matching(
		words.map((word) => word.parts.join(" ")),
		limit,
	);
	return [...whole, ...parts.filter(({ file }) => !known.has(file))].slice(0, limit);
}

/** The place of each file among the matches. Equally good ones share a place, since their order is by chance. */
function placesOf(texts: readonly TextMatch[]): Map<FileId, number> {
	const places = new Map<FileId, number>();
	let place = 0;
	for (const [index, { file, rank }] of texts.entries()) {
		if (texts[index - 1]?.rank !== rank) place = index;
		places.set(file, place);
	}
	return places;
}

/** By the place among the matches, since scores of several full text queries do not compare. */
function textScore(place: number | undefined): number {
	return place === undefined ? 0 : 1 / (1 + place / 20);
}

/** A file that bears the name asked for. */
function pathScore(file: IndexedFile, words: readonly QueryWord[]): number {
	const stem = stemOf(file.path).toLowerCase().replaceAll(/[-_.]/g, "");
	const joined = words.map(({ text }) => text).join("");
	return [joined, ...words.map(({ text }) => text)].some((text) => text.toLowerCase() === stem)
		? 1
		: 0;
}

/** From 0 to 0.5, by the order of magnitude. */
function importance(rank: number): number {
	return rank <= 0 ? 0 : Math.max(0, 1 + Math.log10(rank) / 4) / 2;
}

function byScore(a: Candidate, b: Candidate): number {
	if (a.file.isTest !== b.file.isTest) return a.file.isTest ? 1 : -1;
	return b.score - a.score || compareText(a.file.path, b.file.path);
}

function toHit(
	{ file, matches }: Candidate,
	words: readonly QueryWord[],
	{ contextLines }: SearchQuery,
	readText: (path: string) => string | undefined,
): SearchHit {
	const symbols = matches.slice(0, MAX_SYMBOLS_OF_HIT).map(({ symbol }) => toBrief(symbol));
	const hit = { path: file.path, isTest: file.isTest, symbols, lines: [] };
	const text = contextLines === undefined ? undefined : readText(file.path);
	if (contextLines === undefined || text === undefined) return hit;
	const preferred = symbols.map(({ line }) => line);
	return { ...hit, ...matchingLines(text, words, { context: contextLines, preferred }) };
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
