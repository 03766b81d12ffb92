import { compareText } from "../core/compare-text.ts";
import {
	CACHED_TIERS,
	type CachedTier,
	checkTokens,
	fileOfSymbol,
	type Item,
	isEligible,
	itemsByKey,
	TIERS,
	type TrackedItem,
	withSymbols,
} from "./item.ts";
import { parseTierState, stateOf, type TierState } from "./state-file.ts";

interface TrackerOptions {
	/** The items that fill this many tokens of a tier do not age; the others do. With 0, all items age. */
	readonly targetTokens: number;
	/** The result of another tracker's `toJSON()`. Anything else throws a `TierStateError`. */
	readonly state?: TierState | undefined;
}

interface TrackerUpdate {
	/** Items in the active context. New items and ties are ordered like this list. */
	readonly active: Iterable<Item>;
	/** Edited keys. They and their symbol entries count as changed, whatever the hash. */
	readonly modified?: Iterable<string>;
}

export interface Seeds {
	readonly refs: Iterable<Referenced>;
	readonly exclude?: Iterable<string>;
}

/** Measures how long each item has stayed unchanged, and moves it through the tiers. */
export class TierTracker {
	readonly #targetTokens: number;
	readonly #items: Map<string, MutableItem>;
	#responseCount: number;

	constructor({ targetTokens, state }: TrackerOptions) {
		if (!Number.isFinite(targetTokens) || targetTokens < 0) {
			throw new RangeError(`targetTokens must be a number ≥ 0, got ${targetTokens}`);
		}
		const start = state === undefined ? undefined : parseTierState(state);
		this.#targetTokens = targetTokens;
		this.#items = new Map<string, MutableItem>(start?.items);
		this.#responseCount = start?.responseCount ?? 0;
	}

