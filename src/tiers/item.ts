import type { Tier } from "./tiers.ts";

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
