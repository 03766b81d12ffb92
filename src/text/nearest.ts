interface NearestOptions {
	/** Maximum number of edits. Default: 2, but fewer than the length of the word. */
	readonly maxEdits?: number;
	/** Whether two swapped neighbours count as one edit. Default: no. */
	readonly swaps?: boolean;
}

/** The candidate with the fewest edits, the first one on a tie. `undefined` if none is within `maxEdits`. */
export function nearest(
	word: string,
	candidates: Iterable<string>,
	{ maxEdits = Math.min(2, word.length - 1), swaps = false }: NearestOptions = {},
): string | undefined {
	let best: string | undefined;
	let fewest = maxEdits + 1;
	for (const candidate of candidates) {
		// The length check also keeps an untrusted key of a megabyte cheap.
		if (Math.abs(candidate.length - word.length) >= fewest) continue;
		const edits = editDistance(word, candidate, swaps);
		if (edits < fewest) [best, fewest] = [candidate, edits];
	}
	return best;
}

/** Levenshtein distance; with `swaps`, optimal string alignment. */
function editDistance(from: string, to: string, swaps: boolean): number {
	let older: number[] = [];
	let row = Array.from({ length: to.length + 1 }, (_, column) => column);
	const at = (cells: number[], index: number) => cells[index] as number;
	for (let i = 0; i < from.length; i++) {
		const next = [i + 1];
		for (let j = 0; j < to.length; j++) {
			const replaced = at(row, j) + (from[i] === to[j] ? 0 : 1);
			let edits = Math.min(replaced, at(row, j + 1) + 1, at(next, j) + 1);
			if (swaps && i > 0 && j > 0 && from[i] === to[j - 1] && from[i - 1] === to[j])
				edits = Math.min(edits, at(older, j - 1) + 1);
			next.push(edits);
		}
		[older, row] = [row, next];
	}
	return at(row, to.length);
}
