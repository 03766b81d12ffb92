import { compareText } from "../../core/compare-text.ts";
import { matchesAny } from "../../core/glob.ts";
import type { SearchAnswer, SearchHit, SearchQuery, Uncovered } from "../answers.ts";
import { CodeIndexError } from "../code-index.ts";
import { identifierWords } from "../extract/identifier-words.ts";
import type { FileId, IndexedFile, IndexReader, ReadText, TextMatch } from "../index-reader.ts";
import { LANGUAGES, languageOf } from "../languages.ts";
import { keyOf } from "../link/modules.ts";
import { searchDocuments } from "./documents.ts";
import { ranksOf } from "./graph.ts";
import { isMinified, stemOf } from "./known-file.ts";
import { symbolsByWords } from "./symbol-search.ts";
import { exactMatches, matchingSymbols, type SymbolMatch, toBrief } from "./symbols.ts";

/**
 * If the query is one name that is declared anywhere, only that name matches, declaring files first.
 * Several words match symbols first: their names, owners, comments and signatures, by stem. Then come
 * files whose text has the words. Tests are last. `readText` returns undefined if a file is gone.
 */
export function search(
	reader: IndexReader,
	query: SearchQuery,
	readText: ReadText,
	texts: readonly string[] = [],
): Uncovered<SearchAnswer> {
	const documents = searchDocuments(query, texts, readText);
	const answer = searchCode(reader, query, readText);
	return documents.length > 0 ? { ...answer, documents } : answer;
}

function searchCode(
	reader: IndexReader,
	query: SearchQuery,
	readText: ReadText,
): Uncovered<SearchAnswer> {
	const words = queryWords(query.query);
	const { scope = ["code", "symbols"], limit = 15 } = query;
	const name = identifierIn(query.query);
	const declared = name === undefined ? undefined : exactMatches(reader, name, query);
	// Names such as `$` or `_` contain no words for full-text search.
	const hasNoWords = words.length === 0;
	if (hasNoWords && !declared) return { hits: [], total: 0 };
	const texts = words.map(({ text }) => text);
	const isOneWord = words.length === 1 && words[0]?.parts.length === 1;
	const byWords = () => symbolsByWords(reader, query.query, query);
	const byNames = () => matchingSymbols(reader, texts, query);
	// A single word may be inflected: `truncated` for `truncateTail`.
	const symbols =
		declared ??
		(name === undefined ? byWords() : isOneWord ? joined(byNames(), byWords()) : byNames());
	const isWanted = pathFilter(query);
	const textLimit = isWanted ? MAX_FILES_FILTERED : MAX_FILES;
	const matching =
		scope.includes("code") && !hasNoWords
			? matchingTexts(reader, words, { limit: textLimit, wholeOnly: declared !== undefined })
			: [];
	const places = placesOf(matching);
	const listsSymbols = declared !== undefined || name === undefined || scope.includes("symbols");
	const ids = new Set([...places.keys(), ...(listsSymbols ? symbols.keys() : [])]);
	const found = [...ids].flatMap((id): Candidate[] => {
		const file = reader.files.get(id);
		if (!file || isWanted?.(file) === false) return [];
		const matches = symbols.get(id) ?? [];
		const bonus =
			textScore(places.get(id)) + pathScore(file, texts) + importance(ranksOf(reader).get(id) ?? 0);
		const ranked = matches.map(({ symbol, score }) => {
			return { symbol, score: (name === undefined ? SYMBOLS_FIRST : 1) * score + bonus };
		});
		return [{ file, matches: ranked, score: ranked[0]?.score ?? bonus }];
	});
	const candidates = withoutMinified(found);
	candidates.sort(declared ? byDeclaration : byScore);
	const { files, having, isCut }: Checked =
		name === undefined
			? { files: outranking(candidates) }
			: isOneWord && !declared
				? rankByName(candidates, name, readText)
				: filterByName(candidates, name, { isDeclared: declared !== undefined, readText });
	const wanted = { words, ...(having === "name" && { name }) };
	return {
		hits: files.slice(0, limit).map((one) => toHit(one, wanted, query, readText)),
		total: files.length,
		...((isCut || hasNoWords || matching.length === textLimit) && { atLeast: true as const }),
		...(having === "nothing" && files.length > 0 && { inexact: true as const }),
	};
}

