const PIECE = /[A-Za-z]{1,10}|[0-9]{1,3}|[!-/:-@[-`{-~]{1,64}|[^\0-\x7f]{1,4}/g;

/**
 * A lower bound for the tokens of a text, counted up to `enough`. A tokenizer makes one token of many
 * spaces or dashes, so a text that is longer in characters may still be cheaper.
 */
export function leastPieces(text: string, enough: number): number {
	PIECE.lastIndex = 0;
	let pieces = 0;
	while (pieces < enough && PIECE.test(text)) pieces++;
	return pieces;
}
