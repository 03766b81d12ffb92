/** Lines as numbers: equal lines get equal numbers, so that comparing them costs the same at any length. */
import type { Steps } from "./slices.ts";

const LINES_PER_STEP = 2048;
// Per line, in units of `Steps`.
const UNITS_TO_COMPARE = 8;
const UNITS_TO_INTERN = 40;

/**
 * Two texts between their common first and last lines, with one number for each distinct line.
 * `base[i]` stands for line `i + commonStart` of the base, and likewise for `current`.
 */
export interface InternedLines {
	base: Int32Array;
	current: Int32Array;
	commonStart: number;
	/** Numbers run from 0 to `distinct - 1`. */
	distinct: number;
}

/** Numbers the lines of both texts, leaving out what they have in common at start and end. */
export function* internLines(
	base: readonly string[],
	current: readonly string[],
): Steps<InternedLines> {
	const shorter = Math.min(base.length, current.length);
	let start = 0;
	for (; start < shorter && base[start] === current[start]; start++) {
		if (start % LINES_PER_STEP === LINES_PER_STEP - 1) yield LINES_PER_STEP * UNITS_TO_COMPARE;
	}
	let baseEnd = base.length;
	let currentEnd = current.length;
	for (; baseEnd > start && currentEnd > start; baseEnd--, currentEnd--) {
		if (base[baseEnd - 1] !== current[currentEnd - 1]) break;
		if (baseEnd % LINES_PER_STEP === 0) yield LINES_PER_STEP * UNITS_TO_COMPARE;
	}
	const ids = new Map<string, number>();
	return {
		base: yield* internRange(base, start, baseEnd, ids),
		current: yield* internRange(current, start, currentEnd, ids),
		commonStart: start,
		distinct: ids.size,
	};
}

/**
 * A lower bound for the characters of changed lines in any diff of the two texts: a line that occurs more
 * often on one side has to be removed or added as many times. `overhead` is added for each such line.
 */
export function* leastChangedLength(
	lines: InternedLines,
	base: readonly string[],
	current: readonly string[],
	overhead: number,
): Steps<number> {
	// How many more times a line occurs in the base than in the current text.
	const surplus = new Int32Array(lines.distinct);
	countInto(surplus, lines.base, 1);
	yield lines.base.length * 4;
	countInto(surplus, lines.current, -1);
	yield lines.current.length * 4;
	let length = 0;
	for (let i = 0; i < lines.base.length; i++) {
		const id = lines.base[i] as number;
		if ((surplus[id] as number) <= 0) continue;
		surplus[id] = (surplus[id] as number) - 1;
		length += (base[i + lines.commonStart] as string).length + overhead;
	}
	yield lines.base.length * 4;
	for (let i = 0; i < lines.current.length; i++) {
		const id = lines.current[i] as number;
		if ((surplus[id] as number) >= 0) continue;
		surplus[id] = (surplus[id] as number) + 1;
		length += (current[i + lines.commonStart] as string).length + overhead;
	}
	yield lines.current.length * 4;
	return length;
}

function countInto(counts: Int32Array, ids: Int32Array, amount: 1 | -1): void {
	for (let i = 0; i < ids.length; i++) {
		const id = ids[i] as number;
		counts[id] = (counts[id] as number) + amount;
	}
}

function* internRange(
	lines: readonly string[],
	start: number,
	end: number,
	ids: Map<string, number>,
): Steps<Int32Array> {
	const interned = new Int32Array(end - start);
	let units = 0;
	for (let i = start; i < end; i++) {
		const line = lines[i] as string;
		let id = ids.get(line);
		if (id === undefined) {
			id = ids.size;
			ids.set(line, id);
		}
		interned[i - start] = id;
		units += UNITS_TO_INTERN + (line.length >> 1);
		if (units < 50_000) continue;
		yield units;
		units = 0;
	}
	yield units;
	return interned;
}
