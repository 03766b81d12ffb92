import { checkTokens, type Item, itemsByKey, type TrackedItem, withSymbols } from "./item.ts";
import { type MutableItem, ripple } from "./ripple.ts";
import { type Referenced, seedTiers } from "./seed.ts";
import { parseTierState, stateOf, type TierState } from "./state.ts";
import { isEligible, TIERS } from "./tiers.ts";

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
