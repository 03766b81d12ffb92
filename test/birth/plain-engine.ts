/**
 * The engine without its speed: split lines, regular expressions and a search of every earlier line. Shares
 * the forms of names and lines with the engine, and how a terminal is rendered, which has its own emulator.
 */
import { type BirthSettings, type CallResult, isShell } from "../../src/birth/index.ts";
import { leastPieces } from "../../src/birth/pieces.ts";
import { isPlainId, referenceLine } from "../../src/birth/reference.ts";
import { nameOf } from "../../src/birth/result.ts";
import { rendered } from "../../src/birth/terminal.ts";
import { plainFolds } from "./plain-folds.ts";

interface Known {
	readonly id: string;
	readonly name: string;
	readonly lines: readonly string[] | undefined;
}

interface Run {
	first: number;
	end: number;
	base: Known;
	at: number;
}

export class PlainEngine {
	readonly #settings: BirthSettings;
	#known: Known[] = [];

	constructor(settings: BirthSettings) {
		this.#settings = settings;
	}

	shorten(result: CallResult, isVisible: (id: string) => boolean): string | undefined {
		const { text, isError, isLoud, tool, path } = result;
		if (text === undefined || isError) return undefined;
		const isQuiet = isShell(tool) && !isLoud;
		const quieter = isQuiet ? this.#quiet(text, path) : undefined;
		const named = quieter === undefined ? path : undefined;
		return this.#withReferences(quieter ?? text, named, isVisible) ?? quieter;
	}

	add(result: CallResult, shown = result.text): void {
		const { maxIndexedLines, maxIndexedChars, maxIndexedResults } = this.#settings.dedupe;
		const lines = shown?.split("\n");
		const fits = shown !== undefined && shown.length <= maxIndexedChars;
		const isIndexed = lines && fits && lines.length <= maxIndexedLines;
		this.#known.push({
			id: result.id,
			name: nameOf(result),
			lines: isIndexed ? lines : undefined,
		});
		const total = (size: (lines: readonly string[]) => number) =>
			this.#known.reduce((sum, known) => sum + (known.lines ? size(known.lines) : 0), 0);
		while (
			total((all) => all.length) > maxIndexedLines ||
			total((all) => all.join("\n").length) > maxIndexedChars ||
			this.#known.length > maxIndexedResults
		) {
			this.#known.shift();
		}
	}

	#quiet(text: string, path: string | undefined): string | undefined {
		const settings = this.#settings.quiet;
		const plain = rendered(text);
		if (/^\[strata: /m.test(text.replaceAll(/[\r\u2028\u2029]/g, " "))) return undefined;
		if (plain === undefined) return undefined;
		if (plain.split("\n").some((line) => line.startsWith("[strata: "))) return undefined;
		const stored = path === undefined ? "" : `; exact output: read ${path}`;
		const note =
			plain !== text && stored !== "" ? [`[strata: as a terminal shows it${stored}]`] : [];
		const folded = plainFolds(plain.split("\n"), settings, plain === text ? stored : "");
		const shown = [...note, ...folded].join("\n");
		return isWorthIt(text, shown, settings.minSavedTokens) ? shown : undefined;
	}

	#withReferences(
		text: string,
		path: string | undefined,
		isVisible: (id: string) => boolean,
	): string | undefined {
		const { minLines, minChars, minSavedTokens } = this.#settings.dedupe;
		const lines = text.split("\n");
		if (text.length < minChars || lines.some((line) => line.startsWith("[strata: lines "))) {
			return undefined;
		}
		const shown: string[] = [];
		let isFirst = true;
		let free = 0;
		for (let line = 0; line + minLines <= lines.length; ) {
			const run = this.#longestRun(lines, line, isVisible);
			if (!run) {
				line++;
				continue;
			}
			while (run.first > free && lines[run.first - 1] === run.base.lines?.[run.at - 1]) {
				run.first--;
				run.at--;
			}
			const replaced = lines.slice(run.first, run.end).join("\n");
			const reference = this.#referenceTo(run, isFirst ? path : undefined);
			if (!this.#isCheaper(reference, replaced, run)) {
				const skipped = replaced.length >= minChars ? run.end - minLines + 1 : 0;
				line = Math.max(line + 1, skipped);
				continue;
			}
			shown.push(...lines.slice(free, run.first), reference);
			[isFirst, free, line] = [false, run.end, run.end];
		}
		const all = [...shown, ...lines.slice(free)].join("\n");
		return !isFirst && isWorthIt(text, all, minSavedTokens) ? all : undefined;
	}

	#isCheaper(reference: string, replaced: string, { first, end }: Run): boolean {
		const { minLines, minChars } = this.#settings.dedupe;
		if (end - first < minLines || replaced.length < minChars) return false;
		return reference.length < replaced.length && pieces(reference) < pieces(replaced);
	}

	#referenceTo({ first, end, base, at }: Run, path: string | undefined): string {
		const isNewest = this.#known.findLast(({ name }) => name === base.name) === base;
		const lines = { first: at + 1, last: at + end - first, name: base.name };
		return referenceLine({ ...lines, ...(!isNewest && { id: base.id }) }, path);
	}

	#longestRun(
		lines: readonly string[],
		line: number,
		isVisible: (id: string) => boolean,
	): Run | undefined {
		const { minLines, maxPlaces } = this.#settings.dedupe;
		let longest: Run | undefined;
		let places = 0;
		for (const base of this.#known.toReversed()) {
			const all = base.lines ?? [];
			for (let at = all.length - minLines; at >= 0; at--) {
				if (equalLines(lines, line, all, at) < minLines) continue;
				// Of equal lines in a row, the first are enough.
				if (at > 0 && equalLines(all, at, all, at - 1) >= minLines) continue;
				if (++places > maxPlaces || longest?.end === lines.length) return longest;
				if (!isVisible(base.id) || !this.#canBeNamed(base)) continue;
				const end = line + equalLines(lines, line, all, at);
				if (end > (longest?.end ?? line)) longest = { first: line, end, base, at };
			}
		}
		return longest;
	}

	#canBeNamed(base: Known): boolean {
		const isNewest = this.#known.findLast(({ name }) => name === base.name) === base;
		return isNewest || isPlainId(base.id);
	}
}

function equalLines(one: readonly string[], from: number, other: readonly string[], at: number) {
	let count = 0;
	while (from + count < one.length && one[from + count] === other[at + count]) count++;
	return count;
}

export function pieces(text: string): number {
	return leastPieces(text, Number.POSITIVE_INFINITY);
}

function isWorthIt(before: string, after: string, minSavedTokens: number): boolean {
	return Math.ceil(before.length / 4) - Math.ceil(after.length / 4) >= minSavedTokens;
}
