/** The part of two interned texts that is being compared, and what it offers to hold on to. */
import type { Steps } from "./slices.ts";

/** Lines `baseStart … baseEnd - 1` of `base` against lines `currentStart … currentEnd - 1` of `current`. */
export interface Gap {
	base: Int32Array;
	current: Int32Array;
	baseStart: number;
	baseEnd: number;
	currentStart: number;
	currentEnd: number;
}

/** Takes note of two equal lines, by their indices in base and current. */
export type Keep = (x: number, y: number) => void;

/**
 * What `surveyGap` finds. Anchors, in order, as places in base and current; or else the lines that occur on
 * both sides, with their places: `base[i]` is line `baseAt[i]` of the base.
 */
export type Survey =
	| { kind: "nothing" }
	| { kind: "anchors"; baseAt: number[]; currentAt: number[] }
	| {
			kind: "common";
			base: Int32Array;
			baseAt: number[];
			current: Int32Array;
			currentAt: number[];
	  };

/** Keeps equal lines at the start and the end and narrows the gap to the rest. Returns how many it kept. */
export function trimGap(gap: Gap, keep: Keep): number {
	const { base, current } = gap;
	let { baseStart, baseEnd, currentStart, currentEnd } = gap;
	while (
		baseStart < baseEnd &&
		currentStart < currentEnd &&
		base[baseStart] === current[currentStart]
	) {
		keep(baseStart++, currentStart++);
	}
	while (
		baseStart < baseEnd &&
		currentStart < currentEnd &&
		base[baseEnd - 1] === current[currentEnd - 1]
	) {
		keep(--baseEnd, --currentEnd);
	}
	const kept = gap.baseEnd - gap.baseStart - (baseEnd - baseStart);
	gap.baseStart = baseStart;
	gap.baseEnd = baseEnd;
	gap.currentStart = currentStart;
	gap.currentEnd = currentEnd;
	return kept;
}

/** True if one side has no lines, so that nothing is left to compare. */
export function isOneSided(gap: Gap): boolean {
	return gap.baseStart === gap.baseEnd || gap.currentStart === gap.currentEnd;
}

/** Room for `surveyGap` to count in, to be made once for all gaps of a text. */
export interface Counts {
	/** Per distinct line: how often it occurs in the gap at hand. All 0 between two gaps. */
	inBase: Int32Array;
	inCurrent: Int32Array;
	/** Per distinct line: its last place in the base. */
	baseAt: Int32Array;
}

/** Counts for lines numbered from 0 to `distinct - 1`. */
export function createCounts(distinct: number): Counts {
	return {
		inBase: new Int32Array(distinct),
		inCurrent: new Int32Array(distinct),
		baseAt: new Int32Array(distinct),
	};
}

/** The anchors of a gap: lines that occur once on both sides. Without any, all lines that occur on both. */
export function* surveyGap(gap: Gap, counts: Counts): Steps<Survey> {
	const units = 3 * (gap.baseEnd - gap.baseStart + gap.currentEnd - gap.currentStart);
	countLines(gap, counts);
	yield units;
	const currentAt = placesInBoth(gap.current, gap.currentStart, gap.currentEnd, counts.inBase);
	yield units;
	let survey: Survey = { kind: "nothing" };
	if (currentAt.length > 0) {
		const unique = uniquePlaces(gap, currentAt, counts);
		survey =
			unique.length > 0
				? yield* longestOrderedRun(gap, unique, counts)
				: commonLines(gap, currentAt, counts);
		yield units;
	}
	clearCounts(gap, counts);
	yield units;
	return survey;
}

function countLines(gap: Gap, { inBase, inCurrent, baseAt }: Counts): void {
	for (let x = gap.baseStart; x < gap.baseEnd; x++) {
		const id = gap.base[x] as number;
		inBase[id] = (inBase[id] as number) + 1;
		baseAt[id] = x;
	}
	for (let y = gap.currentStart; y < gap.currentEnd; y++) {
		const id = gap.current[y] as number;
		inCurrent[id] = (inCurrent[id] as number) + 1;
	}
}

function placesInBoth(lines: Int32Array, start: number, end: number, onOtherSide: Int32Array) {
	const places: number[] = [];
	for (let i = start; i < end; i++) {
		if (onOtherSide[lines[i] as number] !== 0) places.push(i);
	}
	return places;
}

function uniquePlaces(gap: Gap, currentAt: number[], { inBase, inCurrent }: Counts): number[] {
	const places: number[] = [];
	for (let i = 0; i < currentAt.length; i++) {
		const y = currentAt[i] as number;
		const id = gap.current[y] as number;
		if (inBase[id] === 1 && inCurrent[id] === 1) places.push(y);
	}
	return places;
}

/**
 * As many of the lines at `places` as stand in the same order in the base: a longest increasing
 * subsequence of their base indices, found with one candidate per length.
 */
function* longestOrderedRun(gap: Gap, places: number[], counts: Counts): Steps<Survey> {
	const xs = new Int32Array(places.length);
	// ends[n] is the place whose run of n + 1 ends with the smallest x; before[i] leads back along a run.
	const ends: number[] = [];
	const before = new Int32Array(places.length);
	for (let i = 0; i < places.length; i++) {
		const x = counts.baseAt[gap.current[places[i] as number] as number] as number;
		xs[i] = x;
		const length = runsBelow(xs, ends, x);
		before[i] = length === 0 ? -1 : (ends[length - 1] as number);
		ends[length] = i;
		if (i % 2048 === 2047) yield 2048 * 20;
	}
	const baseAt = new Array<number>(ends.length);
	const currentAt = new Array<number>(ends.length);
	let i = ends.at(-1) as number;
	for (let n = ends.length - 1; n >= 0; n--) {
		baseAt[n] = xs[i] as number;
		currentAt[n] = places[i] as number;
		i = before[i] as number;
	}
	return { kind: "anchors", baseAt, currentAt };
}

/** How many of the runs, ordered by their last x, end below `x`. */
function runsBelow(xs: Int32Array, ends: number[], x: number): number {
	let low = 0;
	let high = ends.length;
	// Edits leave most lines in order: the longest run is the likely answer.
	if (high > 0 && (xs[ends[high - 1] as number] as number) < x) return high;
	while (low < high) {
		const middle = (low + high) >> 1;
		if ((xs[ends[middle] as number] as number) < x) low = middle + 1;
		else high = middle;
	}
	return low;
}

/**
 * The lines that occur on the other side too. The rest cannot be matched, and without it two versions with
 * little in common are few edits apart instead of many.
 */
function commonLines(gap: Gap, currentAt: number[], { inCurrent }: Counts): Survey {
	const baseAt = placesInBoth(gap.base, gap.baseStart, gap.baseEnd, inCurrent);
	const [base, current] = [linesAt(baseAt, gap.base), linesAt(currentAt, gap.current)];
	return { kind: "common", base, baseAt, current, currentAt };
}

function linesAt(places: number[], lines: Int32Array): Int32Array {
	const picked = new Int32Array(places.length);
	for (let i = 0; i < places.length; i++) picked[i] = lines[places[i] as number] as number;
	return picked;
}

function clearCounts(gap: Gap, { inBase, inCurrent }: Counts): void {
	for (let x = gap.baseStart; x < gap.baseEnd; x++) inBase[gap.base[x] as number] = 0;
	for (let y = gap.currentStart; y < gap.currentEnd; y++) inCurrent[gap.current[y] as number] = 0;
}
