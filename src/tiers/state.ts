import { isRecord, property } from "../core/property.ts";
import type { TrackedItem } from "./item.ts";
import { TIERS, type Tier } from "./tiers.ts";

/** The stability data as they are stored: the specification's shape, and the tokens of each item. */
export interface TierState {
	/** Responses tracked so far. */
	readonly response_count: number;
	/** The keys of the items that were active on the last request. */
	readonly last_active_items: readonly string[];
	readonly items: Readonly<Record<string, ItemState>>;
	/** The keys of `items` as they were first seen; only where the order of an object's keys cannot tell. */
	readonly order?: readonly string[];
}

/** What is stored of an item. Other programs store no tokens, which then count as 0 until the next request. */
export interface ItemState {
	readonly content_hash: string;
	readonly n_value: number;
	readonly tier: Tier;
	readonly tokens?: number;
}

/** A state that cannot be used; the message says what is wrong with it. */
export class TierStateError extends Error {
	override readonly name = "TierStateError";
}

/** What a tracker starts from. */
export interface TrackedState {
	readonly responseCount: number;
	readonly items: Map<string, TrackedItem>;
}

/** The stored form of what a tracker knows. */
export function stateOf({ responseCount, items }: TrackedState): TierState {
	const keys = [...items.keys()];
	const stored = Object.fromEntries(
		Array.from(items, ([key, { tier, n, hash, tokens }]): [string, ItemState] => [
			key,
			{ content_hash: hash, n_value: n, tier, tokens },
		]),
	);
	// An object moves keys that look like numbers to its front, and entry ids may look so.
	const isOrdered = Object.keys(stored).every((key, index) => key === keys[index]);
	return {
		response_count: responseCount,
		last_active_items: keys.filter((key) => items.get(key)?.tier === "active"),
		items: stored,
		...(isOrdered ? {} : { order: keys }),
	};
}

/**
 * Checks a stored state, ours or another program's. N is brought within what the item's tier allows: programs that
 * count every request store more. Throws a {@link TierStateError} on anything that is not such a state.
 */
export function parseTierState(state: unknown): TrackedState {
	const count = property(state, "response_count");
	if (!isWhole(count)) throw wrong("response_count must be a whole number ≥ 0");
	keyList(property(state, "last_active_items"), "last_active_items");

	const stored = property(state, "items");
	if (!isRecord(stored)) throw wrong("items must be an object");
	const keys = Object.keys(stored);
	if (keys.length > MAX_ITEMS) throw wrong(`items has more than ${MAX_ITEMS} entries`);
	const order = property(state, "order");
	const first = order === undefined ? [] : keyList(order, "order");

	const items = new Map<string, TrackedItem>();
	for (const key of new Set([...first, ...keys])) {
		if (Object.hasOwn(stored, key)) items.set(key, itemOf(key, stored[key]));
	}
	return { responseCount: count, items };
}

/** More than any session has; a file of a stranger may hold anything. */
const MAX_ITEMS = 50_000;

function itemOf(key: string, value: unknown): TrackedItem {
	const hash = property(value, "content_hash");
	const n = property(value, "n_value");
	const tier = property(value, "tier");
	const tokens = property(value, "tokens") ?? 0;
	if (key === "") throw wrong("items has an empty key");
	if (typeof hash !== "string") throw wrong("a content_hash must be a string");
	if (!isWhole(n)) throw wrong("an n_value must be a whole number ≥ 0");
	if (!isTier(tier)) throw wrong("a tier must be L0, L1, L2, L3 or active");
	if (typeof tokens !== "number" || !Number.isFinite(tokens) || tokens < 0) {
		throw wrong("tokens must be a number ≥ 0");
	}
	return { tier, n: allowedN(tier, n), hash, tokens };
}

/** In active nothing bounds N: items wait there for as long as they are listed. */
function allowedN(tier: Tier, n: number): number {
	if (tier === "active") return n;
	const { entryN, promotionN } = TIERS[tier];
	return Math.min(Math.max(n, entryN), promotionN - 1);
}

function keyList(value: unknown, name: string): string[] {
	if (Array.isArray(value) && value.every((key) => typeof key === "string")) return value;
	throw wrong(`${name} must be a list of strings`);
}

function isTier(value: unknown): value is Tier {
	return typeof value === "string" && Object.hasOwn(TIERS, value);
}

function isWhole(value: unknown): value is number {
	return Number.isSafeInteger(value) && Number(value) >= 0;
}

/** Without the key: it comes from a file that anyone may have written, and the message goes to a terminal. */
function wrong(what: string): TierStateError {
	return new TierStateError(`The tier state is damaged: ${what}`);
}
