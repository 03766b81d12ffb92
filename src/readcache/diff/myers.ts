/**
 * Longest common subsequence of two short or similar runs of interned lines: Myers' greedy algorithm from
 * both ends ("An O(ND) Difference Algorithm and Its Variations", 1986), with a ceiling on its cost.
 */
import { type Gap, isOneSided, type Keep, trimGap } from "./gap.ts";
import type { Steps } from "./slices.ts";

/** Work that may still be spent, in units of `Steps`; shared by all parts of one diff and counted down. */
export interface Budget {
	left: number;
}

/**
 * Edits looked for from each end before a run is cut at the best point reached. Results are minimal up to
 * twice as many edits; beyond that, time stays proportional to `MAX_EDITS` times the number of lines.
 */
const MAX_EDITS = 256;

/**
 * Calls `keep` for each pair of lines of a common subsequence, in no particular order.
 * What is left when the budget runs out is reported as not common.
 */
export function* matchLines(
	base: Int32Array,
	current: Int32Array,
	budget: Budget,
	keep: Keep,
): Steps<void> {
	const forward = createFrontier(base.length, current.length);
	const backward = createFrontier(base.length, current.length);
	const boxes: Gap[] = [
		{
			base,
			current,
			baseStart: 0,
			baseEnd: base.length,
			currentStart: 0,
			currentEnd: current.length,
		},
	];
	for (let box = boxes.pop(); box && budget.left > 0; box = boxes.pop()) {
		const units = 50 + trimGap(box, keep);
		budget.left -= units;
		yield units;
		if (isOneSided(box)) continue;
		const [x, y] = yield* splitBox(box, forward, backward, budget);
		boxes.push({ ...box, baseEnd: x, currentEnd: y }, { ...box, baseStart: x, currentStart: y });
	}
}

/**
 * How far one can get with a given number of edits in a box: a grid with a column for each line of the base
 * and a row for each line of the current text, whose first lines differ and whose last lines differ.
 * On diagonal k (columns minus rows walked from one corner) one gets `reach[k + origin]` columns far;
 * diagonals `low … high`, every second one, are those of the last step.
 */
interface Frontier {
	reach: Int32Array;
	origin: number;
	low: number;
	high: number;
	nextLow: number;
	nextHigh: number;
}

function createFrontier(columns: number, rows: number): Frontier {
	const reach = new Int32Array(columns + rows + 3);
	return { reach, origin: rows + 1, low: 0, high: 0, nextLow: 0, nextHigh: 0 };
}

/**
 * A point on a shortest way through the box: where the ways from both corners meet. If that takes too many
 * edits, the furthest point either reached. Never a corner, so both parts are smaller than the box.
 */
function* splitBox(
	box: Gap,
	forward: Frontier,
	backward: Frontier,
	budget: Budget,
): Steps<[number, number]> {
	const columns = box.baseEnd - box.baseStart;
	const rows = box.currentEnd - box.currentStart;
	// The ways meet in a forward row if the number of edits is odd, in a backward row if it is even.
	const odd = ((columns - rows) & 1) === 1;
	restart(forward);
	restart(backward);
	let meeting: [number, number] | undefined;
	let unreported = 0;
	for (let edits = 1; !meeting && edits <= MAX_EDITS && budget.left > 0; edits++) {
		let units = advance(forward, box, 1);
		if (odd) meeting = meetingPoint(forward, backward, box, 1);
		if (!meeting) units += advance(backward, box, -1);
		if (!odd) meeting = meetingPoint(backward, forward, box, -1);
		budget.left -= units;
		unreported += units;
		if (unreported < 50_000) continue;
		yield unreported;
		unreported = 0;
	}
	yield unreported;
	return meeting ?? furthestPoint(forward, backward, box);
}

function restart(frontier: Frontier): void {
	frontier.low = 0;
	frontier.high = 0;
	frontier.nextLow = -1;
	frontier.nextHigh = 1;
	frontier.reach[frontier.origin] = 0;
}

