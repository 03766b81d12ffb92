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

/** What a tracker is made from. */
export interface TrackerOptions {
	/** The tokens that anchor a tier before its veterans age; 0 lets all of them age. */
	readonly targetTokens: number;
	/** Where another tracker stopped: its `toJSON()`. Anything else throws a `TierStateError`. */
	readonly state?: TierState | undefined;
}

/** One request, as far as the tracker is concerned. */
export interface TrackerUpdate {
	/** The items in active context. New ones and ties are ranked in this order. */
	readonly active: Iterable<Item>;
	/** Keys edited since the last request; a file's symbol entry goes with it. They count as changed whatever the hash. */
	readonly modified?: Iterable<string>;
}

/** Items for the first run, with the references to them. */
export interface Seeds {
	readonly refs: Iterable<Referenced>;
	/** What is in active context: these files, and their symbol entries, stay untracked. */
	readonly exclude?: Iterable<string>;
}

/** Measures how long each item has stayed unchanged, and moves it through the tiers accordingly. */
export interface Tracker {
	/**
	 * Counts one request. Listed items gain N while they stay the same, and start again when they change. An active item
	 * that is no longer listed enters L3 if its N allows it, and is forgotten if not. What is in a tier keeps its N until
	 * something enters that tier, listed or not.
	 */
	update(request: TrackerUpdate): void;
	/** All tracked items in the order in which they were first seen; a copy. */
	items(): Map<string, TrackedItem>;
	/** Gives items their first tier by references, L1 to L3. Those tracked already keep what they have. */
	seed(seeds: Seeds): void;
	/** Forgets items. Nobody moves up for it. */
	remove(keys: Iterable<string>): void;
	/** Takes over what tracked items weigh now; nothing else about them changes. */
	weigh(items: Iterable<Pick<Item, "key" | "tokens">>): void;
	toJSON(): TierState;
}

/** Makes a tracker, empty or from a stored state. */
export function createTracker({ targetTokens, state }: TrackerOptions): Tracker {
	if (!Number.isFinite(targetTokens) || targetTokens < 0) {
		throw new RangeError(`targetTokens must be a number ≥ 0, got ${targetTokens}`);
	}
	const start = state === undefined ? undefined : parseTierState(state);
	let responseCount = start?.responseCount ?? 0;
	const items = new Map<string, MutableItem>(start?.items);

	function update({ active, modified = [] }: TrackerUpdate): void {
		const listed = itemsByKey(active);
		const edited = withSymbols(modified);
		responseCount++;
		const demoted = demoteEdited(edited);
		for (const item of listed.values()) note(item, edited);
		ripple(items.values(), leave(listed, demoted), targetTokens);
	}

	/**
	 * Sends edited items of the tiers back to active, also those that nobody lists. What is active already starts again,
	 * so that it does not graduate by leaving the list just now.
	 */
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

	/** Takes what has left the active list out of active, and returns what may enter L3. */
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
		items: () => new Map(Array.from(items, ([key, item]) => [key, { ...item }])),
		seed({ refs, exclude = [] }) {
			const active = [...items].flatMap(([key, { tier }]) => (tier === "active" ? [key] : []));
			const terms = { exclude: new Set([...exclude, ...active]), targetTokens };
			const untracked = [...itemsByKey(refs).values()].filter(({ key }) => !items.has(key));
			for (const { item, tier } of seedTiers(untracked, terms)) {
				const { key, hash, tokens } = item;
				items.set(key, { tier, n: TIERS[tier].entryN, hash, tokens });
			}
		},
		remove(keys) {
			for (const key of keys) items.delete(key);
		},
		weigh(weights) {
			for (const { key, tokens } of weights) {
				checkTokens(key, tokens);
				const item = items.get(key);
				if (item) item.tokens = tokens;
			}
		},
		toJSON: () => stateOf({ responseCount, items }),
	};
}

/** An item as the tracker may change it. */
export type MutableItem = { -readonly [Field in keyof TrackedItem]: TrackedItem[Field] };

/**
 * Lets items enter L3 and carries on what follows from it, once and from the bottom up: the veterans of an entered tier
 * age, those that reach its promotion N enter the next tier, and a tier that nothing enters ends it. `items` are all
 * tracked items in the order in which they were first seen, the entrants among them.
 */
export function ripple(
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

		const aging = pastThreshold(veterans.get(tier) ?? [], sumOfTokens(entering), targetTokens);
		for (const item of aging) item.n++;
		entering = aging.filter(({ n }) => n >= promotionN);
		if (entering.length === 0) return;
	}
}

/**
 * The veterans that age: those behind the ones that fill the block to its target together with the entrants. Filling
 * starts with the lowest N, in the order given where N is equal; one that is reached below the target anchors the tier,
 * however far it goes beyond.
 */
function pastThreshold(
	veterans: readonly MutableItem[],
	entrantTokens: number,
	targetTokens: number,
): MutableItem[] {
	let filled = entrantTokens;
	return veterans
		.toSorted((a, b) => a.n - b.n)
		.filter(({ tokens }) => {
			if (filled >= targetTokens) return true;
			filled += tokens;
			return false;
		});
}

function sumOfTokens(items: readonly TrackedItem[]): number {
	return items.reduce((sum, { tokens }) => sum + tokens, 0);
}

/** An item with the number of references to its file, and the hash of its real content. */
export interface Referenced extends Item {
	readonly refs: number;
}

/** What seeding goes by. */
export interface SeedTerms {
	/** Keys that get no tier, and files whose symbol entries get none: what is in active context. */
	readonly exclude: ReadonlySet<string>;
	/** What L1, then L2 are filled to; 0 shares out by number instead. */
	readonly targetTokens: number;
}

/** A tier for each item by its references, the most referenced first. L0 is never given: it must be earned. */
export function seedTiers(
	refs: Iterable<Referenced>,
	{ exclude, targetTokens }: SeedTerms,
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

/** L1 until it meets the target, L2 until it does, and L3 takes all the rest. */
function byTokens(targetTokens: number): TierOf {
	const filled = { L1: 0, L2: 0, L3: Number.NEGATIVE_INFINITY };
	return ({ tokens }) => {
		const tier = filled.L1 < targetTokens ? "L1" : filled.L2 < targetTokens ? "L2" : "L3";
		filled[tier] += tokens;
		return tier;
	};
}

/** The top 20 % into L1, the next 30 % into L2, the bottom half into L3. */
function byShare(count: number): TierOf {
	const [endOfL1, endOfL2] = [Math.floor((count * 2) / 10), Math.floor((count * 5) / 10)];
	return (_item, index) => (index < endOfL1 ? "L1" : index < endOfL2 ? "L2" : "L3");
}
