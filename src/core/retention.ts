export type Evictable = { readonly bytes: number; readonly usedMs: number };

/** An item used within this time is not evicted, unless the store exceeds twice its cap. */
export const RETENTION_GUARD_MS = 10 * 60_000;

/** Chooses items unused for over `maxAgeMs`, then the least recently used above `maxBytes`. */
export function chooseEvicted<Item extends Evictable>(
	items: readonly Item[],
	{ maxBytes, maxAgeMs, nowMs }: { maxBytes: number; maxAgeMs: number; nowMs: number },
): Item[] {
	const isGuarded = (item: Item) => nowMs - item.usedMs < RETENTION_GUARD_MS;
	const isTooOld = (item: Item) => nowMs - item.usedMs > maxAgeMs && !isGuarded(item);
	const evicted = items.filter(isTooOld);
	const rest = items.filter((item) => !isTooOld(item));
	let bytes = rest.reduce((sum, item) => sum + item.bytes, 0);
	// Returns before the sort, which is slow for a large store.
	if (bytes <= maxBytes) return evicted;

	for (const item of rest.toSorted((a, b) => a.usedMs - b.usedMs)) {
		// Later items were used more recently and are guarded at least as well, so the loop can stop.
		if (bytes <= (isGuarded(item) ? 2 * maxBytes : maxBytes)) break;
		bytes -= item.bytes;
		evicted.push(item);
	}
	return evicted;
}
