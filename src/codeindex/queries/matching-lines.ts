import type { MatchingLines, SearchHit } from "../answers.ts";
import { hasIdentifier } from "./identifiers.ts";
import type { QueryWord } from "./words.ts";

/** What lines are looked for. */
export interface WantedInLine {
	/** Only lines that have this name, if there are any. */
	readonly name?: string | undefined;
	readonly words: readonly QueryWord[];
}

/** What to show of a text besides the lines that match. */
export interface LineOptions {
	/** Lines around each match. */
	readonly context: number;
	/** Lines that are shown first of all if they match: where what was asked for is declared. */
	readonly preferred: readonly number[];
}

/** The lines of a text that have the most of the words, with the lines around them. */
export function matchingLines(
	text: string,
	wanted: WantedInLine,
	{ context, preferred }: LineOptions,
): Pick<SearchHit, "lines"> & { readonly matchingLines: number } {
	const lines = text.split(/\r?\n/);
	// What ends with a line break has no further line behind it.
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

/** Of one file; whoever wants more reads it. */
const MAX_MATCHES = 5;
/** Longer lines are cut: they are minified or data. */
const MAX_LINE_LENGTH = 240;

function linesWith(lines: readonly string[], name: string | undefined): Map<number, number> {
	const matches = new Map<number, number>();
	if (name === undefined) return matches;
	for (const [index, line] of lines.entries()) {
		if (hasIdentifier(line, name)) matches.set(index + 1, 1);
	}
	return matches;
}

/** For each line that has one, how many of the words it has; of their parts where no line has a whole one. */
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

/** Puts matches whose surroundings touch into one piece. */
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