/** Maximum number of candidates from full-text search; higher if a filter will drop some. */
const MAX_FILES = 300;
const MAX_FILES_FILTERED = 2000;
const MAX_SYMBOLS_OF_HIT = 5;
/** With several words, the score of a file's best symbol, from 0 to 1, outweighs the rest. */
const SYMBOLS_FIRST = 12;

type Matches = ReadonlyMap<FileId, readonly SymbolMatch[]>;

/** Matches of both, those of `more` after those of `first`. */
function joined(first: Matches, more: Matches): Matches {
	const all = new Map(first);
	for (const [file, matches] of more) {
		const known = all.get(file) ?? [];
		const isKnown = new Set(known.map(({ symbol }) => keyOf(symbol.entity)));
		all.set(file, [
			...known,
			...matches.filter(({ symbol }) => !isKnown.has(keyOf(symbol.entity))),
		]);
	}
	return all;
}

/** Minified files answer only if nothing else does. */
function withoutMinified(found: readonly Candidate[]): Candidate[] {
	const written = found.filter(({ file }) => !isMinified(file));
	return written.length > 0 ? written : [...found];
}

/** Symbols are shown in the order of their scores: a file's further ones only if they outrank the next file. */
function outranking(candidates: readonly Candidate[]): Candidate[] {
	return candidates.map((one, index) => {
		const next = candidates[index + 1];
		const least = next?.file.isTest === one.file.isTest ? next.score : 0;
		const [best, ...others] = one.matches;
		if (!best) return one;
		return { ...one, matches: [best, ...others.filter(({ score }) => score >= least)] };
	});
}

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

