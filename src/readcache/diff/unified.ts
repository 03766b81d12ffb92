/** Every diff is verified against the current text. None above the caller's limit is built. */
import { escaped } from "../../text/one-line.ts";
import { applySteps } from "./apply-unified.ts";
import { type Change, diffInterned, fewEdits } from "./line-diff.ts";
import { internLines, leastChangedLength, splitLines } from "./lines.ts";
import { runInSlices, type Steps } from "./slices.ts";

export interface UnifiedDiffInput {
	/** Control characters are escaped, so that the header stays two rows. */
	path: string;
	base: string;
	current: string;
	/** Unchanged lines around each change; default: 3. */
	contextLines?: number | undefined;
	/** Upper bound of the diff text, in bytes of UTF-8. */
	maxBytes: number;
	/** Default: see `diffInterned`. */
	budget?: number | undefined;
	signal?: AbortSignal | undefined;
}

export interface UnifiedDiff {
	kind: "diff";
	text: string;
	/** A replaced line counts once: the larger of removed and added per run. */
	changedLines: number;
}

/** Each reason leads to the plain text, and is counted. */
export interface DiffNotUseful {
	kind: "not_useful";
	reason: "identical" | "too_large" | "verification_failed";
}

/** Yields to the event loop every few ms and throws "Operation aborted" on abort. */
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
	// Each changed line takes a row: a sign, at least a byte per character, a newline.
	const least = yield* leastChangedLength(interned, 2);
	if (least > input.maxBytes) return notUseful("too_large");
	const changes = yield* diffInterned(interned, input.budget);
	return yield* describeChanges(changes, { base, current }, input);
}

/** Wrong changes give "verification_failed", never a wrong diff. */
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

/** `end` is exclusive, counted from 0. */
interface Hunk {
	baseStart: number;
	baseEnd: number;
	currentStart: number;
	currentEnd: number;
	changes: Change[];
}

function groupChanges(changes: Change[], context: number, baseLines: number): Hunk[] {
	const hunks: Hunk[] = [];
	for (const change of changes) {
		const before = Math.min(context, change.baseStart);
		const baseEnd = change.baseStart + change.baseCount;
		const currentEnd = change.currentStart + change.currentCount;
		// Lines after a change are equal on both sides up to the next one.
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

/** An empty side names the line before it, as all tools expect. */
function side(start: number, end: number): string {
	return `${end > start ? start + 1 : start},${end - start}`;
}

function oneRow(path: string): string {
	return escaped(path, /[\p{Cc}\p{Zl}\p{Zp}]/gu);
}

function* isExact(input: UnifiedDiffInput, text: string): Steps<boolean> {
	try {
		return (yield* applySteps(input.base, text)) === input.current;
	} catch {
		// This would be our bug; the caller counts it and serves the plain text.
		return false;
	}
}

function changedLines(changes: Change[]): number {
	return changes.reduce(
		(sum, { baseCount, currentCount }) => sum + Math.max(baseCount, currentCount),
		0,
	);
}
