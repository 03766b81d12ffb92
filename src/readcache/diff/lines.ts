import type { Steps } from "./slices.ts";

/** The row after a last line that has no newline. */
export const NO_FINAL_NEWLINE = "\\ No newline at end of file";

const LINES_PER_STEP = 2048;
// Costs per line, in units of `Steps`.
const UNITS_TO_SPLIT = 15;
const UNITS_TO_COMPARE = 8;
const UNITS_TO_INTERN = 40;

/**
 * Only "\n" separates lines: CR, U+0085, U+2028 and U+2029 stay in the line. A last line without newline
 * has `NO_FINAL_NEWLINE` as a second row, so it differs from a line with newline. Omits the empty line
 * that pi counts after a final newline.
 */
export function* splitLines(text: string): Steps<string[]> {
	const lines: string[] = [];
	let start = 0;
	let reported = 0;
	for (let end = text.indexOf("\n"); end !== -1; end = text.indexOf("\n", start)) {
		lines.push(text.slice(start, end));
		start = end + 1;
		if (lines.length % LINES_PER_STEP !== 0) continue;
		yield LINES_PER_STEP * UNITS_TO_SPLIT + ((start - reported) >> 3);
		reported = start;
	}
	if (start < text.length) lines.push(`${text.slice(start)}\n${NO_FINAL_NEWLINE}`);
	yield (lines.length % LINES_PER_STEP) * UNITS_TO_SPLIT + ((text.length - reported) >> 3);
	return lines;
}

export interface Sides {
	readonly base: readonly string[];
	readonly current: readonly string[];
}

/**
 * Two texts without their common prefix and suffix. Equal lines have equal numbers. `base[i]` is
 * line `i + commonStart`, likewise `current[i]`.
 */
export interface InternedLines {
	readonly base: Int32Array;
	readonly current: Int32Array;
	readonly commonStart: number;
	readonly texts: string[];
}

export function* internLines({ base, current }: Sides): Steps<InternedLines> {
	const shorter = Math.min(base.length, current.length);
	let start = 0;
	for (; start < shorter && base[start] === current[start]; start++) {
		if (start % LINES_PER_STEP === LINES_PER_STEP - 1) yield LINES_PER_STEP * UNITS_TO_COMPARE;
	}
	let end = 0;
	for (; end < shorter - start && base.at(-1 - end) === current.at(-1 - end); end++) {
		if (end % LINES_PER_STEP === LINES_PER_STEP - 1) yield LINES_PER_STEP * UNITS_TO_COMPARE;
	}
	const ids = new Map<string, number>();
	return {
		base: yield* interned(base.slice(start, base.length - end), ids),
		current: yield* interned(current.slice(start, current.length - end), ids),
		commonStart: start,
		texts: [...ids.keys()],
	};
}

function* interned(lines: readonly string[], ids: Map<string, number>): Steps<Int32Array> {
	const numbers = new Int32Array(lines.length);
	let units = 0;
	for (let i = 0; i < lines.length; i++) {
		const line = lines[i] as string;
		let id = ids.get(line);
		if (id === undefined) {
			id = ids.size;
			ids.set(line, id);
		}
		numbers[i] = id;
		units += UNITS_TO_INTERN + (line.length >> 1);
		if (units < 50_000) continue;
		yield units;
		units = 0;
	}
	yield units;
	return numbers;
}

/** A lower bound for the length of any diff, since surplus lines of a side must be removed or added. */
export function* leastChangedLength(lines: InternedLines, overhead: number): Steps<number> {
	const { base, current, texts } = lines;
	// Occurrences in the base minus occurrences in the current text.
	const surplus = new Int32Array(texts.length);
	for (const id of base) surplus[id] = (surplus[id] as number) + 1;
	yield base.length * 4;
	for (const id of current) surplus[id] = (surplus[id] as number) - 1;
	yield current.length * 4;
	let length = 0;
	for (let id = 0; id < texts.length; id++) {
		length += Math.abs(surplus[id] as number) * ((texts[id] as string).length + overhead);
	}
	yield texts.length * 4;
	return length;
}

/** Lines are 0-based. At least one count is positive. An unchanged line separates two changes. */
export interface Change {
	readonly baseStart: number;
	readonly baseCount: number;
	readonly currentStart: number;
	readonly currentCount: number;
}

/** Marks the lines found in both texts. All other lines have changed. */
export function createMatching(baseLength: number, currentLength: number) {
	const base = new Uint8Array(baseLength);
	const current = new Uint8Array(currentLength);
	return {
		match(x: number, y: number): void {
			base[x] = 1;
			current[y] = 1;
		},
		changes(offset: number): Change[] {
			const changes: Change[] = [];
			for (let x = 0, y = 0; x < base.length || y < current.length; x++, y++) {
				const [baseStart, currentStart] = [x, y];
				while (base[x] === 0) x++;
				while (current[y] === 0) y++;
				const [baseCount, currentCount] = [x - baseStart, y - currentStart];
				if (baseCount + currentCount === 0) continue;
				changes.push({
					baseStart: baseStart + offset,
					baseCount,
					currentStart: currentStart + offset,
					currentCount,
				});
			}
			return changes;
		},
	};
}
