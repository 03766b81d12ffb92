import type { MatchingLines, SearchHit } from "../answers.ts";
import { identifierWords } from "../extract/words.ts";

export interface QueryWord {
	readonly text: string;
	/** Lower case without separators: `agentsession`. An over-long name keeps its parts. */
	readonly whole: string;
	readonly parts: readonly string[];
}

/** Separated by anything but letters, digits, `_` and `$`. */
export function queryWords(query: string): readonly QueryWord[] {
	const texts = query.match(/[A-Za-z0-9_$\u0080-\uFFFF]+/g) ?? [];
	return [...new Set(texts)].slice(0, MAX_WORDS).flatMap((text) => {
		const words = identifierWords(text);
		const last = words.at(-1);
		if (last === undefined) return [];
		const parts = words.length > 1 ? words.slice(0, -1) : words;
		return [{ text, whole: isWhole(last, parts) ? last : words.join(" "), parts }];
	});
}

/** The first words of a long query carry its topic. */
const MAX_WORDS = 16;

function isWhole(word: string, parts: readonly string[]): boolean {
	return parts.every((part) => word.includes(part));
}

/** `parse`, `#own`, `Reader.parse`. Undefined if the query is not a single name. */
export function identifierIn(query: string): string | undefined {
	const text = query.trim();
	return IDENTIFIER.test(text) ? text : undefined;
}

/** Case-sensitive, whole identifiers only. */
export function hasIdentifier(text: string, name: string): boolean {
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

export interface WantedInLine {
	readonly name?: string | undefined;
	readonly words: readonly QueryWord[];
}

export interface LineOptions {
	readonly context: number;
	readonly preferred: readonly number[];
}

/** Lines with the most query words, with context. */
export function matchingLines(
	text: string,
	wanted: WantedInLine,
	{ context, preferred }: LineOptions,
): Pick<SearchHit, "lines"> & { readonly matchingLines: number } {
	const lines = text.split(/\r?\n/);
	if (lines.at(-1) === "") lines.pop();
	const named = linesWith(lines, wanted.name);
	const matches = named.size > 0 ? named : countMatches(lines, wanted.words);
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
/** Longer lines are minified or data. */
const MAX_LINE_LENGTH = 240;

function linesWith(lines: readonly string[], name: string | undefined): Map<number, number> {
	const matches = new Map<number, number>();
	if (name === undefined) return matches;
	for (const [index, line] of lines.entries()) {
		if (hasIdentifier(line, name)) matches.set(index + 1, 1);
	}
	return matches;
}

function countMatches(lines: readonly string[], words: readonly QueryWord[]): Map<number, number> {
	const folded = lines.map((line) => line.toLowerCase());
	for (const wanted of [
		words.map(({ text }) => text.toLowerCase()),
		words.flatMap((w) => w.parts),
	]) {
		const matches = new Map<number, number>();
		for (const [index, line] of folded.entries()) {
			const count = wanted.filter((word) => line.includes(word)).length;
			if (count > 0) matches.set(index + 1, count);
		}
		if (matches.size > 0) return matches;
	}
	return new Map();
}

function inWindows(
	lines: readonly string[],
	matches: readonly number[],
	context: number,
): MatchingLines[] {
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
