/** Myers' greedy diff ("An O(ND) Difference Algorithm and Its Variations", 1986), bounded. */
import { type Change, createMatching, type Sides } from "./lines.ts";
import type { Steps } from "./slices.ts";

/** Remaining work in units of `Steps`, shared by all parts of one diff. */
export interface Budget {
	left: number;
}

export type OnMatch = (x: number, y: number) => void;

/** Maximum edits per search. Up to it, results are minimal; beyond it, time grows with it × lines. */
const MAX_EDITS = 256;

/** Finds a longest common subsequence if there are few edits. Lines beyond the budget count as changed. */
export function* matchLines(lines: Sides, budget: Budget, onMatch: OnMatch): Steps<void> {
	let from = { x: 0, y: 0 };
	while (budget.left > 0 && from.x < lines.base.length && from.y < lines.current.length) {
		const path = yield* search(lines, { from, maxEdits: MAX_EDITS, budget });
		from = matchPath(path, onMatch);
	}
}

/** Maximum number of removed plus added lines. */
const FEW_EDITS = 64;

/** `undefined` above the limits. Skips interning, which takes longer than finding a few edits. */
export function* fewEdits(lines: Sides): Steps<Change[] | undefined> {
	const { base, current } = lines;
	const budget = { left: 3 * (base.length + current.length) + 34_000 };
	const path = yield* search(lines, { from: { x: 0, y: 0 }, maxEdits: FEW_EDITS, budget });
	if (!path.isComplete) return undefined;
	const matching = createMatching(base.length, current.length);
	matchPath(path, matching.match);
	return matching.changes(0);
}

export interface Point {
	readonly x: number;
	readonly y: number;
}

const UNREACHED = -1;

type Search = ReturnType<typeof startSearch>;

function startSearch({ base, current }: Sides, from: Point, maxEdits: number) {
	const origin = Math.min(maxEdits, base.length + current.length) + 1;
	return {
		base,
		current,
		from,
		origin,
		columns: base.length - from.x,
		rows: current.length - from.y,
		/** At `k + origin`: the furthest base line so far on diagonal k, where the base is k lines ahead. */
		reach: new Int32Array(2 * origin + 1).fill(UNREACHED),
		/** Item n is `reach` before the n-th edit. */
		before: [] as Int32Array[],
		diagonal: 0,
		isComplete: false,
	};
}

/** Finds the fewest edits, or the furthest path within the limits. */
function* search(
	lines: Sides,
	{ from, maxEdits, budget }: { from: Point; maxEdits: number; budget: Budget },
): Steps<Search> {
	const state = startSearch(lines, from, maxEdits);
	let unreported = 0;
	while (!state.isComplete && state.before.length < state.origin && budget.left > 0) {
		const units = advance(state);
		budget.left -= units;
		unreported += units;
		if (unreported < 50_000) continue;
		yield unreported;
		unreported = 0;
	}
	yield unreported;
	if (!state.isComplete) state.diagonal = furthestDiagonal(state);
	return state;
}

/** Allows one more edit. Returns the units of work. */
function advance(state: Search): number {
	const { base, current, from, columns, rows, reach, origin } = state;
	const edits = state.before.length;
	state.before.push(reach.slice());
	let units = 0;
	for (let k = -edits; k <= edits; k += 2) {
		const start =
			edits === 0
				? 0
				: Math.max(byRemoval(reach, origin + k, columns), byAddition(reach, origin + k, rows + k));
		if (start === UNREACHED) continue;
		const end = Math.min(columns, rows + k);
		let x = start;
		while (x < end && base[from.x + x] === current[from.y + x - k]) x++;
		reach[origin + k] = x;
		units += x - start + 12;
		if (x === columns && x - k === rows) {
			state.diagonal = k;
			state.isComplete = true;
			return units;
		}
	}
	return units;
}

function byRemoval(reach: Int32Array, diagonal: number, columns: number): number {
	const x = reach[diagonal - 1] as number;
	return x === UNREACHED || x === columns ? UNREACHED : x + 1;
}

function byAddition(reach: Int32Array, diagonal: number, end: number): number {
	const x = reach[diagonal + 1] as number;
	return x === UNREACHED || x > end ? UNREACHED : x;
}

function furthestDiagonal({ reach, origin, before }: Search): number {
	const edits = before.length - 1;
	const progress = (k: number) =>
		reach[origin + k] === UNREACHED ? -1 : 2 * (reach[origin + k] as number) - k;
	let best = -edits;
	for (let k = -edits; k <= edits; k += 2) if (progress(k) > progress(best)) best = k;
	return best;
}

function matchPath(state: Search, onMatch: OnMatch) {
	const { from, columns, rows, before, reach, origin } = state;
	let k = state.diagonal;
	let x = reach[origin + k] as number;
	const end = { x: from.x + x, y: from.y + x - k };
	for (let edits = before.length - 1; edits >= 0; edits--) {
		const row = before[edits] as Int32Array;
		const removed = byRemoval(row, origin + k, columns);
		const added = byAddition(row, origin + k, rows + k);
		const start = edits === 0 ? 0 : Math.max(removed, added);
		for (; x > start; x--) onMatch(from.x + x - 1, from.y + x - 1 - k);
		k += removed >= added ? -1 : 1;
		x = row[origin + k] as number;
	}
	return end;
}
