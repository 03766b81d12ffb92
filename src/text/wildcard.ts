/** One part of a pattern: `**` takes any number of items, anything else decides about one. */
export type Wildcard<Item> = "**" | ItemMatcher<Item>;

export interface ItemMatcher<Item> {
	/** What a comparison costs at least; 1 if absent. */
	readonly steps?: number;
	matches(item: Item, onStep?: OnStep): boolean;
}

/** Gets the steps of a comparison as they are taken. */
export type OnStep = (steps: number) => void;

/**
 * Whether all items match a pattern: names of a path, or characters of a name. The work is bounded by pattern times
 * items, however hostile they are: that is why it is not a regular expression.
 */
export function matchesAll<Item>(
	pattern: readonly Wildcard<Item>[],
	items: readonly Item[],
	onStep?: OnStep,
): boolean {
	let wantedAt = 0;
	let itemAt = 0;
	// Going back to the last star only is enough: an earlier one could take nothing that the last cannot.
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
