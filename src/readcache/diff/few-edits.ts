/** The short way for what most edits are: a few lines in an otherwise equal text. */
import type { Change } from "./line-diff.ts";
import type { Steps } from "./slices.ts";

/** Removed plus added lines that count as few. */
const MAX_EDITS = 64;
const LINES_PER_STEP = 4096;
const UNITS_TO_COMPARE = 8; // per line, see `Steps`

/**
 * The fewest changes from `base` to `current`, or `undefined` if they take more than a few edits or more work than a
 * few passes over the lines. Lines are compared as they are: numbering them first, as the general algorithm does,
 * costs several times what finding a few edits does.
 *
 * Myers' greedy algorithm from the start: on diagonal k, where the base is k lines ahead, `reach[k + ORIGIN]` is the
 * furthest line of the base that can be arrived at with the edits made so far.
 */
export function* fewEdits(
	base: readonly string[],
	current: readonly string[],
): Steps<Change[] | undefined> {
	const size: Size = { base: base.length, current: current.length };
	const reach = new Int32Array(2 * MAX_EDITS + 3).fill(UNREACHED);
	const before: Int32Array[] = [];
	let left = 3 * (size.base + size.current) + 10_000;
	for (let edits = 0; edits <= MAX_EDITS; edits++) {
		before.push(reach.slice());
		for (let k = -edits; k <= edits; k += 2) {
			const start = edits === 0 ? 0 : Math.max(fromLeft(reach, k, size), fromAbove(reach, k, size));
			if (start === UNREACHED) continue;
			let x = start;
			while (x < size.base && x - k < size.current && base[x] === current[x - k]) {
				x++;
				if (x % LINES_PER_STEP === 0) yield LINES_PER_STEP * UNITS_TO_COMPARE;
			}
			reach[k + ORIGIN] = x;
			if (x === size.base && x - k === size.current) return traceBack(before, size);
			left -= x - start + 1;
			if (left < 0) return undefined;
		}
		yield (edits + 1) * UNITS_TO_COMPARE;
	}
	return undefined;
}

interface Size {
	base: number;
	current: number;
}

const ORIGIN = MAX_EDITS + 1;
const UNREACHED = -1;

/** Where one arrives on diagonal k by removing a line of the base. */
function fromLeft(reach: Int32Array, k: number, size: Size): number {
	const x = reach[k - 1 + ORIGIN] as number;
	return x === UNREACHED || x === size.base ? UNREACHED : x + 1;
}

/** Where one arrives on diagonal k by adding a line of the current text. */
function fromAbove(reach: Int32Array, k: number, size: Size): number {
	const x = reach[k + 1 + ORIGIN] as number;
	return x === UNREACHED || x - (k + 1) === size.current ? UNREACHED : x;
}

/** Goes back from the end, edit by edit; `before[n]` is what could be reached before the n-th edit. */
function traceBack(before: Int32Array[], size: Size): Change[] {
	const changes: Change[] = [];
	let k = size.base - size.current;
	for (let edits = before.length - 1; edits > 0; edits--) {
		const reach = before[edits] as Int32Array;
		const isRemoval = fromLeft(reach, k, size) >= fromAbove(reach, k, size);
		k += isRemoval ? -1 : 1;
		const x = reach[k + ORIGIN] as number;
		addBefore(changes, x, x - k, isRemoval);
	}
	return changes.reverse();
}

/** Adds an edit that lies before all others; edits with no equal line between them are one change. */
function addBefore(changes: Change[], baseStart: number, currentStart: number, isRemoval: boolean) {
	const [baseCount, currentCount] = isRemoval ? [1, 0] : [0, 1];
	const next = changes.at(-1);
	const touches =
		next?.baseStart === baseStart + baseCount && next.currentStart === currentStart + currentCount;
	if (!next || !touches) {
		changes.push({ baseStart, baseCount, currentStart, currentCount });
		return;
	}
	next.baseStart = baseStart;
	next.currentStart = currentStart;
	next.baseCount += baseCount;
	next.currentCount += currentCount;
}
