/**
 * Line diff: patience diff (lines that are unique on both sides are anchors), and Myers' algorithm for
 * gaps without an anchor. A work budget bounds the time. Gaps beyond the budget count as replaced, which
 * makes the diff longer than needed but never wrong.
 */
import { type Change, createMatching, type InternedLines } from "./lines.ts";
import { type Budget, matchLines, type OnMatch, type Point } from "./myers.ts";
import type { Steps } from "./slices.ts";

/** In units of `Steps`; about 100 ms, which is more than any ordinary edit needs. */
const DEFAULT_BUDGET = 20_000_000;

export function* diffInterned(lines: InternedLines, budget = DEFAULT_BUDGET): Steps<Change[]> {
	const { base, current, texts } = lines;
	const matching = createMatching(base.length, current.length);
	const counts = createCounts(texts.length);
	const remaining: Budget = { left: budget };
	const gaps: Gap[] = [
		{ baseStart: 0, baseEnd: base.length, currentStart: 0, currentEnd: current.length },
	];
	// A work list instead of recursion, since gaps can nest as deep as there are lines.
	for (let gap = gaps.pop(); gap && remaining.left > 0; gap = gaps.pop()) {
		trimGap(lines, gap, matching.match);
		const size = gap.baseEnd - gap.baseStart + gap.currentEnd - gap.currentStart;
		remaining.left -= 100 + 12 * size;
		yield 100;
		if (!isTwoSided(gap)) continue;
		const { baseAt, currentAt, anchors } = commonLines(lines, gap, counts);
		yield 12 * size;
		if (anchors.length > 0) {
			addGapsBetween(yield* longestRun(anchors), gap, gaps, matching.match);
			continue;
		}
		const textsAt = (places: number[], ids: Int32Array) =>
			places.map((at) => texts[ids[at] as number] as string);
		const common = { base: textsAt(baseAt, base), current: textsAt(currentAt, current) };
		const onMatch: OnMatch = (x, y) => matching.match(baseAt[x] as number, currentAt[y] as number);
		yield* matchLines(common, remaining, onMatch);
	}
	yield base.length + current.length;
	return matching.changes(lines.commonStart);
}

/** Ends are exclusive. */
export interface Gap {
	baseStart: number;
	baseEnd: number;
	currentStart: number;
	currentEnd: number;
}

function isTwoSided({ baseStart, baseEnd, currentStart, currentEnd }: Gap): boolean {
	return baseStart < baseEnd && currentStart < currentEnd;
}

function trimGap({ base, current }: InternedLines, gap: Gap, onMatch: OnMatch): void {
	while (isTwoSided(gap) && base[gap.baseStart] === current[gap.currentStart])
		onMatch(gap.baseStart++, gap.currentStart++);
	while (isTwoSided(gap) && base[gap.baseEnd - 1] === current[gap.currentEnd - 1])
		onMatch(--gap.baseEnd, --gap.currentEnd);
}

/** For each distinct line: its counts in the current gap, which are reset after it, and its last position in the base. */
function createCounts(distinct: number) {
	const [inBase, inCurrent] = [new Int32Array(distinct), new Int32Array(distinct)];
	return { inBase, inCurrent, lastInBase: new Int32Array(distinct) };
}

/** Drops lines that only one side has. Anchors are unique on both sides, in the order of `y`. */
function commonLines(
	{ base, current }: InternedLines,
	{ baseStart, baseEnd, currentStart, currentEnd }: Gap,
	{ inBase, inCurrent, lastInBase }: ReturnType<typeof createCounts>,
) {
	const baseAt: number[] = [];
	const currentAt: number[] = [];
	const anchors: Point[] = [];
	for (let x = baseStart; x < baseEnd; x++) {
		const id = base[x] as number;
		inBase[id] = (inBase[id] as number) + 1;
		lastInBase[id] = x;
	}
	for (let y = currentStart; y < currentEnd; y++) {
		const id = current[y] as number;
		inCurrent[id] = (inCurrent[id] as number) + 1;
	}
	for (let x = baseStart; x < baseEnd; x++) if (inCurrent[base[x] as number] !== 0) baseAt.push(x);
	for (let y = currentStart; y < currentEnd; y++) {
		const id = current[y] as number;
		if (inBase[id] === 0) continue;
		currentAt.push(y);
		if (inBase[id] === 1 && inCurrent[id] === 1) anchors.push({ x: lastInBase[id] as number, y });
	}
	for (let x = baseStart; x < baseEnd; x++) inBase[base[x] as number] = 0;
	for (let y = currentStart; y < currentEnd; y++) inCurrent[current[y] as number] = 0;
	return { baseAt, currentAt, anchors };
}

/** A longest increasing subsequence of `x`, with one candidate per length. */
function* longestRun(anchors: Point[]): Steps<Point[]> {
	// ends[n]: the anchor with the smallest x that ends a run of n + 1. before[i]: the anchor before i.
	const ends: number[] = [];
	const before: number[] = [];
	const endOf = (run: number) => (anchors[ends[run] as number] as Point).x;
	for (const [i, { x }] of anchors.entries()) {
		let low = 0;
		let high = ends.length;
		// Tries the longest run first, since most lines stay in order.
		if (high > 0 && endOf(high - 1) < x) low = high;
		while (low < high) {
			const middle = (low + high) >> 1;
			if (endOf(middle) < x) low = middle + 1;
			else high = middle;
		}
		before.push(ends[low - 1] ?? -1);
		ends[low] = i;
		if (i % 2048 === 2047) yield 2048 * 20;
	}
	const run: Point[] = [];
	for (let i = ends.at(-1) ?? -1; i >= 0; i = before[i] as number) run.push(anchors[i] as Point);
	return run.reverse();
}

function addGapsBetween(anchors: Point[], gap: Gap, gaps: Gap[], onMatch: OnMatch): void {
	let { baseStart, currentStart } = gap;
	for (const { x, y } of anchors) {
		const between = { baseStart, baseEnd: x, currentStart, currentEnd: y };
		if (isTwoSided(between)) gaps.push(between);
		onMatch(x, y);
		baseStart = x + 1;
		currentStart = y + 1;
	}
	gaps.push({ ...gap, baseStart, currentStart });
}
