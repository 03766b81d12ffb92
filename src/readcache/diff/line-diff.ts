/**
 * Which lines differ between two texts. Lines that occur once on both sides anchor the comparison
 * (patience diff), the gaps between anchors are compared the same way, and gaps without an anchor go to
 * Myers' algorithm. All of it within a budget of work, so that no input takes long: what the budget does
 * not cover counts as replaced, which is longer than needed but never wrong.
 */
import { createCounts, type Gap, isOneSided, type Keep, surveyGap, trimGap } from "./gap.ts";
import { type InternedLines, internLines } from "./interned-lines.ts";
import { type Budget, matchLines } from "./myers.ts";
import { runInSlices, type Steps } from "./slices.ts";

/**
 * `baseCount` lines of the base from index `baseStart` became `currentCount` lines of the current text from
 * index `currentStart`. Indices count from 0, at least one count is positive, and between two changes at
 * least one line is unchanged.
 */
export interface Change {
	baseStart: number;
	baseCount: number;
	currentStart: number;
	currentCount: number;
}

/** How much work a diff may take by default, in units of `Steps`: about 100 ms, which no ordinary edit takes. */
const DEFAULT_DIFF_BUDGET = 20_000_000;

/** Options of `diffLines`: `budget` is in units of `Steps`, an aborted `signal` makes it throw. */
export interface DiffLinesOptions {
	signal?: AbortSignal | undefined;
	budget?: number | undefined;
}

/** The changes from `base` to `current`, in order. Gives the event loop a turn every few milliseconds. */
export function diffLines(
	base: readonly string[],
	current: readonly string[],
	options: DiffLinesOptions = {},
): Promise<Change[]> {
	return runInSlices(diffSteps(base, current, options.budget), options.signal);
}

function* diffSteps(
	base: readonly string[],
	current: readonly string[],
	budget: number | undefined,
): Steps<Change[]> {
	return yield* diffInterned(yield* internLines(base, current), budget);
}

/** The changes between interned texts, with the indices of the whole texts. */
export function* diffInterned(
	lines: InternedLines,
	budget: number = DEFAULT_DIFF_BUDGET,
): Steps<Change[]> {
	const { base, current } = lines;
	const keptBase = new Uint8Array(base.length);
	const keptCurrent = new Uint8Array(current.length);
	const keep: Keep = (x, y) => {
		keptBase[x] = 1;
		keptCurrent[y] = 1;
	};
	const counts = createCounts(lines.distinct);
	const remaining: Budget = { left: budget };
	const gaps: Gap[] = [
		{
			base,
			current,
			baseStart: 0,
			baseEnd: base.length,
			currentStart: 0,
			currentEnd: current.length,
		},
	];
	// A list to work off instead of recursion: gaps can nest as deep as there are lines.
	for (let gap = gaps.pop(); gap && remaining.left > 0; gap = gaps.pop()) {
		trimGap(gap, keep);
		const size = gap.baseEnd - gap.baseStart + gap.currentEnd - gap.currentStart;
		remaining.left -= 100 + 12 * size;
		yield 100;
		if (isOneSided(gap)) continue;
		const survey = yield* surveyGap(gap, counts);
		if (survey.kind === "anchors") addGapsBetween(survey, gap, gaps, keep);
		if (survey.kind !== "common") continue;
		const { baseAt, currentAt } = survey;
		yield* matchLines(survey.base, survey.current, remaining, (x, y) =>
			keep(baseAt[x] as number, currentAt[y] as number),
		);
	}
	yield base.length + current.length;
	return collectChanges(keptBase, keptCurrent, lines.commonStart);
}

/** Keeps the anchors and adds to `gaps` what lies between them, where both sides have lines. */
function addGapsBetween(
	anchors: { baseAt: number[]; currentAt: number[] },
	gap: Gap,
	gaps: Gap[],
	keep: Keep,
): void {
	const { base, current } = gap;
	let { baseStart, currentStart } = gap;
	for (let i = 0; i <= anchors.baseAt.length; i++) {
		const baseEnd = anchors.baseAt[i] ?? gap.baseEnd;
		const currentEnd = anchors.currentAt[i] ?? gap.currentEnd;
		if (baseStart < baseEnd && currentStart < currentEnd) {
			gaps.push({ base, current, baseStart, baseEnd, currentStart, currentEnd });
		}
		if (i === anchors.baseAt.length) return;
		keep(baseEnd, currentEnd);
		baseStart = baseEnd + 1;
		currentStart = currentEnd + 1;
	}
}

function collectChanges(keptBase: Uint8Array, keptCurrent: Uint8Array, offset: number): Change[] {
	const changes: Change[] = [];
	let x = 0;
	let y = 0;
	while (x < keptBase.length || y < keptCurrent.length) {
		const [baseStart, currentStart] = [x, y];
		while (keptBase[x] === 0) x++;
		while (keptCurrent[y] === 0) y++;
		if (x > baseStart || y > currentStart) {
			changes.push({
				baseStart: baseStart + offset,
				baseCount: x - baseStart,
				currentStart: currentStart + offset,
				currentCount: y - currentStart,
			});
		}
		x++;
		y++;
	}
	return changes;
}
