import { getOrAdd } from "../core/get-or-add.ts";
import { WindowIndex, windowsOf } from "./line-windows.ts";
import {
	type LinedText,
	type LineEdit,
	lineCount,
	lineEnd,
	type ScannedText,
	Scanner,
	savedBy,
} from "./lines.ts";
import { leastPieces } from "./pieces.ts";
import {
	expandsTo,
	isPlainId,
	type PlacedReference,
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

/** A result with references in place of some of its lines. */
interface Deduped {
	readonly text: string;
	/** In the order of their lines. */
	readonly references: readonly PlacedReference[];
}

/** A run of lines, and the line that refers to it. */
interface ReferredRun extends LineEdit {
	readonly base: string;
	/** The first of its lines in the base, from 0. */
	readonly at: number;
}

/** A search for runs ends when its budget of compared characters is used up, whatever the text. */
interface Search {
	readonly text: ScannedText;
	readonly windows: Int32Array;
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
	/** The newest of each name, and of each id. */
	readonly #byName = new Map<string, Known>();
	readonly #byId = new Map<string, Known>();
	#index: WindowIndex;
	#nextLine = 0;
	#chars = 0;
	readonly #places: Int32Array;
	readonly #scanner: Scanner;

	constructor(settings: DedupeSettings, scanner = new Scanner()) {
		this.#settings = settings;
		this.#scanner = scanner;
		this.#index = new WindowIndex(settings.maxIndexedLines);
		this.#places = new Int32Array(settings.maxPlaces);
	}

	/** The text of {@link decide}. */
	shorten(result: CallResult, isVisible?: (id: string) => boolean): string | undefined {
		return this.decide(result, isVisible)?.text;
	}

	/**
	 * What to show instead of the result's own text; `undefined` if it stays as it is. Changes nothing: the
	 * caller adds the result once it knows what the model will see. `isVisible` is asked about the ids of
	 * earlier results.
	 */
	decide(result: CallResult, isVisible: (id: string) => boolean = () => true): Deduped | undefined {
		const { text, isError, path } = result;
		const { minChars, minSavedTokens } = this.#settings;
		if (text === undefined || isError || text.length < minChars) return undefined;
		if (path !== undefined && !isShowable(path)) return undefined;
		if (hasLineLike(REFERENCE_START, text)) return undefined;
		const scanned = this.#scanner.scan(text);
		const runs = this.#runsIn(scanned, path, isVisible);
		const length = text.length - savedBy(scanned, runs);
		if (runs.length === 0 || !isWorthIt(text.length, length, minSavedTokens)) return undefined;
		const shown = this.#scanner.edited(scanned, runs);
		const isBacked = expandsTo(text, shown, (reference) => this.#find(reference, isVisible));
		return isBacked ? { text: shown, references: placed(runs) } : undefined;
	}

	/** Adds a result with the text that the model sees, so that later ones can refer to it. */
	add({ id, text, ...call }: CallResult, shown = text): void {
		const { minLines, maxIndexedLines, maxIndexedChars, maxIndexedResults } = this.#settings;
		const isShort = shown !== undefined && shown.length <= maxIndexedChars;
		const scan = isShort ? this.#scanner.scan(shown) : undefined;
		const scanned = scan && lineCount(scan) <= maxIndexedLines ? scan : undefined;
		const lines = scanned ? lineCount(scanned) : 0;
		if (this.#nextLine + lines > MAX_LINE_NUMBER) this.#clear();
		const kept = scanned && { text: scanned.text, starts: scanned.starts };
		const known: Known = { id, name: nameOf(call), first: this.#nextLine, lines, shown: kept };
		this.#known.push(known);
		this.#byName.set(known.name, known);
		this.#byId.set(id, known);
		this.#nextLine += lines;
		this.#chars += scanned?.text.length ?? 0;
		while (
			this.#nextLine - this.#oldestLine() > maxIndexedLines ||
			this.#chars > maxIndexedChars ||
			this.#known.length > maxIndexedResults
		) {
			this.#evictOldest();
		}
		if (scanned) {
			const windows = windowsOf(scanned.hashes, minLines);
			this.#index.add(windows, lines, known.first, this.#oldestLine());
		}
		this.#scanner.forget();
	}

	#oldestLine(): number {
		return this.#known[0]?.first ?? this.#nextLine;
	}

	#evictOldest(): void {
		const known = this.#known.shift();
		if (!known) return;
		this.#chars -= known.shown?.text.length ?? 0;
		if (this.#byName.get(known.name) === known) this.#byName.delete(known.name);
		if (this.#byId.get(known.id) === known) this.#byId.delete(known.id);
	}

	#clear(): void {
		this.#known = [];
		this.#byName.clear();
		this.#byId.clear();
		this.#index = new WindowIndex(this.#settings.maxIndexedLines);
		this.#nextLine = 0;
		this.#chars = 0;
	}

	#runsIn(
		text: ScannedText,
		path: string | undefined,
		isVisible: (id: string) => boolean,
	): ReferredRun[] {
		const bases = new Map<Known, Run["base"] | undefined>();
		const search: Search = {
			text,
			windows: windowsOf(text.hashes, this.#settings.minLines),
			baseOf: (known) =>
				getOrAdd(bases, known, () => (isVisible(known.id) ? this.#asBase(known) : undefined)),
			budget: LEAST_BUDGET + text.text.length * this.#settings.maxPlaces,
		};
		const runs: ReferredRun[] = [];
		for (let line = 0, free = 0; line < search.windows.length && search.budget > 0; ) {
			const run = this.#longestRun(search, line);
			// One path is enough for all references of a result.
			const named = runs.length === 0 ? path : undefined;
			const reference = run && this.#referenceFor(text, withStart(run, text, free), named);
			if (!run || reference === undefined) {
				// Skips most of a long run, so that no line is compared again and again.
				line = run ? Math.max(line + 1, nextAfter(run, text, this.#settings)) : line + 1;
				continue;
			}
			const { first, end, base, at } = run;
			runs.push({ start: first, end, line: reference, base: base.id, at });
			free = end;
			line = end;
		}
		return runs;
	}

	/** `undefined` if no reference could name it: other results have its name, and its id is no word. */
	#asBase(known: Known): Run["base"] | undefined {
		const { shown } = known;
		if (!shown) return undefined;
		const isNewest = this.#byName.get(known.name) === known;
		const hasOwnId = isPlainId(known.id) && this.#byId.get(known.id) === known;
		return isNewest || hasOwnId ? { ...known, shown } : undefined;
	}

	/** Of the newest places that have the window at `line`: the one with the most lines in common. */
	#longestRun(search: Search, line: number): Run | undefined {
		const { text, windows, baseOf } = search;
		const window = windows[line] as number;
		const count = this.#index.find(window, this.#oldestLine(), this.#places);
		const most = lineCount(text);
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
	#referenceFor(text: ScannedText, run: Run, path: string | undefined): string | undefined {
		const { minLines, minChars } = this.#settings;
		const { base, first, end, at } = run;
		const start = text.starts[first] as number;
		const chars = lineEnd(text, end - 1) - start;
		if (end - first < minLines || chars < minChars) return undefined;
		const isNewest = this.#byName.get(base.name)?.first === base.first;
		const lines = { first: at + 1, last: at + end - first, name: base.name };
		const reference = { ...lines, ...(!isNewest && { id: base.id }) };
		const line = referenceLine(reference, path);
		if (line.length >= chars) return undefined;
		const pieces = leastPieces(line, Number.POSITIVE_INFINITY);
		const replaced = text.text.slice(start, start + chars);
		return leastPieces(replaced, pieces + 1) > pieces ? line : undefined;
	}

	#find({ name, id }: Reference, isVisible: (id: string) => boolean): LinedText | undefined {
		const known = id === undefined ? this.#byName.get(name) : this.#byId.get(id);
		return known?.name === name && isVisible(known.id) ? known.shown : undefined;
	}
}

/** Where the references stand when all runs are replaced. */
function placed(runs: readonly ReferredRun[]): PlacedReference[] {
	let removed = 0;
	return runs.map(({ start, end, base, at }) => {
		const line = start - removed + 1;
		removed += end - start - 1;
		return { line, base, first: at + 1, last: at + end - start };
	});
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
	let [low, high] = [line, lineCount(text)];
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
		text.slice(from + length, from + length + step) ===
			base.slice(start + length, start + length + step)
	) {
		length += step;
		step = Math.min(step * 2, LARGEST_STEP);
	}
	while (length < limit && text.charCodeAt(from + length) === base.charCodeAt(start + length)) {
		length++;
	}
	return length;
}
