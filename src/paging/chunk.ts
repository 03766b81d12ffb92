/** Maximum grapheme cluster in UTF-16 units: longer than any in use (emoji families, stacked syllables). */
const MAX_CLUSTER = 64;
/** Minimum chunk size in UTF-16 units. A smaller chunk might not hold a single cluster. */
export const MIN_CHUNK_CHARS = MAX_CLUSTER;

/** Cuts one text into chunks. Create one per text, since it memoizes the text's code blocks. */
export class Chunker {
	readonly #text: string;
	#fences: Fences | undefined;

	constructor(text: string) {
		this.#text = text;
	}

	/**
	 * Returns the end of the chunk that begins at `start` (0 or an earlier end), in UTF-16 units: the last
	 * boundary of the best kind in the chunk's last quarter. From best to worst: blank line, row (list, table,
	 * heading) and line outside code; then code line, sentence, space, cluster. CRLF, surrogate pairs and
	 * clusters of up to 64 units stay whole. `maxChars` must be at least {@link MIN_CHUNK_CHARS}.
	 */
	end(start: number, maxChars: number): number {
		const text = this.#text;
		if (!Number.isInteger(start) || start < 0 || start > text.length) {
			throw new RangeError(`start must be an integer from 0 to ${text.length}, got ${start}`);
		}
		if (!Number.isInteger(maxChars) || maxChars < MIN_CHUNK_CHARS) {
			throw new RangeError(
				`maxChars must be an integer of at least ${MIN_CHUNK_CHARS}, got ${maxChars}`,
			);
		}
		const limit = start + maxChars;
		if (limit >= text.length) return text.length;
		this.#fences ??= findFences(text);
		const best = bestBoundary(text, start, limit, this.#fences);
		return best ?? boundaryBefore(text, start, limit) ?? cutInsideCluster(text, limit);
	}
}

/** Kinds of boundary, from worst to best. */
const RANK = { none: 0, space: 1, sentence: 2, codeLine: 3, line: 4, row: 5, blankLine: 6 };

function bestBoundary(text: string, start: number, limit: number, fences: Fences) {
	const floor = limit - Math.floor((limit - start) / 4);
	let best: number | undefined;
	let bestRank = RANK.none;
	for (let at = limit; at > floor && bestRank < RANK.blankLine; at--) {
		const found = rankOf(text, start, at, fences);
		if (found <= bestRank) continue;
		// Line ends need no check, since a line feed ends its cluster. A space may carry a combining accent.
		if (found < RANK.codeLine && !isClusterBoundary(text, start, at)) continue;
		best = at;
		bestRank = found;
	}
	return best;
}

function rankOf(text: string, start: number, at: number, fences: Fences): number {
	const before = text.charAt(at - 1);
	if (before === "\n") {
		if (fences.encloses(at)) return RANK.codeLine;
		if (isBlank(text, start, at - 1)) return RANK.blankLine;
		ROW_START.lastIndex = at;
		return ROW_START.test(text) ? RANK.row : RANK.line;
	}
	const isSpace = SPACES.includes(before);
	if (!isSpace && !SENTENCE_MARKS.includes(before)) return RANK.none;
	if (SENTENCE_END.test(text.slice(Math.max(start, at - 12), at))) return RANK.sentence;
	return isSpace ? RANK.space : RANK.none;
}

/** A chunk may end after these spaces, but not after a no-break space. */
const SPACES = " \t\u3000";
/** Marks that end a sentence without a following space, and quotes and brackets that may close it. */
const SENTENCE_MARKS = "。！？｡．\"'”’»）」』】)]";
const SENTENCE_END =
	/(?:[.!?…]["'”’»)\]]{0,3}[ \t]{1,8}|[。！？｡．]["'”’»）」』】)\]]{0,3}\u3000?)$/;

/** Matches the start of a list item, heading or table row. A delimiter row stays with its header. */
const ROW_START = /[ \t>]{0,64}(?:(?:[-*+]|\d{1,9}[.)]|#{1,6})[ \t]|\|(?![ \t]{0,64}:?-{2}))/y;

function isBlank(text: string, start: number, newline: number): boolean {
	let at = newline - 1;
	while (at >= start && " \t\r".includes(text.charAt(at))) at--;
	return at >= start && text.charAt(at) === "\n";
}

type Fences = ReturnType<typeof findFences>;

/**
 * Finds fenced code blocks, also in quotes and list items. An unclosed fence opens no block, since
 * a stray fence would turn the rest into code. Linear: about 10 ms for 10 MB with 30,000 fence lines.
 */
export function findFences(text: string) {
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
		/** True between the end of an opening fence line and the end of its closing fence line. */
		encloses(at: number): boolean {
			const block = countBelow(opens, at) - 1;
			return block >= 0 && at < (closes[block] as number);
		},
	};
}

/** Code after this many fence lines is cut like text. This keeps a scan of 10 hostile MB below 30 ms. */
const MAX_FENCE_LINES = 50_000;

type FenceLine = NonNullable<ReturnType<typeof fenceLine>>;

function* fenceLines(text: string): Generator<FenceLine> {
	let backticks = text.indexOf("```");
	let tildes = text.indexOf("~~~");
	for (let examined = 0; examined < MAX_FENCE_LINES; examined++) {
		const at = backticks < 0 || (tildes >= 0 && tildes < backticks) ? tildes : backticks;
		if (at < 0) return;
		const newline = text.indexOf("\n", at);
		const end = newline < 0 ? text.length : newline + 1;
		const line = fenceLine(text, at, end);
		if (line) yield line;
		// The search continues at the next line, so a line with a million fences is examined only once.
		if (backticks >= 0 && backticks < end) backticks = text.indexOf("```", end);
		if (tildes >= 0 && tildes < end) tildes = text.indexOf("~~~", end);
	}
}

const PREFIX = /^[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?$/;
/** Maximum number of characters before a fence on its line. Keeps `PREFIX` from scanning a huge line. */
const MAX_PREFIX = 64;

function fenceLine(text: string, at: number, end: number) {
	const start = text.lastIndexOf("\n", at) + 1;
	if (at - start > MAX_PREFIX || !PREFIX.test(text.slice(start, at))) return undefined;
	const mark = text.charAt(at);
	let behind = at + 3;
	while (text.charAt(behind) === mark) behind++;
	const info = text.slice(behind, end);
	return {
		start,
		end,
		mark,
		length: behind - at,
		// "```like this```" on one line is inline code.
		mayOpen: mark === "~" || !info.includes("`"),
		mayClose: info.trim() === "",
	};
}

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

/** `floor` must be 0 or an earlier cluster boundary. */
export function isClusterBoundary(text: string, floor: number, at: number): boolean {
	return boundaryBefore(text, floor, at) === at;
}

export function splitsPair(text: string, at: number): boolean {
	return at > 0 && isHigh(text.charCodeAt(at - 1)) && isLow(text.charCodeAt(at));
}

const segmenter = new Intl.Segmenter("und", { granularity: "grapheme" });

/**
 * Returns the last position in `(floor, at]` that splits no cluster, or `undefined` if the cluster at `at`
 * is longer than 64 units. Examines about 64 units, and a row of flags back to the row's beginning.
 */
function boundaryBefore(text: string, floor: number, at: number): number | undefined {
	const anchor = anchorAt(text, floor, Math.max(floor, at - MAX_CLUSTER));
	// A boundary depends on the text before it and on one code point (up to two units) after it.
	const tail = text.slice(anchor, at + 2);
	const found = segmenter.segment(tail).containing(at - anchor)?.index ?? 0;
	return found > 0 ? anchor + found : undefined;
}

/** Never splits a surrogate pair or a flag. Splitting a flag would also break the flags after it. */
function cutInsideCluster(text: string, at: number): number {
	const place = splitsPair(text, at) ? at - 1 : at;
	const splitsFlag = isFlagLetter(text, place) && isFlagLetter(text, place - 2);
	return splitsFlag ? place - 2 : place;
}

/** A flag is a pair of flag letters. In a row of flags, pairs are counted from the row's beginning. */
function isFlagLetter(text: string, at: number): boolean {
	const low = text.charCodeAt(at + 1);
	return text.charCodeAt(at) === 0xd83c && low >= 0xdde6 && low <= 0xddff;
}

// Returns the last position up to `at` where segmentation may begin. Except for flags, UAX #29 looks back
// only within one cluster. So starting inside a cluster gives wrong boundaries only up to the end of that
// cluster, which reaches the queried position only if the cluster is longer than 64 units.
function anchorAt(text: string, floor: number, at: number): number {
	let anchor = splitsPair(text, at) ? at - 1 : at;
	while (anchor > floor && isFlagLetter(text, anchor)) {
		anchor -= splitsPair(text, anchor - 1) ? 2 : 1;
	}
	return Math.max(anchor, floor);
}

const isHigh = (unit: number) => unit >= 0xd800 && unit <= 0xdbff;
const isLow = (unit: number) => unit >= 0xdc00 && unit <= 0xdfff;
