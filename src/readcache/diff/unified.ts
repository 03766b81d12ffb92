/**
 * A unified diff that is either exact or not given: the text is applied to the base and compared with the
 * current version before it is returned, and nothing larger than the caller can use is ever built.
 */
import { escaped } from "../../text/one-line.ts";
import { applySteps } from "./apply-unified.ts";
import { type Change, diffInterned, fewEdits } from "./line-diff.ts";
import { internLines, leastChangedLength, splitLines } from "./lines.ts";
import { runInSlices, type Steps } from "./slices.ts";

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
	/** Work allowed for finding the changes, see `diffInterned`. */
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
	const few = yield* fewEdits(base, current);
	if (few) return yield* describeChanges(few, { base, current }, input);
	const interned = yield* internLines(base, current);
	// Each changed line takes a row of its own: a sign, at least a byte per character, a newline.
	const least = yield* leastChangedLength(interned, 2);
	if (least > input.maxBytes) return notUseful("too_large");
	const changes = yield* diffInterned(interned, input.budget);
	return yield* describeChanges(changes, { base, current }, input);
}

/**
 * Writes the changes as a diff and verifies it: changes that do not lead from base to current give
 * "verification_failed", never a wrong diff. `lines` are those of `splitLines`.
 */
export function* describeChanges(
	changes: Change[],
	lines: { base: string[]; current: string[] },
	input: UnifiedDiffInput,
): Steps<UnifiedDiff | DiffNotUseful> {
	const hunks = groupChanges(changes, input.contextLines ?? 3, lines.base.length);
	const text = yield* formatHunks(hunks, lines, input);
	if (text === undefined) return notUseful("too_large");
	if (!(yield* isExact(input, text))) return notUseful("verification_failed");
	return { kind: "diff", text, changedLines: changedLines(changes) };
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
	lines: { base: string[]; current: string[] },
	input: { path: string; maxBytes: number },
): Steps<string | undefined> {
	const path = oneRow(input.path);
	const rows = [`--- a/${path}`, `+++ b/${path}`];
	let bytes = 2 + Buffer.byteLength(rows.join(""));
	let units = 0;
	for (const hunk of hunks) {
		for (const row of hunkRows(hunk, lines.base, lines.current)) {
			rows.push(row);
			bytes += Buffer.byteLength(row) + 1;
			if (bytes > input.maxBytes) return undefined;
			units += 50 + row.length;
			if (units < 50_000) continue;
			yield units;
			units = 0;
		}
	}
	yield units;
	return `${rows.join("\n")}\n`;
}

function* hunkRows(hunk: Hunk, base: string[], current: string[]): Generator<string> {
	const removed = side(hunk.baseStart, hunk.baseEnd);
	const added = side(hunk.currentStart, hunk.currentEnd);
	yield `@@ -${removed} +${added} @@`;
	let at = hunk.baseStart;
	for (const change of hunk.changes) {
		const baseEnd = change.baseStart + change.baseCount;
		const currentEnd = change.currentStart + change.currentCount;
		for (; at < change.baseStart; at++) yield ` ${base[at]}`;
		for (; at < baseEnd; at++) yield `-${base[at]}`;
		for (let i = change.currentStart; i < currentEnd; i++) yield `+${current[i]}`;
	}
	for (; at < hunk.baseEnd; at++) yield ` ${base[at]}`;
}

/** First line and number of lines; an empty side names the line before it, as all tools expect. */
function side(start: number, end: number): string {
	return `${end > start ? start + 1 : start},${end - start}`;
}

/** Control characters and Unicode line separators as `\u000a`; everything else stays. */
function oneRow(path: string): string {
	return escaped(path, /[\p{Cc}\p{Zl}\p{Zp}]/gu);
}

function* isExact(input: UnifiedDiffInput, text: string): Steps<boolean> {
	try {
		return (yield* applySteps(input.base, text)) === input.current;
	} catch {
		// The reason would be a fault in this folder; the caller counts it and serves the plain text.
		return false;
	}
}

function changedLines(changes: Change[]): number {
	return changes.reduce(
		(sum, { baseCount, currentCount }) => sum + Math.max(baseCount, currentCount),
		0,
	);
}
