/** Every diff is verified against the current text. A diff above the caller's limit is not built. */
import { escaped } from "../../text/one-line.ts";
import { diffInterned, type Gap } from "./line-diff.ts";
import {
	type Change,
	internLines,
	leastChangedLength,
	NO_FINAL_NEWLINE,
	type Sides,
	splitLines,
} from "./lines.ts";
import { fewEdits } from "./myers.ts";
import { runAtOnce, runInSlices, type Steps } from "./slices.ts";

export interface UnifiedDiffInput {
	/** Control characters are escaped, so that the header always has two rows. */
	readonly path: string;
	readonly base: string;
	readonly current: string;
	/** Number of unchanged lines around each change. Default: 3. */
	readonly contextLines?: number | undefined;
	/** Maximum size of the diff text, in bytes of UTF-8. */
	readonly maxBytes: number;
	/** Work limit. Default: see `diffInterned`. */
	readonly budget?: number | undefined;
	readonly signal?: AbortSignal | undefined;
}

type UnifiedDiff =
	/** A replaced line counts once: each change counts the larger of its removed and added lines. */
	| { kind: "diff"; text: string; changedLines: number }
	/** The caller serves the plain text instead, and counts the reason. */
	| { kind: "not_useful"; reason: "identical" | "too_large" | "verification_failed" };

export function unifiedDiff(input: UnifiedDiffInput): Promise<UnifiedDiff> {
	return runInSlices(unifiedSteps(input), input.signal);
}

function* unifiedSteps(input: UnifiedDiffInput): Steps<UnifiedDiff> {
	if (input.base === input.current) return notUseful("identical");
	const base = yield* splitLines(input.base);
	const lines = { base, current: yield* splitLines(input.current) };
	const few = yield* fewEdits(lines);
	if (few) return yield* describeChanges(few, lines, input);
	const interned = yield* internLines(lines);
	// Each changed line takes a row: a sign, at least one byte per character, and a newline.
	const least = yield* leastChangedLength(interned, 2);
	if (least > input.maxBytes) return notUseful("too_large");
	const changes = yield* diffInterned(interned, input.budget);
	return yield* describeChanges(changes, lines, input);
}

/** Wrong changes result in "verification_failed", never in a wrong diff. */
export function* describeChanges(
	changes: Change[],
	lines: Sides,
	input: UnifiedDiffInput,
): Steps<UnifiedDiff> {
	const hunks = groupChanges(changes, input.contextLines ?? 3, lines.base.length);
	const text = yield* formatHunks(hunks, lines, input);
	if (text === undefined) return notUseful("too_large");
	if (!(yield* isExact(input, text))) return notUseful("verification_failed");
	const sizes = changes.map(({ baseCount, currentCount }) => Math.max(baseCount, currentCount));
	return { kind: "diff", text, changedLines: sizes.reduce((sum, size) => sum + size, 0) };
}

function notUseful(reason: (UnifiedDiff & { kind: "not_useful" })["reason"]): UnifiedDiff {
	return { kind: "not_useful", reason };
}

interface Hunk extends Gap {
	readonly changes: Change[];
}

