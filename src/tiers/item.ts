import { type Hash, hashBytes } from "../core/hash.ts";

/** The name of a tier. L0 is the most stable tier; `active` is uncached. */
export type Tier = "L0" | "L1" | "L2" | "L3" | "active";

export type CachedTier = Exclude<Tier, "active">;

/** Items enter a tier with N = `entryN` and are promoted when N reaches `promotionN`. L0 is the last. */
export const TIERS: Readonly<
	Record<Tier, { readonly entryN: number; readonly promotionN: number }>
> = {
	L0: { entryN: 12, promotionN: Number.POSITIVE_INFINITY },
	L1: { entryN: 9, promotionN: 12 },
	L2: { entryN: 6, promotionN: 9 },
	L3: { entryN: 3, promotionN: 6 },
	active: { entryN: 0, promotionN: 3 },
};

export const CACHED_TIERS: readonly CachedTier[] = ["L0", "L1", "L2", "L3"];

export function isEligible({ tier, n }: { readonly tier: Tier; readonly n: number }): boolean {
	return tier === "active" && n >= TIERS.active.promotionN;
}

/** Target size of a cached block in tokens. With 0, size does not limit promotion. */
export function cacheTargetTokens(cacheMinTokens: number, cacheBufferMultiplier: number): number {
	const target = cacheMinTokens * cacheBufferMultiplier;
	// Checks each value, since "5" × 1.5 is a number too.
	const numbers = [cacheMinTokens, cacheBufferMultiplier, target];
	if (!numbers.every((number) => Number.isFinite(number) && number >= 0)) {
		throw new RangeError(
			`cacheMinTokens (${shown(cacheMinTokens)}) and cacheBufferMultiplier (${shown(cacheBufferMultiplier)}) must be numbers ≥ 0`,
		);
	}
	// Rounded, since 100 × 1.1 must be exactly 110: otherwise a block of 110 tokens would be too small.
	return Number(target.toPrecision(12));
}

function shown(value: unknown): string {
	return typeof value === "number" ? String(value) : JSON.stringify(value);
}

/** A file, a symbol entry or a history message as it would be sent now. */
export interface Item {
	/** A file's path, `symbol:<path>`, or the stable id of a history entry. */
	readonly key: string;
	readonly hash: string;
	readonly tokens: number;
}

/** The tier of an item, and how long the item has stayed unchanged. */
export interface TrackedItem {
	readonly tier: Tier;
	/** Number of requests without a change, by the counting rules of the tier. */
	readonly n: number;
	readonly hash: string;
	readonly tokens: number;
}

const SYMBOL = "symbol:";

/** The key of a file's symbol entry. */
export function symbolKey(path: string): string {
	return SYMBOL + path;
}

export function fileOfSymbol(key: string): string | undefined {
	return key.startsWith(SYMBOL) ? key.slice(SYMBOL.length) : undefined;
}

export function withSymbols(keys: Iterable<string>): Set<string> {
	return new Set(Array.from(keys, (key) => [key, symbolKey(key)]).flat());
}

/** Of two items with the same key, the first wins. Throws on an invalid item. */
export function itemsByKey<Kind extends Item>(items: Iterable<Kind>): Map<string, Kind> {
	const byKey = new Map<string, Kind>();
	for (const item of items) {
		if (typeof item.key !== "string" || item.key === "") {
			throw new TypeError(`An item's key must be a non-empty string, got ${String(item.key)}`);
		}
		if (typeof item.hash !== "string") {
			throw new TypeError(`The hash of ${JSON.stringify(item.key)} must be a string`);
		}
		checkTokens(item.key, item.tokens);
		if (!byKey.has(item.key)) byKey.set(item.key, item);
	}
	return byKey;
}

/** Throws on a count that cannot be summed, since one NaN would promote a whole tier. */
export function checkTokens(key: string, tokens: number): void {
	if (Number.isFinite(tokens) && tokens >= 0) return;
	throw new RangeError(`The tokens of ${JSON.stringify(key)} must be a number ≥ 0, got ${tokens}`);
}

/** The hash of a history message: SHA-256 of `role:content`. */
export function historyHash(role: "user" | "assistant", content: string): Hash {
	return hashBytes(`${role}:${content}`);
}
