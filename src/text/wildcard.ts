/** `**` matches any number of items. A matcher matches exactly one item. */
export type Wildcard<Item> = "**" | ItemMatcher<Item>;

interface ItemMatcher<Item> {
	/** Minimum cost of one comparison, in steps. Default: 1. */
	readonly steps?: number;
	matches(item: Item, onStep?: OnStep): boolean;
}

export type OnStep = (steps: number) => void;

/** Uses no regular expression, so that hostile input costs at most pattern × items steps. */
export function matchesAll<Item>(
	pattern: readonly Wildcard<Item>[],
	items: readonly Item[],
	onStep?: OnStep,
): boolean {
	let wantedAt = 0;
	let itemAt = 0;
	// Backtracking to the last `**` is enough: retrying an earlier one cannot find a match.
	let starAt = -1;
	let takenUpTo = 0;
	while (itemAt < items.length) {
		const wanted = pattern[wantedAt];
		if (wanted !== "**") onStep?.(wanted?.steps ?? 1);
		if (wanted === "**") {
			starAt = wantedAt++;
			takenUpTo = itemAt;
		} else if (wanted?.matches(items[itemAt] as Item, onStep)) {
			wantedAt++;
			itemAt++;
		} else if (starAt >= 0) {
			wantedAt = starAt + 1;
			itemAt = ++takenUpTo;
		} else {
			return false;
		}
	}
	while (pattern[wantedAt] === "**") wantedAt++;
	return wantedAt === pattern.length;
}