function groupChanges(changes: Change[], context: number, baseLines: number): Hunk[] {
	const hunks: Hunk[] = [];
	for (const change of changes) {
		const before = Math.min(context, change.baseStart);
		const baseEnd = change.baseStart + change.baseCount;
		const currentEnd = change.currentStart + change.currentCount;
		// Lines after a change are equal on both sides up to the next change.
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
	lines: Sides,
	input: { path: string; maxBytes: number },
): Steps<string | undefined> {
	const path = escaped(input.path, /[\p{Cc}\p{Zl}\p{Zp}]/gu);
	const rows = [`--- a/${path}`, `+++ b/${path}`];
	let bytes = 2 + Buffer.byteLength(rows.join(""));
	let units = 0;
	for (const hunk of hunks) {
		for (const row of hunkRows(hunk, lines)) {
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

function* hunkRows(hunk: Hunk, { base, current }: Sides): Generator<string> {
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

/** If a side is empty, its start is the line before it, as all tools expect. */
function side(start: number, end: number): string {
	return `${end > start ? start + 1 : start},${end - start}`;
}

function* isExact(input: UnifiedDiffInput, text: string): Steps<boolean> {
	try {
		return (yield* applySteps(input.base, text)) === input.current;
	} catch {
		// An error here is a bug of ours. The caller counts it and serves the plain text.
		return false;
	}
}

/** Applies a diff exactly, without fuzz or offsets. Throws if the diff is malformed or does not fit. */
export function applyUnified(base: string, diffText: string): string {
	return runAtOnce(applySteps(base, diffText));
}

function* applySteps(base: string, diffText: string): Steps<string> {
	const rows = createRows(diffText);
	if (!rows.next().startsWith("--- ")) throw rows.error('should begin with "--- "');
	if (!rows.next().startsWith("+++ ")) throw rows.error('should begin with "+++ "');

	const output: string[] = [];
	let ended = false; // a line without newline was written, so nothing may follow
	const write = (text: string) => {
		if (ended && text !== "") throw rows.error("adds text after a line without newline");
		output.push(text);
	};
	let at = 0; // next character of the base
	let baseLine = 0;
	let currentLine = 0;
	let units = 0;
	do {
		const hunk = parseHunkHeader(rows);
		const from = at;
		for (; baseLine < hunk.baseStart; baseLine++, currentLine++) {
			const end = base.indexOf("\n", at);
			if (end === -1) throw rows.error(`starts after the last line, ${baseLine}, of the base`);
			at = end + 1;
			if (baseLine % 4096 === 4095) yield 4096 * 12;
		}
		if (baseLine !== hunk.baseStart) throw rows.error("overlaps the previous hunk");
		if (currentLine !== hunk.currentStart) throw rows.error("has a wrong start for the new lines");
		write(base.slice(from, at));

		let toRemove = hunk.baseCount;
		let toAdd = hunk.currentCount;
		while (toRemove > 0 || toAdd > 0) {
			const row = rows.next();
			const sign = row[0];
			if (sign !== " " && sign !== "-" && sign !== "+") {
				throw rows.error('should begin with " ", "-" or "+"');
			}
			const terminated = !rows.skipNote();
			if (!terminated && row.length === 2) throw rows.error("is an empty line without newline");
			const line = terminated ? row.slice(1) : row.slice(1, -1);
			if (sign !== "+") {
				const fits = base.startsWith(line, at) && (terminated || at + line.length === base.length);
				if (!fits) throw rows.error(`differs from line ${baseLine + 1} of the base`);
				at += line.length;
				baseLine++;
				toRemove--;
			}
			if (sign !== "-") {
				write(line);
				ended = !terminated;
				currentLine++;
				toAdd--;
			}
			if (toRemove < 0 || toAdd < 0) throw rows.error("exceeds the line counts in its hunk header");
			units += 100 + (line.length >> 1);
			if (units < 50_000) continue;
			yield units;
			units = 0;
		}
	} while (!rows.done());
	write(base.slice(at));
	yield base.length >> 3;
	return output.join("");
}

function createRows(diffText: string) {
	let at = 0;
	let row = 0;
	const error = (problem: string) => new Error(`Row ${row} of the diff ${problem}`);
	return {
		error,
		done: () => at === diffText.length,
		next(): string {
			row++;
			const end = diffText.indexOf("\n", at);
			if (end === -1) throw error("is missing or cut off");
			const text = diffText.slice(at, end + 1);
			at = end + 1;
			return text;
		},
		skipNote(): boolean {
			if (diffText[at] !== "\\") return false;
			if (!diffText.startsWith(`${NO_FINAL_NEWLINE}\n`, at)) return false;
			row++;
			at += NO_FINAL_NEWLINE.length + 1;
			return true;
		},
	};
}

function parseHunkHeader(rows: ReturnType<typeof createRows>) {
	const match = /^@@ -(\d+),(\d+) \+(\d+),(\d+) @@\n$/.exec(rows.next());
	if (!match) throw rows.error('should be a hunk header like "@@ -1,3 +1,4 @@"');
	const [, baseStart = 0, baseCount = 0, currentStart = 0, currentCount = 0] = match.map(Number);
	if (baseCount + currentCount === 0) throw rows.error("starts an empty hunk");
	if ((baseCount > 0 && baseStart === 0) || (currentCount > 0 && currentStart === 0)) {
		throw rows.error("counts lines from 0");
	}
	// Returned starts count the lines before the hunk. The start of an empty side already does.
	return {
		baseStart: baseCount === 0 ? baseStart : baseStart - 1,
		baseCount,
		currentStart: currentCount === 0 ? currentStart : currentStart - 1,
		currentCount,
	};
}
