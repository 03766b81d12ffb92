import { type Hash, hashBytes } from "../core/hash.ts";

/** Where a tracked item stands: in one of four cached tiers, L0 the most stable, or in the uncached active part. */
export type Tier = "L0" | "L1" | "L2" | "L3" | "active";

/** The tiers whose content is sent as a cached block. */
export type CachedTier = Exclude<Tier, "active">;

/** The N that items get when they enter a tier, and the N at which they leave it for the next; L0 is terminal. */
export const TIERS: Readonly<
	Record<Tier, { readonly entryN: number; readonly promotionN: number }>
> = {
	L0: { entryN: 12, promotionN: Number.POSITIVE_INFINITY },
	L1: { entryN: 9, promotionN: 12 },
	L2: { entryN: 6, promotionN: 9 },
	L3: { entryN: 3, promotionN: 6 },
	active: { entryN: 0, promotionN: 3 },
};

/** The cached tiers in the order of the prompt. */
export const CACHED_TIERS: readonly CachedTier[] = ["L0", "L1", "L2", "L3"];

/** Whether an unchanged item of the active part may leave it for L3. */
export function isEligible({ tier, n }: { readonly tier: Tier; readonly n: number }): boolean {
	return tier === "active" && n >= TIERS.active.promotionN;
}

/** The tokens that a cached block should have: `cacheMinTokens × cacheBufferMultiplier`; 0 switches all gating off. */
export function cacheTargetTokens(cacheMinTokens: number, cacheBufferMultiplier: number): number {
	const target = cacheMinTokens * cacheBufferMultiplier;
	// Each by itself: "5" × 1.5 is a number, too.
	const numbers = [cacheMinTokens, cacheBufferMultiplier, target];
	if (!numbers.every((number) => Number.isFinite(number) && number >= 0)) {
		throw new RangeError(
			`cacheMinTokens (${shown(cacheMinTokens)}) and cacheBufferMultiplier (${shown(cacheBufferMultiplier)}) must be numbers ≥ 0`,
		);
	}
	// Of decimals: 100 × 1.1 should be 110 to the last digit, or a block of 110 tokens would not meet it.
	return Number(target.toPrecision(12));
}

function shown(value: unknown): string {
	return typeof value === "number" ? String(value) : JSON.stringify(value);
}

/** A file, a symbol entry or a history message as it would be sent now. */
export interface Item {
	/** A file's path, `symbol:<path>`, or the stable id of a history entry. */
	readonly key: string;
	/** Equal hashes stand for equal content. */
	readonly hash: string;
	readonly tokens: number;
}

/** What is known of an item after a request. */
export interface TrackedItem {
	readonly tier: Tier;
	/** For how long the item has stayed unchanged, as its tier counts that. */
	readonly n: number;
	readonly hash: string;
	readonly tokens: number;
}

const SYMBOL = "symbol:";

/** The key of a file's entry in the symbol map. */
export function symbolKey(path: string): string {
	return SYMBOL + path;
}

/** The file that a symbol entry describes; `undefined` for the key of anything else. */
export function fileOfSymbol(key: string): string | undefined {
	return key.startsWith(SYMBOL) ? key.slice(SYMBOL.length) : undefined;
}

/** The keys, and for each the key of the symbol entry that a file of this name has. */
export function withSymbols(keys: Iterable<string>): Set<string> {
	return new Set(Array.from(keys, (key) => [key, symbolKey(key)]).flat());
}

/** Items by key. Of two with the same key the first counts; one that cannot be tracked throws. */
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

/** Throws unless a count can be added up: one NaN would let a whole tier promote. */
export function checkTokens(key: string, tokens: number): void {
	if (Number.isFinite(tokens) && tokens >= 0) return;
	throw new RangeError(`The tokens of ${JSON.stringify(key)} must be a number ≥ 0, got ${tokens}`);
}

/** The hash of a file: the sha256 of its content. */
export function fileHash(content: Uint8Array | string): Hash {
	return hashBytes(content);
}

/** The hash of an entry of the symbol map: the sha256 of its compact block. */
export function symbolHash(block: string): Hash {
	return hashBytes(block);
}

/** The hash of a history message: the sha256 of `role:content`. */
export function historyHash(role: "user" | "assistant", content: string): Hash {
	return hashBytes(`${role}:${content}`);
}
