import type { Position } from "../facts.ts";

/** Finds lines and columns of offsets. Lines end with "\n" only, as everywhere in this project. */
export interface Positions {
	/** How many lines the text has: what follows its last line break is one only if there is anything. */
	readonly lines: number;
	at(offset: number): Position;
	line(offset: number): number;
}

/** Prepares a text for {@link Positions}. */
export function positionsOf(source: string): Positions {
	const starts = [0];
	for (let at = source.indexOf("\n"); at !== -1; at = source.indexOf("\n", at + 1)) {
		starts.push(at + 1);
	}
	// Most questions are about a place on, or just after, the line of the one before.
	let last = 0;
	const find = (offset: number): number => {
		if (offset < start(last)) last = search(0, last, offset);
		else if (offset >= start(last + 1)) {
			last = offset < start(last + 2) ? last + 1 : search(last + 2, starts.length, offset);
		}
		return last;
	};
	const start = (line: number): number => starts[line] ?? Number.POSITIVE_INFINITY;
	const search = (from: number, to: number, offset: number): number => {
		let [low, high] = [from, to];
		while (high - low > 1) {
			const middle = (low + high) >> 1;
			if (start(middle) <= offset) low = middle;
			else high = middle;
		}
		return low;
	};
	return {
		lines: starts.at(-1) === source.length ? starts.length - 1 : starts.length,
		at: (offset) => {
			const line = find(offset);
			return [line + 1, offset - start(line) + 1];
		},
		line: (offset) => find(offset) + 1,
	};
}
