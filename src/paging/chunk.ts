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

/** Clusters of up to this many UTF-16 units are never cut: longer than any emoji family or stacked syllable in use. */
export const longestCluster = 64;

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

/** Where the fenced code blocks of a text are. */
interface Fences {
	/** Whether a cut here would go through a code block: behind its opening line and before the end of its closing one. */
	encloses(at: number): boolean;
}

/**
 * Finds the fenced code blocks of a markdown text, also in quotes and list items. An opening line that nothing
 * closes opens nothing, so one stray fence does not turn the rest of a plain text into code.
 *
 * Linear, and quick because it jumps from fence to fence: 10 MB of markdown with 30,000 fence lines take about 10 ms.
 */
export function findFences(text: string): Fences {
	const opens: number[] = [];
	const closes: number[] = [];
	let open: FenceLine | undefined;
	for (const line of fenceLines(text)) {
		if (!open) {
			if (line.mayOpen) open = line;
		} else if (line.mayClose && line.mark === open.mark && line.length >= open.length) {
			opens.push(open.start);
			closes.push(line.end);
			open = undefined;
		}
	}
	return {
		encloses(at) {
			const block = countBelow(opens, at) - 1;
			return block >= 0 && at < (closes[block] as number);
		},
	};
}

/**
 * More lines with fence marks than this are not examined; code behind them is cut like text. No document has them, and
 * a hostile one could stall its caller: so the scan of 10 MB stays below some 30 ms.
 */
const maxExaminedLines = 50_000;

type FenceLine = {
	/** Where the line begins, and where the next one does. */
	start: number;
	end: number;
	mark: string;
	length: number;
	mayOpen: boolean;
	mayClose: boolean;
};

function* fenceLines(text: string): Generator<FenceLine> {
	let backticks = text.indexOf("```");
	let tildes = text.indexOf("~~~");
	for (let examined = 0; examined < maxExaminedLines; examined++) {
		const at = backticks < 0 || (tildes >= 0 && tildes < backticks) ? tildes : backticks;
		if (at < 0) return;
		const newline = text.indexOf("\n", at);
		const end = newline < 0 ? text.length : newline + 1;
		const line = fenceLine(text, at, end);
		if (line) yield line;
		// On to the next line, so that a line of a million fences is looked at once.
		if (backticks >= 0 && backticks < end) backticks = text.indexOf("```", end);
		if (tildes >= 0 && tildes < end) tildes = text.indexOf("~~~", end);
	}
}

/** What may stand before a fence: indentation, quote marks, one list marker. */
const prefix = /^[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?$/;
/** A longer prefix is no fence's; this keeps the pattern from running over a huge line. */
const maxPrefix = 64;

/** The line that ends at `end` and has its first three fence marks at `at`, if it is one of a fence. */
function fenceLine(text: string, at: number, end: number): FenceLine | undefined {
	const start = text.lastIndexOf("\n", at) + 1;
	if (at - start > maxPrefix || !prefix.test(text.slice(start, at))) return undefined;
	const mark = text.charAt(at);
	let behind = at + 3;
	while (text.charAt(behind) === mark) behind++;
	const info = text.slice(behind, end);
	return {
		start,
		end,
		mark,
		length: behind - at,
		// "```like this```" on one line is code within a sentence.
		mayOpen: mark === "~" || !info.includes("`"),
		mayClose: info.trim() === "",
	};
}

/** How many of the ascending numbers are smaller. */
function countBelow(numbers: readonly number[], bound: number): number {
	let low = 0;
	let high = numbers.length;
	while (low < high) {
		const middle = (low + high) >> 1;
		if ((numbers[middle] as number) < bound) low = middle + 1;
		else high = middle;
	}
	return low;
}

/**
 * The last place in `(floor, at]` where no grapheme cluster of up to {@link longestCluster} units is cut. `floor` must
 * be 0 or an earlier result, and at least that many units before `at`.
 *
 * Looks at some 64 units whatever the size of the text; only a row of flags is followed further, to where it begins.
 */
export function clusterBoundary(text: string, floor: number, at: number): number {
	return boundaryBefore(text, floor, at) ?? placeWithin(text, at);
}

/** Whether this is a boundary between two clusters; `floor` as above, but at any distance. */
export function isClusterBoundary(text: string, floor: number, at: number): boolean {
	return boundaryBefore(text, floor, at) === at;
}

/** Whether a cut here would go between the two halves of one character. */
export function splitsPair(text: string, at: number): boolean {
	return at > 0 && isHigh(text.charCodeAt(at - 1)) && isLow(text.charCodeAt(at));
}

const segmenter = new Intl.Segmenter("und", { granularity: "grapheme" });

/** The last boundary in `(floor, at]`, if a cluster that reaches over `at` is not overlong. */
function boundaryBefore(text: string, floor: number, at: number): number | undefined {
	const anchor = anchorAt(text, floor, Math.max(floor, at - longestCluster));
	// Whether there is a boundary depends on what is before it and the one code point after it: hence the two units.
	const tail = text.slice(anchor, at + 2);
	const found = segmenter.segment(tail).containing(at - anchor)?.index ?? 0;
	return found > 0 ? anchor + found : undefined;
}

/** A place in an overlong cluster: not within a character, nor within a flag, lest all that follow are cut in half. */
function placeWithin(text: string, at: number): number {
	const place = splitsPair(text, at) ? at - 1 : at;
	const splitsFlag = isFlagLetter(text, place) && isFlagLetter(text, place - 2);
	return splitsFlag ? place - 2 : place;
}

/** Flags are pairs of these letters: only their number from the beginning of the row tells which belong together. */
function isFlagLetter(text: string, at: number): boolean {
	const low = text.charCodeAt(at + 1);
	return text.charCodeAt(at) === 0xd83c && low >= 0xdde6 && low <= 0xddff;
}

/**
 * The last place up to `at` from which segmenting may begin. Anywhere else the rules of Unicode (UAX #29) look back
 * within one cluster only: begun in its middle, segmenting can go wrong up to the end of that cluster, which reaches
 * over the place asked for only if it is overlong.
 */
function anchorAt(text: string, floor: number, at: number): number {
	let anchor = splitsPair(text, at) ? at - 1 : at;
	while (anchor > floor && isFlagLetter(text, anchor)) {
		anchor -= splitsPair(text, anchor - 1) ? 2 : 1;
	}
	return Math.max(anchor, floor);
}

const isHigh = (unit: number) => unit >= 0xd800 && unit <= 0xdbff;
const isLow = (unit: number) => unit >= 0xdc00 && unit <= 0xdfff;
