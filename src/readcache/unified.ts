/**
 * A unified diff that is either exact or not given: the text is applied to the base and compared with the
 * current version before it is returned, and nothing larger than the caller can use is ever built.
 */
import { applySteps } from "./apply-unified.ts";
import { internLines, leastChangedLength } from "./interned-lines.ts";
import { type Change, diffInterned } from "./line-diff.ts";
import { runInSlices, type Steps } from "./slices.ts";
import { splitLines } from "./split-lines.ts";

/** What `unifiedDiff` compares, and its limits. */
export interface UnifiedDiffInput {
	/** Shown in the header as given; control characters are escaped, so that the header stays two rows. */
	path: string;
	base: string;
	current: string;
	/** Unchanged lines shown around each change; 3 if not given. */
	contextLines?: number | undefined;
	/** Largest useful size of the diff text, in bytes of UTF-8. */
	maxBytes: number;
	/** Work allowed for finding the changes, see `diffLines`. */
	budget?: number | undefined;
	signal?: AbortSignal | undefined;
}

/** A diff that was verified against both texts. */
export interface UnifiedDiff {
	kind: "diff";
	/** Two header rows and the hunks; every row, also the last, ends with a newline. */
	text: string;
	/**
	 * How many lines changed, a replaced line counted once: for each run of changed lines the larger of
	 * the removed and the added ones.
	 */
	changedLines: number;
	addedLines: number;
	removedLines: number;
	/**
	 * Lines of the current text that the diff shows (context and added ones) as `[first, last]`, counted from
	 * 1, ascending. The empty line that pi counts after a final newline has no row in a diff and is never in.
	 */
	shownRanges: [number, number][];
	/** Where the texts differ: what maps lines of the base that stayed the same to the current text. */
	changes: Change[];
}

/** Why there is no diff: each is a reason to serve the plain text, and is worth counting. */
export interface DiffNotUseful {
	kind: "not_useful";
	reason: "identical" | "too_large" | "verification_failed";
}

/**
 * The changes from `base` to `current` as a unified diff of at most `maxBytes`. Gives the event loop a turn
 * every few milliseconds and throws "Operation aborted" when the signal is aborted.
 */
export function unifiedDiff(input: UnifiedDiffInput): Promise<UnifiedDiff | DiffNotUseful> {
	return runInSlices(unifiedSteps(input), input.signal);
}

function* unifiedSteps(input: UnifiedDiffInput): Steps<UnifiedDiff | DiffNotUseful> {
	if (input.base === input.current) return notUseful("identical");
	const base = yield* splitLines(input.base);
	const current = yield* splitLines(input.current);
	const interned = yield* internLines(base, current);
	// Each changed line takes a row of its own: a sign, at least a byte per character, a newline.
	if (leastChangedLength(interned, base, current, 2) > input.maxBytes)
		return notUseful("too_large");
	const changes = yield* diffInterned(interned, input.budget);
	const hunks = groupChanges(changes, input.contextLines ?? 3, base.length);
	const text = yield* formatHunks(hunks, {
		path: input.path,
		base,
		current,
		maxBytes: input.maxBytes,
	});
	if (text === undefined) return notUseful("too_large");
	if (!(yield* isExact(input, text))) return notUseful("verification_failed");
	return { kind: "diff", text, ...countLines(changes), shownRanges: shownRanges(hunks), changes };
}

function notUseful(reason: DiffNotUseful["reason"]): DiffNotUseful {
	return { kind: "not_useful", reason };
}

/** The lines around some changes; `end` is the first line after it, counted from 0. */
interface Hunk {
	baseStart: number;
	baseEnd: number;
	currentStart: number;
	currentEnd: number;
	changes: Change[];
}

/** Joins changes whose context would touch or overlap. */
function groupChanges(changes: Change[], context: number, baseLines: number): Hunk[] {
	const hunks: Hunk[] = [];
	for (const change of changes) {
		const before = Math.min(context, change.baseStart);
		const baseEnd = change.baseStart + change.baseCount;
		const currentEnd = change.currentStart + change.currentCount;
		// Lines after a change are the same on both sides up to the next one.
		const after = Math.min(context, baseLines - baseEnd);
		let hunk = hunks.at(-1);
		if (!hunk || hunk.baseEnd < change.baseStart - before) {
			const [baseStart, currentStart] = [change.baseStart - before, change.currentStart - before];
			hunk = { baseStart, baseEnd, currentStart, currentEnd, changes: [] };
			hunks.push(hunk);
		}
		hunk.changes.push(change);
		hunk.baseEnd = baseEnd + after;
		hunk.currentEnd = currentEnd + after;
	}
	return hunks;
}

/** The text of a diff, or undefined as soon as it passes `maxBytes`. */
function* formatHunks(
	hunks: Hunk[],
	options: { path: string; base: string[]; current: string[]; maxBytes: number },
): Steps<string | undefined> {
	const { base, current } = options;
	const path = oneRow(options.path);
	const rows: string[] = [];
	let bytes = 0;
	let units = 0;
	const add = (row: string) => {
		rows.push(row);
		bytes += Buffer.byteLength(row) + 1;
		units += unitsToWrite + row.length;
	};
	const addLines = function* (sign: string, lines: string[], start: number, end: number) {
		for (let i = start; i < end && bytes <= options.maxBytes; i++) {
			add(sign + lines[i]);
			if (units < 250_000) continue;
			yield units;
			units = 0;
		}
	};
	add(`--- a/${path}`);
	add(`+++ b/${path}`);
	for (const hunk of hunks) {
		const removed = side(hunk.baseStart, hunk.baseEnd);
		add(`@@ -${removed} +${side(hunk.currentStart, hunk.currentEnd)} @@`);
		let at = hunk.baseStart;
		for (const change of hunk.changes) {
			const baseEnd = change.baseStart + change.baseCount;
			const currentEnd = change.currentStart + change.currentCount;
			yield* addLines(" ", base, at, change.baseStart);
			yield* addLines("-", base, change.baseStart, baseEnd);
			yield* addLines("+", current, change.currentStart, currentEnd);
			at = baseEnd;
		}
		yield* addLines(" ", base, at, hunk.baseEnd);
		if (bytes > options.maxBytes) return undefined;
	}
	yield units;
	return `${rows.join("\n")}\n`;
}

// Per row, in units of about 2 ns.
const unitsToWrite = 60;

/** First line and number of lines; an empty side names the line before it, as all tools expect. */
function side(start: number, end: number): string {
	return `${end > start ? start + 1 : start},${end - start}`;
}

/** Control characters and Unicode line separators as `\u000a`; everything else stays. */
function oneRow(path: string): string {
	return path.replace(
		/[\p{Cc}\p{Zl}\p{Zp}]/gu,
		(character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
	);
}

function* isExact(input: UnifiedDiffInput, text: string): Steps<boolean> {
	try {
		return (yield* applySteps(input.base, text)) === input.current;
	} catch {
		// The reason would be a fault in this folder; the caller counts it and serves the plain text.
		return false;
	}
}

function countLines(changes: Change[]) {
	let changedLines = 0;
	let addedLines = 0;
	let removedLines = 0;
	for (const change of changes) {
		changedLines += Math.max(change.baseCount, change.currentCount);
		addedLines += change.currentCount;
		removedLines += change.baseCount;
	}
	return { changedLines, addedLines, removedLines };
}

function shownRanges(hunks: Hunk[]): [number, number][] {
	return hunks
		.filter((hunk) => hunk.currentEnd > hunk.currentStart)
		.map((hunk) => [hunk.currentStart + 1, hunk.currentEnd]);
}
