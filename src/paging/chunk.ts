import { type Fences, findFences } from "./fences.ts";
import { clusterBoundary, isClusterBoundary, longestCluster } from "./graphemes.ts";

/** Cuts one text into chunks. Create it once per text: it remembers where the code blocks are. */
export interface Chunker {
	/**
	 * Where the chunk that begins at `start` ends, at most `maxChars` UTF-16 units further; both positions count units.
	 * `start` is 0 or an earlier result below the length of the text, `maxChars` at least {@link minChunkChars}.
	 *
	 * The cut is the best boundary in the last quarter of the chunk: behind a blank line, before a row of a list or
	 * table (or a heading), behind a line, all these outside code; then behind a line of code, a sentence, a space; the
	 * last of its kind. Where there is none, between two grapheme clusters. A CRLF, a surrogate pair and a cluster of
	 * up to 64 units always stay whole.
	 */
	end(start: number, maxChars: number): number;
}

/** The smallest chunk: with less there may be no room for a single cluster. */
export const minChunkChars = longestCluster;

/** Makes a chunker. The text is scanned for code blocks by the first `end` that has to choose a place. */
export function createChunker(text: string): Chunker {
	let fences: Fences | undefined;
	return {
		end(start, maxChars) {
			if (!Number.isInteger(start) || start < 0 || start > text.length) {
				throw new RangeError(`start is ${start}, the text has ${text.length} characters`);
			}
			if (!Number.isInteger(maxChars) || maxChars < minChunkChars) {
				throw new RangeError(`maxChars is ${maxChars}, at least ${minChunkChars} are needed`);
			}
			const limit = start + maxChars;
			if (limit >= text.length) return text.length;
			fences ??= findFences(text);
			return bestBoundary(text, start, limit, fences) ?? clusterBoundary(text, start, limit);
		},
	};
}

/** How good a cut is, from worst to best. */
const rank = { none: 0, space: 1, sentence: 2, codeLine: 3, line: 4, row: 5, blankLine: 6 };

function bestBoundary(
	text: string,
	start: number,
	limit: number,
	fences: Fences,
): number | undefined {
	const floor = limit - Math.floor((limit - start) / 4);
	let best: number | undefined;
	let bestRank = rank.none;
	for (let at = limit; at > floor && bestRank < rank.blankLine; at--) {
		const found = rankOf(text, start, at, fences);
		if (found <= bestRank) continue;
		// A line feed ends its cluster; but a space can carry an accent.
		if (found < rank.codeLine && !isClusterBoundary(text, start, at)) continue;
		best = at;
		bestRank = found;
	}
	return best;
}

function rankOf(text: string, start: number, at: number, fences: Fences): number {
	const before = text.charAt(at - 1);
	if (before === "\n") {
		if (fences.encloses(at)) return rank.codeLine;
		if (isBlank(text, start, at - 1)) return rank.blankLine;
		rowStart.lastIndex = at;
		return rowStart.test(text) ? rank.row : rank.line;
	}
	const isSpace = spaces.includes(before);
	if (!isSpace && !sentenceMarks.includes(before)) return rank.none;
	// As far back as the pattern reaches.
	if (sentenceEnd.test(text.slice(Math.max(start, at - 12), at))) return rank.sentence;
	return isSpace ? rank.space : rank.none;
}

/** No-break spaces are none of these. */
const spaces = " \t\u3000";
/** The marks that end a sentence without a space behind them, and what may close behind them. */
const sentenceMarks = "。！？｡．\"'”’»）」』】)]";
const sentenceEnd =
	/(?:[.!?…]["'”’»)\]]{0,3}[ \t]{1,8}|[。！？｡．]["'”’»）」』】)\]]{0,3}\u3000?)$/;

/** A list item, a table row or a heading; not the dashes between a table's head and body, which belong together. */
const rowStart = /[ \t>]{0,64}(?:(?:[-*+]|\d{1,9}[.)]|#{1,6})[ \t]|\|(?![ \t]{0,64}:?-{2}))/y;

/** Whether the line that ends at `newline`, itself behind `start`, has nothing in it. */
function isBlank(text: string, start: number, newline: number): boolean {
	let at = newline - 1;
	while (at >= start && " \t\r".includes(text.charAt(at))) at--;
	return at >= start && text.charAt(at) === "\n";
}
