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
	let bytes = items.reduce((sum, item) => sum + item.bytes, 0);
	const expired: Item[] = [];
	for (const item of items.toSorted((a, b) => a.usedMs - b.usedMs)) {
		const age = nowMs - item.usedMs;
		const guarded = age < retentionGuardMs;
		const tooOld = age > maxAgeMs && !guarded;
		const tooMuch = bytes > (guarded ? 2 * maxBytes : maxBytes);
		// Sorted by age: once one may stay, so may all that were used after it.
		if (!tooOld && !tooMuch) break;
		bytes -= item.bytes;
		expired.push(item);
	}
	return expired;
}
