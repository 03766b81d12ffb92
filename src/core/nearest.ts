/**
 * The candidate that `word` was probably meant to be: fewest edits, at most two, the earlier one on a tie.
 * Undefined when none is close, or when so little of a short word would stay that the guess is noise.
 */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
	let best: string | undefined;
	let fewest = Math.min(MAX_EDITS, word.length - 1) + 1;
	for (const candidate of candidates) {
		// The length check also keeps an untrusted, megabyte-long key from costing anything.
		if (Math.abs(candidate.length - word.length) >= fewest) continue;
		const edits = editDistance(word, candidate);
		if (edits < fewest) [best, fewest] = [candidate, edits];
	}
	return best;
}

/** The most edits (insert, delete or replace one character) at which a word still counts as a slip of another. */
const MAX_EDITS = 2;

/** Levenshtein distance, one row of the table at a time. */
function editDistance(from: string, to: string): number {
	let row = Array.from({ length: to.length + 1 }, (_, column) => column);
	for (let i = 0; i < from.length; i++) {
		const next = [i + 1];
		for (let j = 0; j < to.length; j++) {
			const replaced = at(row, j) + (from[i] === to[j] ? 0 : 1);
			next.push(Math.min(replaced, at(row, j + 1) + 1, at(next, j) + 1));
		}
		row = next;
	}
	return at(row, to.length);
}

function at(row: number[], index: number): number {
	return row[index] as number;
}