/**
 * Walks one edit further, from the first lines (`step` 1) or from the last ones (-1), and returns the units
 * of work. A diagonal that arrives at an edge of the box ends the search on its far side: from there only
 * the edge itself leads on, and this diagonal is ahead on it.
 */
function advance(frontier: Frontier, box: Gap, step: 1 | -1): number {
	const { base, current } = box;
	const { reach, origin, nextLow: low, nextHigh: high } = frontier;
	const columns = box.baseEnd - box.baseStart;
	const rows = box.currentEnd - box.currentStart;
	const firstColumn = step === 1 ? box.baseStart : box.baseEnd - 1;
	const firstRow = step === 1 ? box.currentStart : box.currentEnd - 1;
	// Beyond the row before there is nothing to come from; below an edge that was hit there is.
	if (low < frontier.low) reach[low - 1 + origin] = -1;
	if (high > frontier.high) reach[high + 1 + origin] = -1;
	let nextLow = low - 1;
	let units = 4;
	for (let k = low; k <= high; k += 2) {
		const across = (reach[k - 1 + origin] as number) + 1;
		const down = reach[k + 1 + origin] as number;
		const start = across > down ? across : down;
		let x = start;
		let y = x - k;
		while (
			x < columns &&
			y < rows &&
			base[firstColumn + step * x] === current[firstRow + step * y]
		) {
			x++;
			y++;
		}
		reach[k + origin] = x;
		units += x - start + 4;
		if (y === rows) nextLow = k + 1;
		if (x < columns) continue;
		setRow(frontier, low, k, nextLow, k - 1);
		return units;
	}
	setRow(frontier, low, high, nextLow, high + 1);
	return units;
}

function setRow(frontier: Frontier, low: number, high: number, nextLow: number, nextHigh: number) {
	frontier.low = low;
	frontier.high = high;
	frontier.nextLow = nextLow;
	frontier.nextHigh = nextHigh;
}

/** Where `mine`, walking in direction `step`, overlaps the other frontier, which comes from the other corner. */
function meetingPoint(mine: Frontier, other: Frontier, box: Gap, step: 1 | -1) {
	const columns = box.baseEnd - box.baseStart;
	const lastDiagonal = columns - (box.currentEnd - box.currentStart);
	const low = Math.max(mine.low, lastDiagonal - other.high);
	const high = Math.min(mine.high, lastDiagonal - other.low);
	// Both rows hold diagonals of the same parity here: see `odd`.
	for (let k = low; k <= high; k += 2) {
		if (reachOn(mine, k) + reachOn(other, lastDiagonal - k) >= columns) {
			return pointOn(k, mine, box, step);
		}
	}
	return undefined;
}

function furthestPoint(forward: Frontier, backward: Frontier, box: Gap): [number, number] {
	const ahead = furthestDiagonal(forward);
	const behind = furthestDiagonal(backward);
	return progress(forward, ahead) >= progress(backward, behind)
		? pointOn(ahead, forward, box, 1)
		: pointOn(behind, backward, box, -1);
}

function furthestDiagonal(frontier: Frontier): number {
	let best = frontier.low;
	for (let k = frontier.low; k <= frontier.high; k += 2) {
		if (progress(frontier, k) > progress(frontier, best)) best = k;
	}
	return best;
}

/** Lines walked on both sides. */
function progress(frontier: Frontier, diagonal: number): number {
	return 2 * reachOn(frontier, diagonal) - diagonal;
}

function reachOn(frontier: Frontier, diagonal: number): number {
	return frontier.reach[diagonal + frontier.origin] as number;
}

function pointOn(diagonal: number, frontier: Frontier, box: Gap, step: 1 | -1): [number, number] {
	const x = reachOn(frontier, diagonal);
	const y = x - diagonal;
	return step === 1
		? [box.baseStart + x, box.currentStart + y]
		: [box.baseEnd - x, box.currentEnd - y];
}
