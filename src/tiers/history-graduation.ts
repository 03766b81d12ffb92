import type { Item } from "./item.ts";

/** What decides whether history may leave the active part. */
export interface HistoryTerms {
	/** The tokens of a cached block; 0 keeps all history active. */
	readonly targetTokens: number;
	/** Files or symbols change cached blocks in this request anyway. */
	readonly ripple: boolean;
}

/**
 * The keys of the history messages that graduate, of those that may, oldest first. With a ripple all of them, for their
 * blocks are rewritten anyway. Without one only when they exceed the target together, and then the newest that fit the
 * target stay, so that the next graduation is a long way off.
 */
export function graduatingHistory(
	eligible: readonly Item[],
	{ targetTokens, ripple }: HistoryTerms,
): string[] {
	if (targetTokens === 0) return [];
	const leaving = ripple ? eligible : eligible.slice(0, startOfNewest(eligible, targetTokens));
	return leaving.map(({ key }) => key);
}

/** Where the longest end of the list begins that fits into so many tokens: at 0 if all of it does. */
function startOfNewest(items: readonly Item[], tokens: number): number {
	let room = tokens;
	return (
		1 +
		items.findLastIndex((item) => {
			room -= item.tokens;
			return room < 0;
		})
	);
}
