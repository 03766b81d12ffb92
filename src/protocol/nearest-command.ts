import { commandTypes } from "./command-table.ts";

/** More slips than this, and it is another word. */
const MAX_SLIPS = 3;

/** The command that was probably meant; `undefined` when none is close. */
export function nearestCommand(word: string): string | undefined {
	let best: string | undefined;
	// At least half of the word must stay.
	let fewest = Math.min(MAX_SLIPS, Math.floor(word.length / 2)) + 1;
	for (const type of commandTypes) {
		// Also keeps a word of a million letters from costing anything.
		if (Math.abs(type.length - word.length) >= fewest) continue;
		const slips = slipsBetween(word, type);
		if (slips < fewest) [best, fewest] = [type, slips];
	}
	return best;
}

/** How many letters must be put in, taken out or replaced, or neighbours swapped, to get from one word to the other. */
function slipsBetween(from: string, to: string): number {
	const table: number[][] = [Array.from({ length: to.length + 1 }, (_, column) => column)];
	const at = (row: number, column: number) => table[row]?.[column] as number;
	for (let row = 1; row <= from.length; row++) {
		table.push([row]);
		for (let column = 1; column <= to.length; column++) {
			const isSame = from[row - 1] === to[column - 1];
			let slips = Math.min(
				at(row - 1, column) + 1,
				at(row, column - 1) + 1,
				at(row - 1, column - 1) + (isSame ? 0 : 1),
			);
			if (from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1]) {
				slips = Math.min(slips, at(row - 2, column - 2) + 1);
			}
			table[row]?.push(slips);
		}
	}
	return at(from.length, to.length);
}
