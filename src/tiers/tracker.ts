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
	/** Tokens that anchor a tier before its veterans age; 0 lets all of them age. */
	readonly targetTokens: number;
	/** A `toJSON()` of another tracker. Anything else throws a `TierStateError`. */
	readonly state?: TierState | undefined;
}

interface TrackerUpdate {
	/** Items in active context. New ones and ties rank in this order. */
	readonly active: Iterable<Item>;
	/** Edited keys, with their symbol entries, count as changed whatever the hash. */
	readonly modified?: Iterable<string>;
}

export interface Seeds {
	readonly refs: Iterable<Referenced>;
	readonly exclude?: Iterable<string>;
}

/** Measures how long each item has stayed unchanged, and moves it through the tiers. */
export function createTracker({ targetTokens, state }: TrackerOptions) {
	if (!Number.isFinite(targetTokens) || targetTokens < 0) {
		throw new RangeError(`targetTokens must be a number ≥ 0, got ${targetTokens}`);
	}
	const start = state === undefined ? undefined : parseTierState(state);
	let responseCount = start?.responseCount ?? 0;
	const items = new Map<string, MutableItem>(start?.items);

	/**
	 * Counts one request. Listed items gain N while unchanged. An active item that is no longer
	 * listed enters L3 if eligible, else it is dropped. Items in a tier age only when something
	 * enters it.
	 */
	function update({ active, modified = [] }: TrackerUpdate): void {
		const listed = itemsByKey(active);
		const edited = withSymbols(modified);
		responseCount++;
		const demoted = demoteEdited(edited);
		for (const item of listed.values()) note(item, edited);
		ripple(items.values(), leave(listed, demoted), targetTokens);
	}

	/** Demotes edited items, listed or not. Active ones restart, else they could graduate now. */
	function demoteEdited(edited: ReadonlySet<string>): Set<string> {
		const demoted = new Set<string>();
		for (const key of edited) {
			const item = items.get(key);
			if (item === undefined) continue;
			if (item.tier !== "active") demoted.add(key);
			Object.assign(item, { tier: "active", n: 0 });
		}
		return demoted;
	}

	function note({ key, hash, tokens }: Item, edited: ReadonlySet<string>): void {
		const item = items.get(key);
		if (item === undefined) {
			items.set(key, { tier: "active", n: 0, hash, tokens });
		} else if (item.hash !== hash || edited.has(key)) {
			Object.assign(item, { tier: "active", n: 0, hash, tokens });
		} else {
			item.tokens = tokens;
			if (item.tier === "active") item.n++;
		}
	}

	function leave(listed: ReadonlyMap<string, Item>, demoted: ReadonlySet<string>): MutableItem[] {
		const graduates: MutableItem[] = [];
		for (const [key, item] of items) {
			if (item.tier !== "active" || listed.has(key) || demoted.has(key)) continue;
			if (isEligible(item)) graduates.push(item);
			else items.delete(key);
		}
		return graduates;
	}

	return {
		update,
		/** A copy, in order of first sight. */
		items: (): Map<string, TrackedItem> =>
			new Map(Array.from(items, ([key, item]) => [key, { ...item }])),
		/** Assigns first tiers (L1 to L3) by references. Tracked items keep theirs. */
		seed({ refs, exclude = [] }: Seeds): void {
			const active = [...items].flatMap(([key, { tier }]) => (tier === "active" ? [key] : []));
			const excluded = new Set([...exclude, ...active]);
			const untracked = [...itemsByKey(refs).values()].filter(({ key }) => !items.has(key));
			for (const { item, tier } of seedTiers(untracked, excluded, targetTokens)) {
				const { key, hash, tokens } = item;
				items.set(key, { tier, n: TIERS[tier].entryN, hash, tokens });
			}
		},
		/** Drops items without promoting others. */
		remove(keys: Iterable<string>): void {
			for (const key of keys) items.delete(key);
		},
		weigh(weights: Iterable<Pick<Item, "key" | "tokens">>): void {
			for (const { key, tokens } of weights) {
				checkTokens(key, tokens);
				const item = items.get(key);
				if (item) item.tokens = tokens;
			}
		},
		toJSON: (): TierState => stateOf({ responseCount, items }),
	};
}

type MutableItem = { -readonly [Field in keyof TrackedItem]: TrackedItem[Field] };

/**
 * Promotes from the bottom up in one pass. Veterans of an entered tier age; those at its promotion
 * N enter the next tier; a tier without entrants ends the pass. `items` include the entrants.
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

/** Entrants, then veterans with the lowest N, anchor the tier up to the target. The rest age. */
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
 * Most referenced first. L0 is never given: it must be earned. `exclude` excludes the symbol entries
 * of its files, too. `targetTokens` fills L1, then L2; 0 shares out by number instead.
 */
function seedTiers(
	refs: Iterable<Referenced>,
	exclude: ReadonlySet<string>,
	targetTokens: number,
): { item: Referenced; tier: CachedTier }[] {
	const ranked = Array.from(refs, checked)
		.filter(({ key }) => !exclude.has(key) && !exclude.has(fileOfSymbol(key) ?? key))
		.sort((a, b) => b.refs - a.refs || compareText(a.key, b.key));
	const tierOf = targetTokens > 0 ? byTokens(targetTokens) : byShare(ranked.length);
	return ranked.map((item, index) => ({ item, tier: tierOf(item, index) }));
}

function checked(item: Referenced): Referenced {
	if (Number.isFinite(item.refs)) return item;
	throw new RangeError(
		`The refs of ${JSON.stringify(item.key)} must be a number, got ${item.refs}`,
	);
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