	/**
	 * Processes one request. The N of a listed active item rises by 1 if the item is unchanged. An active item that is no longer
	 * listed enters L3 if eligible, and is dropped otherwise. Items in a cached tier age only when another
	 * item enters the tier.
	 */
	update({ active, modified = [] }: TrackerUpdate): void {
		const listed = itemsByKey(active);
		const edited = withSymbols(modified);
		this.#responseCount++;
		const demoted = this.#demoteEdited(edited);
		for (const item of listed.values()) this.#track(item, edited);
		ripple(this.#items.values(), this.#takeGraduates(listed, demoted), this.#targetTokens);
	}

	/** Returns a copy, in order of first appearance. */
	items(): Map<string, TrackedItem> {
		return new Map(Array.from(this.#items, ([key, item]) => [key, { ...item }]));
	}

	/** Assigns initial tiers (L1 to L3) by number of references. Tracked items keep their tier. */
	seed({ refs, exclude = [] }: Seeds): void {
		const items = this.#items;
		const active = [...items].flatMap(([key, { tier }]) => (tier === "active" ? [key] : []));
		const excluded = new Set([...exclude, ...active]);
		const untracked = [...itemsByKey(refs).values()].filter(({ key }) => !items.has(key));
		for (const { item, tier } of seedTiers(untracked, excluded, this.#targetTokens)) {
			const { key, hash, tokens } = item;
			items.set(key, { tier, n: TIERS[tier].entryN, hash, tokens });
		}
	}

	/** Drops items without promoting others. */
	remove(keys: Iterable<string>): void {
		for (const key of keys) this.#items.delete(key);
	}

	setTokens(sizes: Iterable<Pick<Item, "key" | "tokens">>): void {
		for (const { key, tokens } of sizes) {
			checkTokens(key, tokens);
			const item = this.#items.get(key);
			if (item) item.tokens = tokens;
		}
	}

	toJSON(): TierState {
		return stateOf({ responseCount: this.#responseCount, items: this.#items });
	}

	/** Demotes edited items, listed or not. Resets N of active ones, which might otherwise graduate. */
	#demoteEdited(edited: ReadonlySet<string>): Set<string> {
		const demoted = new Set<string>();
		for (const key of edited) {
			const item = this.#items.get(key);
			if (item === undefined) continue;
			if (item.tier !== "active") demoted.add(key);
			Object.assign(item, { tier: "active", n: 0 });
		}
		return demoted;
	}

	#track({ key, hash, tokens }: Item, edited: ReadonlySet<string>): void {
		const item = this.#items.get(key);
		if (item === undefined) {
			this.#items.set(key, { tier: "active", n: 0, hash, tokens });
		} else if (item.hash !== hash || edited.has(key)) {
			Object.assign(item, { tier: "active", n: 0, hash, tokens });
		} else {
			item.tokens = tokens;
			if (item.tier === "active") item.n++;
		}
	}

	/** Returns eligible active items that are no longer listed; drops those that are not eligible. */
	#takeGraduates(listed: ReadonlyMap<string, Item>, demoted: ReadonlySet<string>): MutableItem[] {
		const graduates: MutableItem[] = [];
		for (const [key, item] of this.#items) {
			if (item.tier !== "active" || listed.has(key) || demoted.has(key)) continue;
			if (isEligible(item)) graduates.push(item);
			else this.#items.delete(key);
		}
		return graduates;
	}
}

type MutableItem = { -readonly [Field in keyof TrackedItem]: TrackedItem[Field] };

/**
 * Promotes items in one pass, from L3 to L0. If items enter a tier, its veterans (items already there)
 * age. Veterans that reach `promotionN` enter the next tier; if none do, the pass ends. `items` includes
 * the entrants.
 */
function ripple(
	items: Iterable<MutableItem>,
	entrants: readonly MutableItem[],
	targetTokens: number,
): void {
	if (entrants.length === 0) return;
	const veterans = Map.groupBy(items, ({ tier }) => tier);
	let entering = entrants;
	for (const tier of CACHED_TIERS.toReversed()) {
		const { entryN, promotionN } = TIERS[tier];
		for (const item of entering) Object.assign(item, { tier, n: entryN });

		const aging = pastThreshold(veterans.get(tier) ?? [], entering, targetTokens);
		for (const item of aging) item.n++;
		entering = aging.filter(({ n }) => n >= promotionN);
		if (entering.length === 0) return;
	}
}

/** Returns the veterans that age: those left after entrants and veterans of lowest N fill `targetTokens`. */
function pastThreshold(
	veterans: readonly MutableItem[],
	entrants: readonly MutableItem[],
	targetTokens: number,
): MutableItem[] {
	let filled = entrants.reduce((sum, { tokens }) => sum + tokens, 0);
	return veterans
		.toSorted((a, b) => a.n - b.n)
		.filter(({ tokens }) => {
			if (filled >= targetTokens) return true;
			filled += tokens;
			return false;
		});
}

interface Referenced extends Item {
	readonly refs: number;
}

/**
 * Fills L1, then L2 up to `targetTokens`, most referenced items first; the rest is L3. If `targetTokens`
 * is 0, each tier gets a share of the items. L0 must be earned. `exclude` also covers symbol entries.
 */
function seedTiers(
	refs: readonly Referenced[],
	exclude: ReadonlySet<string>,
	targetTokens: number,
): { item: Referenced; tier: CachedTier }[] {
	for (const { key, refs: count } of refs) {
		if (Number.isFinite(count)) continue;
		throw new RangeError(`The refs of ${JSON.stringify(key)} must be a number, got ${count}`);
	}
	const ranked = [...refs]
		.filter(({ key }) => !exclude.has(key) && !exclude.has(fileOfSymbol(key) ?? key))
		.sort((a, b) => b.refs - a.refs || compareText(a.key, b.key));
	const tierOf = targetTokens > 0 ? byTokens(targetTokens) : byShare(ranked.length);
	return ranked.map((item, index) => ({ item, tier: tierOf(item, index) }));
}

type TierOf = (item: Referenced, index: number) => CachedTier;

function byTokens(targetTokens: number): TierOf {
	const filled = { L1: 0, L2: 0, L3: Number.NEGATIVE_INFINITY };
	return ({ tokens }) => {
		const tier = filled.L1 < targetTokens ? "L1" : filled.L2 < targetTokens ? "L2" : "L3";
		filled[tier] += tokens;
		return tier;
	};
}

function byShare(count: number): TierOf {
	const [endOfL1, endOfL2] = [Math.floor((count * 2) / 10), Math.floor((count * 5) / 10)];
	return (_item, index) => (index < endOfL1 ? "L1" : index < endOfL2 ? "L2" : "L3");
}
