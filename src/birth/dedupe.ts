import { getOrAdd } from "../core/get-or-add.ts";
import { type ScannedText, scanLines, WindowIndex } from "./line-windows.ts";
import {
	expandBy,
	isPlainId,
	type LinedText,
	REFERENCE_START,
	type Reference,
	referenceLine,
} from "./reference.ts";
import { type CallResult, hasLineLike, isShowable, isWorthIt, nameOf } from "./result.ts";
import type { DedupeSettings } from "./settings.ts";

/** Line numbers are 32-bit. No conversation gets there; a hostile one starts over. */
const MAX_LINE_NUMBER = 2 ** 30;

/** An earlier result. Without `shown` it only keeps its name from meaning an older result. */
interface Known {
	readonly id: string;
	readonly name: string;
	/** The number of its first line, counted across results. */
	readonly first: number;
	readonly lines: number;
	readonly shown: LinedText | undefined;
}

/** Lines `first` up to `end` of the new text, which stand in `base` from its line `at` on. */
interface Run {
	first: number;
	end: number;
	readonly base: Known & { readonly shown: LinedText };
	at: number;
}

/** A search for runs ends when its budget of compared characters is used up, whatever the text. */
interface Search {
	readonly text: ScannedText;
	/** `undefined` if the result cannot be referred to. */
	readonly baseOf: (known: Known) => Run["base"] | undefined;
	budget: number;
}

const LEAST_BUDGET = 100_000;

/** A comparison that fails at once costs as much as this many characters. */
const LEAST_COMPARED = 32;

/**
 * Replaces runs of lines that an earlier result shows by references. A decision is a function of the
 * results added so far, of those that are visible, and of the settings. Memory is bounded.
 */
export class Dedupe {
	readonly #settings: DedupeSettings;
	/** Oldest first. */
	#known: Known[] = [];
	/** The same by name. */
	#byName = new Map<string, Known[]>();
	#index: WindowIndex;
	#nextLine = 0;
	#chars = 0;
	readonly #places: Int32Array;
	/** The last scan, since a result is usually added as it was decided on. */
	#last: ScannedText | undefined;

	constructor(settings: DedupeSettings) {
		this.#settings = settings;
		this.#index = new WindowIndex(settings.maxIndexedLines);
		this.#places = new Int32Array(settings.maxPlaces);
	}

