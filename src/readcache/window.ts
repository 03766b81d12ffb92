import type { Lines } from "../core/lines.ts";
import type { LineRange } from "./metadata.ts";

/** How much of a file pi's `read` shows at most in one answer. */
export interface WindowLimits {
	maxLines: number;
	maxBytes: number;
}

/** What pi's `read` would show of a range. */
export type Window =
	| { kind: "lines"; end: number; bytes: number; cutBy?: "lines" | "bytes" }
	/** The first line alone is over the limit: pi shows none of it. */
	| { kind: "nothing" };

/** Computes pi's truncation from the line index, without making the text. */
export function windowOf(lines: Lines, range: LineRange, limits: WindowLimits): Window {
	const { start, end } = range;
	const bytes = lines.size(start, end);
	// Pi does not count the empty "line" after a final newline.
	const countedEnd = end > start && lines.size(end, end) === 0 ? end - 1 : end;
	if (countedEnd - start + 1 <= limits.maxLines && bytes <= limits.maxBytes) {
		return { kind: "lines", end, bytes };
	}
	if (lines.size(start, start) > limits.maxBytes) return { kind: "nothing" };
	const lastByCount = Math.min(countedEnd, start + limits.maxLines - 1);
	if (lines.size(start, lastByCount) <= limits.maxBytes) {
		return {
			kind: "lines",
			end: lastByCount,
			bytes: lines.size(start, lastByCount),
			cutBy: "lines",
		};
	}
	let fits = start;
	for (let over = lastByCount; over - fits > 1; ) {
		const middle = (fits + over) >> 1;
		if (lines.size(start, middle) <= limits.maxBytes) fits = middle;
		else over = middle;
	}
	return { kind: "lines", end: fits, bytes: lines.size(start, fits), cutBy: "bytes" };
}

/** The line pi puts under a truncated answer. */
export function continuationLine(
	shown: LineRange,
	totalLines: number,
	cutBy: "lines" | "bytes",
	limits: WindowLimits,
): string {
	const limit = cutBy === "bytes" ? ` (${(limits.maxBytes / 1024).toFixed(1)}KB limit)` : "";
	return `[Showing lines ${shown.start}-${shown.end} of ${totalLines}${limit}. Use offset=${shown.end + 1} to continue.]`;
}
