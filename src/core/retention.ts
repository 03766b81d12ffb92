/** Something kept on disk, by size and last use (ms since 1970). */
export type Kept = { readonly bytes: number; readonly usedMs: number };

/** How much may be kept, and for how long after its last use. */
export type RetentionLimits = {
	readonly maxBytes: number;
	readonly maxAgeMs: number;
	readonly nowMs: number;
};

/**
 * What was used less than this long ago stays (10 minutes): whoever stored it counts on it. Only a
 * store of more than twice its cap gives up even these.
 */
export const retentionGuardMs = 10 * 60_000;

/**
 * Chooses what has to go: everything unused for longer than `maxAgeMs`, then the least recently used
 * until the rest fits `maxBytes`.
 */
export function chooseExpired<Item extends Kept>(
	items: readonly Item[],
	{ maxBytes, maxAgeMs, nowMs }: RetentionLimits,
): Item[] {
	const isGuarded = (item: Item) => nowMs - item.usedMs < retentionGuardMs;
	const isTooOld = (item: Item) => nowMs - item.usedMs > maxAgeMs && !isGuarded(item);
	const expired = items.filter(isTooOld);
	const rest = items.filter((item) => !isTooOld(item));
	let bytes = rest.reduce((sum, item) => sum + item.bytes, 0);
	// Sorting a large store takes a moment, and most of the time there is room.
	if (bytes <= maxBytes) return expired;

	for (const item of rest.toSorted((a, b) => a.usedMs - b.usedMs)) {
		// Those used later are at least as well guarded: once one may stay, so may they.
		if (bytes <= (isGuarded(item) ? 2 * maxBytes : maxBytes)) break;
		bytes -= item.bytes;
		expired.push(item);
	}
	return expired;
}