	/**
	 * The text to show instead of the result's own; `undefined` if it stays as it is. Changes nothing: the
	 * caller adds the result once it knows what the model will see. `isVisible` is asked about the ids of
	 * earlier results.
	 */
	shorten(result: CallResult, isVisible: (id: string) => boolean = () => true): string | undefined {
		const { text, isError, path } = result;
		const { minChars, minSavedTokens } = this.#settings;
		if (text === undefined || isError || text.length < minChars) return undefined;
		if (path !== undefined && !isShowable(path)) return undefined;
		if (hasLineLike(REFERENCE_START, text)) return undefined;
		const shown = this.#withReferences(this.#scan(text), path, isVisible);
		if (shown === undefined || !isWorthIt(text, shown, minSavedTokens)) return undefined;
		const expanded = expandBy(shown, (reference) => this.#find(reference, isVisible));
		return expanded === text ? shown : undefined;
	}

	/** Adds a result with the text that the model sees, so that later ones can refer to it. */
	add({ id, text, ...call }: CallResult, shown = text): void {
		const { maxIndexedLines, maxIndexedChars, maxIndexedResults } = this.#settings;
		let scanned =
			shown === undefined || shown.length > maxIndexedChars ? undefined : this.#scan(shown);
		let lines = scanned ? scanned.starts.length - 1 : 0;
		if (lines > maxIndexedLines) [scanned, lines] = [undefined, 0];
		if (this.#nextLine + lines > MAX_LINE_NUMBER) this.#clear();
		const kept = scanned && { text: scanned.text, starts: scanned.starts };
		const known: Known = { id, name: nameOf(call), first: this.#nextLine, lines, shown: kept };
		this.#known.push(known);
		getOrAdd(this.#byName, known.name, () => []).push(known);
		this.#nextLine += lines;
		this.#chars += scanned?.text.length ?? 0;
		while (
			this.#nextLine - this.#oldestLine() > maxIndexedLines ||
			this.#chars > maxIndexedChars ||
			this.#known.length > maxIndexedResults
		) {
			this.#evictOldest();
		}
		if (scanned) this.#index.add(scanned, known.first, this.#oldestLine());
		this.#last = undefined;
	}

	#scan(text: string): ScannedText {
		if (this.#last?.text !== text) this.#last = scanLines(text, this.#settings.minLines);
		return this.#last;
	}

	#oldestLine(): number {
		return this.#known[0]?.first ?? this.#nextLine;
	}

	#evictOldest(): void {
		const known = this.#known.shift();
		if (!known) return;
		this.#chars -= known.shown?.text.length ?? 0;
		const named = this.#byName.get(known.name);
		named?.shift();
		if (named?.length === 0) this.#byName.delete(known.name);
	}

	#clear(): void {
		this.#known = [];
		this.#byName = new Map();
		this.#index = new WindowIndex(this.#settings.maxIndexedLines);
		this.#nextLine = 0;
		this.#chars = 0;
	}

	#withReferences(
		text: ScannedText,
		path: string | undefined,
		isVisible: (id: string) => boolean,
	): string | undefined {
		const bases = new Map<Known, Run["base"] | undefined>();
		const search: Search = {
			text,
			baseOf: (known) =>
				getOrAdd(bases, known, () => (isVisible(known.id) ? this.#asBase(known) : undefined)),
			budget: LEAST_BUDGET + text.text.length * this.#settings.maxPlaces,
		};
		const parts: string[] = [];
		let copied = 0;
		for (let line = 0, free = 0; line < text.windows.length && search.budget > 0; ) {
			const run = this.#longestRun(search, line);
			const reference = run && this.#referenceFor(text, withStart(run, text, free), path, parts);
			if (!run || reference === undefined) {
				// Skips most of a long run, so that no line is compared again and again.
				line = run ? Math.max(line + 1, nextAfter(run, text, this.#settings)) : line + 1;
				continue;
			}
			parts.push(text.text.slice(copied, text.starts[run.first]), reference);
			copied = lineEnd(text, run.end - 1);
			free = run.end;
			line = run.end;
		}
		if (parts.length === 0) return undefined;
		parts.push(text.text.slice(copied));
		return parts.join("");
	}

	/** `undefined` if no reference could name it: other results have its name, and its id is no word. */
	#asBase(known: Known): Run["base"] | undefined {
		const { shown } = known;
		if (!shown) return undefined;
		const newest = this.#byName.get(known.name)?.at(-1);
		if (newest === known) return { ...known, shown };
		const isOnly = this.#newest(known.name, known.id, () => true) === known;
		return isOnly && isPlainId(known.id) ? { ...known, shown } : undefined;
	}

	/** Of the newest places that have the window at `line`: the one with the most lines in common. */
	#longestRun(search: Search, line: number): Run | undefined {
		const { text, baseOf } = search;
		const window = text.windows[line] as number;
		const count = this.#index.find(window, this.#oldestLine(), this.#places);
		const most = text.starts.length - 1;
		let longest: Run | undefined;
		for (let index = 0; index < count && longest?.end !== most && search.budget > 0; index++) {
			const place = this.#places[index] as number;
			const known = this.#knownAt(place);
			const base = known && baseOf(known);
			if (!base) continue;
			const at = place - base.first;
			const end = line + equalLines(text, line, base.shown, at);
			search.budget -=
				LEAST_COMPARED + (text.starts[end] as number) - (text.starts[line] as number);
			if (end > (longest?.end ?? line)) longest = { first: line, end, base, at };
		}
		return longest;
	}

	#knownAt(line: number): Known | undefined {
		let [low, high] = [0, this.#known.length - 1];
		while (low < high) {
			const middle = (low + high + 1) >>> 1;
			if ((this.#known[middle] as Known).first <= line) low = middle;
			else high = middle - 1;
		}
		return this.#known[low];
	}

	/** `undefined` if the run is too small, or no longer than its reference. */
	#referenceFor(
		text: ScannedText,
		run: Run,
		path: string | undefined,
		before: readonly string[],
	): string | undefined {
		const { minLines, minChars } = this.#settings;
		const { base, first, end, at } = run;
		const start = text.starts[first] as number;
		const chars = lineEnd(text, end - 1) - start;
		if (end - first < minLines || chars < minChars) return undefined;
		const isNewest = this.#byName.get(base.name)?.at(-1)?.first === base.first;
		const lines = { first: at + 1, last: at + end - first, name: base.name };
		const reference = { ...lines, ...(!isNewest && { id: base.id }) };
		// One path is enough for all references of a result.
		const line = referenceLine(reference, before.length === 0 ? path : undefined);
		if (line.length >= chars) return undefined;
		const pieces = leastPieces(line, Number.POSITIVE_INFINITY);
		const replaced = text.text.slice(start, start + chars);
		return leastPieces(replaced, pieces + 1) > pieces ? line : undefined;
	}

	#find({ name, id }: Reference, isVisible: (id: string) => boolean): LinedText | undefined {
		return this.#newest(name, id, isVisible)?.shown;
	}

	#newest(
		name: string,
		id: string | undefined,
		isVisible: (id: string) => boolean,
	): Known | undefined {
		return this.#byName
			.get(name)
			?.findLast((known) => (id === undefined || known.id === id) && isVisible(known.id));
	}
}

function lineEnd({ starts }: LinedText, line: number): number {
	return (starts[line + 1] as number) - 1;
}

/** The first line of a window that is not all in the run, if the run is long. */
function nextAfter({ first, end }: Run, text: LinedText, settings: DedupeSettings): number {
	const isLong = lineEnd(text, end - 1) - (text.starts[first] as number) >= settings.minChars;
	return isLong ? end - settings.minLines + 1 : 0;
}

/** Extends a run to the left, down to the line `free`. */
function withStart(run: Run, text: LinedText, free: number): Run {
	const { shown } = run.base;
	while (run.first > free && run.at > 0 && isSameLine(text, run.first - 1, shown, run.at - 1)) {
		run.first--;
		run.at--;
	}
	return run;
}

function isSameLine(text: LinedText, line: number, base: LinedText, at: number): boolean {
	const from = text.starts[line] as number;
	const length = lineEnd(text, line) - from;
	const start = base.starts[at] as number;
	if (length !== lineEnd(base, at) - start) return false;
	return commonLength(text.text, from, base.text, start, length) === length;
}

/** How many lines from `line` and from `at` on are equal. */
function equalLines(text: LinedText, line: number, base: LinedText, at: number): number {
	const from = text.starts[line] as number;
	const start = base.starts[at] as number;
	const limit = Math.min(text.text.length - from, base.text.length - start);
	const common = commonLength(text.text, from, base.text, start, limit);
	let [low, high] = [line, text.starts.length - 1];
	while (low < high) {
		const middle = (low + high + 1) >>> 1;
		if (lineEnd(text, middle - 1) <= from + common) low = middle;
		else high = middle - 1;
	}
	if (low === line) return 0;
	// Where the texts begin to differ, only one of them may end its line.
	const endsThere = lineEnd(base, at + low - line - 1) - start === lineEnd(text, low - 1) - from;
	return endsThere ? low - line : low - line - 1;
}

const SMALLEST_STEP = 64;
const LARGEST_STEP = 4096;

/** The number of equal characters. Compares in growing steps, then the last step one by one. */
function commonLength(
	text: string,
	from: number,
	base: string,
	start: number,
	limit: number,
): number {
	let length = 0;
	let step = SMALLEST_STEP;
	while (
		length + step <= limit &&
		base.startsWith(text.slice(from + length, from + length + step), start + length)
	) {
		length += step;
		step = Math.min(step * 2, LARGEST_STEP);
	}
	while (length < limit && text.charCodeAt(from + length) === base.charCodeAt(start + length)) {
		length++;
	}
	return length;
}

const PIECE = /[A-Za-z]{1,10}|[0-9]{1,3}|[!-/:-@[-`{-~]{1,64}|[^\0-\x7f]{1,4}/g;

/**
 * A lower bound for the tokens of a text, counted up to `enough`. A tokenizer makes one token of many
 * spaces or dashes, so a text that is longer in characters may still be cheaper.
 */
function leastPieces(text: string, enough: number): number {
	PIECE.lastIndex = 0;
	let pieces = 0;
	while (pieces < enough && PIECE.test(text)) pieces++;
	return pieces;
}