function filterByName(
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

/** A single word may be a name or a plain word, so files that contain it as a name come first. */
function rankByName(found: readonly Candidate[], name: string, readText: ReadText): Checked {
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
	const matching = (textOf: (word: QueryWord) => string) =>
		reader.matching(words.map(textOf), limit);
	const whole = matching((word) => word.whole);
	const isEnough = wholeOnly || whole.length >= limit;
	if (isEnough || words.every(({ parts }) => parts.length === 1)) return whole;
	const known = new Set(whole.map(({ file }) => file));
	const parts = matching((word) => word.parts.join(" "));
	return [...whole, ...parts.filter(({ file }) => !known.has(file))].slice(0, limit);
}

/** Files of equal rank share a place, since their order is arbitrary. */
function placesOf(texts: readonly TextMatch[]): Map<FileId, number> {
	const places = new Map<FileId, number>();
	let place = 0;
	for (const [index, { file, rank }] of texts.entries()) {
		if (texts[index - 1]?.rank !== rank) place = index;
		places.set(file, place);
	}
	return places;
}

/** Depends on the place, since ranks of different full-text queries are not comparable. */
function textScore(place: number | undefined): number {
	return place === undefined ? 0 : 1 / (1 + place / 20);
}

function pathScore(file: IndexedFile, texts: readonly string[]): number {
	const stem = stemOf(file.path).toLowerCase().replaceAll(/[-_.]/g, "");
	return [texts.join(""), ...texts].some((text) => text.toLowerCase() === stem) ? 1 : 0;
}

/** Returns 0 to 0.5, on a logarithmic scale. */
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

/** Returns undefined if every file is wanted. */
function pathFilter(query: SearchQuery): ((file: IndexedFile) => boolean) | undefined {
	const { glob, exclude = [], language, includeTests = true } = query;
	if (language !== undefined && !LANGUAGE_NAMES.includes(language)) {
		const known = LANGUAGE_NAMES.join(", ");
		throw new CodeIndexError("bad-query", `No language is named ${language}. Known: ${known}.`);
	}
	if (glob === undefined && exclude.length === 0 && language === undefined && includeTests) {
		return undefined;
	}
	return ({ path, isTest }) =>
		(includeTests || !isTest) &&
		(glob === undefined || matchesAny([glob], path)) &&
		!matchesAny(exclude, path) &&
		(language === undefined || writtenIn(path) === language);
}

const LANGUAGE_NAMES = ["javascript", ...LANGUAGES.map(({ name }) => name)];

/** JavaScript is a language of its own to those who ask. */
function writtenIn(path: string): string {
	if (/\.(?:[cm]?js|jsx)$/.test(path)) return "javascript";
	return languageOf(path)?.name ?? "";
}

interface QueryWord {
	readonly text: string;
	/** In lower case without separators: `agentsession`. For an over-long name: its parts, with spaces. */
	readonly whole: string;
	readonly parts: readonly string[];
}

/** Words are separated by anything but letters, digits, `_` and `$`. */
function queryWords(query: string): readonly QueryWord[] {
	const texts = query.match(/[A-Za-z0-9_$\u0080-\uFFFF]+/g) ?? [];
	return [...new Set(texts)].slice(0, MAX_WORDS).flatMap((text) => {
		const words = identifierWords(text);
		const last = words.at(-1);
		if (last === undefined) return [];
		const parts = words.length > 1 ? words.slice(0, -1) : words;
		const isWhole = parts.every((part) => last.includes(part));
		return [{ text, whole: isWhole ? last : words.join(" "), parts }];
	});
}

/** Maximum number of query words. The first words of a long query carry its topic. */
const MAX_WORDS = 16;

/** Returns the query if it is a single name, such as `parse`, `#own` or `Reader.parse`. */
function identifierIn(query: string): string | undefined {
	const text = query.trim();
	return IDENTIFIER.test(text) ? text : undefined;
}

/** Finds only whole identifiers, case-sensitively. */
function hasIdentifier(text: string, name: string): boolean {
	for (let at = text.indexOf(name); at !== -1; at = text.indexOf(name, at + 1)) {
		if (!isPart(text[at - 1]) && !isPart(text[at + name.length])) return true;
	}
	return false;
}

const PART = "[A-Za-z0-9_$\\u0080-\\uFFFF]";
const IDENTIFIER = new RegExp(`^#?(?!\\d)${PART}+(?:[.#]${PART}+)*$`);
const ONE_PART = new RegExp(PART);

function isPart(char: string | undefined): boolean {
	return char !== undefined && ONE_PART.test(char);
}

interface WantedInLine {
	readonly name?: string | undefined;
	readonly words: readonly QueryWord[];
}

/** Selects `preferred` lines, then those with the most query words. Adds context. */
function matchingLines(
	text: string,
	wanted: WantedInLine,
	{ context, preferred }: { context: number; preferred: readonly number[] },
): Pick<SearchHit, "lines"> & { readonly matchingLines: number } {
	const lines = text.split(/\r?\n/);
	if (lines.at(-1) === "") lines.pop();
	const matches = countMatches(lines, wanted);
	const isPreferred = new Set(preferred);
	const best = [...matches]
		.sort(([lineA, a], [lineB, b]) => {
			const first = Number(isPreferred.has(lineB)) - Number(isPreferred.has(lineA));
			return first || b - a || lineA - lineB;
		})
		.slice(0, MAX_MATCHES)
		.map(([line]) => line)
		.sort((a, b) => a - b);
	return { lines: inWindows(lines, best, context), matchingLines: matches.size };
}

const MAX_MATCHES = 5;
/** Longer lines, such as minified code, are cut. */
const MAX_LINE_LENGTH = 240;

/** Counts matches per line. Falls back from the name to whole words, and from these to parts. */
function countMatches(lines: readonly string[], { name, words }: WantedInLine) {
	const named = name === undefined ? [] : lines.map((line) => Number(hasIdentifier(line, name)));
	if (named.includes(1)) return numbered(named);
	const folded = lines.map((line) => line.toLowerCase());
	const countOf = (wanted: readonly string[]) =>
		numbered(folded.map((line) => wanted.filter((word) => line.includes(word)).length));
	const whole = countOf(words.map(({ text }) => text.toLowerCase()));
	return whole.size > 0 ? whole : countOf(words.flatMap(({ parts }) => parts));
}

function numbered(counts: readonly number[]): Map<number, number> {
	const matches = new Map<number, number>();
	for (const [index, count] of counts.entries()) if (count > 0) matches.set(index + 1, count);
	return matches;
}

function inWindows(lines: readonly string[], matches: readonly number[], context: number) {
	const windows: { first: number; last: number; matches: number[] }[] = [];
	for (const line of matches) {
		const first = Math.max(1, line - context);
		const last = Math.min(lines.length, line + context);
		const before = windows.at(-1);
		if (before && first <= before.last + 1) {
			before.last = last;
			before.matches.push(line);
		} else windows.push({ first, last, matches: [line] });
	}
	return windows.map(({ first, last, matches }) => ({
		first,
		text: lines.slice(first - 1, last).map(cut),
		matches,
	}));
}

function cut(line: string): string {
	if (line.length <= MAX_LINE_LENGTH) return line;
	return `${line.slice(0, MAX_LINE_LENGTH).toWellFormed()}…`;
}
