import { compareText } from "../core/compare-text.ts";
import {
	cacheTargetTokens,
	fileOfSymbol,
	type Item,
	isEligible,
	itemsByKey,
	type TrackedItem,
	withSymbols,
} from "./item.ts";
import type { TierState } from "./state-file.ts";
import { type Seeds, TierTracker } from "./tracker.ts";

export interface ControllerOptions {
	/** Minimum tokens of a cached block. Default: 1024. With 0, size is ignored and history stays active. */
	readonly cacheMinTokens?: number;
	/** Safety factor for `cacheMinTokens`. Default: 1.5. */
	readonly cacheBufferMultiplier?: number;
	/** The result of another controller's `toJSON()`. Anything else throws a `TierStateError`. */
	readonly state?: TierState | undefined;
}

/** The content of one request. Tracked items that it does not contain are dropped. */
interface TierRequest {
	readonly files?: Iterable<Item>;
	/** Keyed by `symbol:<path>`. Entries of files in `files` count as 0 tokens. */
	readonly symbols?: Iterable<Item>;
	/** Oldest first, keyed by stable message ids. */
	readonly history?: Iterable<Item>;
	readonly modified?: Iterable<string>;
}

/** Decides for every request which items are active, and updates the tracker. */
export class TierController {
	readonly #targetTokens: number;
	readonly #tracker: TierTracker;
	// Not stored: the cache is cold after a restart, so the first request counts as a ripple.
	#lastSelected: ReadonlySet<string> | undefined;

	constructor(options: ControllerOptions = {}) {
		const { cacheMinTokens = 1024, cacheBufferMultiplier = 1.5, state } = options;
		this.#targetTokens = cacheTargetTokens(cacheMinTokens, cacheBufferMultiplier);
		this.#tracker = new TierTracker({ targetTokens: this.#targetTokens, state });
	}

	/** Processes a request; `items()` then returns the result. */
	next(request: TierRequest): void {
		const { selected, working, history } = contentOf(request);
		const modified = [...(request.modified ?? [])];
		const edited = withSymbols(modified);
		const known = this.#tracker.items();
		const gone = goneFrom(known, [...working, ...history]);

		const standingOf = (item: Item) => {
			const before = gone.has(item.key) ? undefined : known.get(item.key);
			return standing(item, before, edited.has(item.key));
		};
		const work = Map.groupBy(working, standingOf);
		const talk = Map.groupBy(history, standingOf);
		const last = this.#lastSelected;
		const isSameSelection =
			last?.size === selected.size && [...selected].every((key) => last.has(key));
		const ripple =
			!isSameSelection ||
			work.has("eligible") ||
			work.has("demoted") ||
			// A symbol entry has disappeared from a cached block.
			Array.from(gone).some(
				(key) => fileOfSymbol(key) !== undefined && known.get(key)?.tier !== "active",
			);
		const eligible = talk.get("eligible") ?? [];
		const graduating = new Set(graduatingHistory(eligible, this.#targetTokens, ripple));

		this.#tracker.remove(gone);
		this.#tracker.setTokens([...working, ...history]);
		this.#tracker.update({
			active: [
				...[work, talk].flatMap((content) => [
					...(content.get("active") ?? []),
					...(content.get("demoted") ?? []),
				]),
				...eligible.filter((item) => !graduating.has(item)),
			],
			modified,
		});
		this.#lastSelected = selected;
	}

	items(): Map<string, TrackedItem> {
		return this.#tracker.items();
	}

	seed(seeds: Seeds): void {
		this.#tracker.seed(seeds);
	}

	toJSON(): TierState {
		return this.#tracker.toJSON();
	}
}

/** Files and symbols are sorted by key. Symbol entries of selected files are not sent: they have 0 tokens. */
function contentOf(request: TierRequest) {
	const files = byKey(request.files);
	const selected: ReadonlySet<string> = new Set(files.map(({ key }) => key));
	const symbols = byKey(request.symbols).map((symbol) =>
		selected.has(fileOfSymbol(symbol.key) ?? "") ? { ...symbol, tokens: 0 } : symbol,
	);
	return {
		selected,
		working: [...files, ...symbols],
		history: [...itemsByKey(request.history ?? []).values()],
	};
}

function byKey(items: Iterable<Item> = []): Item[] {
	return [...itemsByKey(items).values()].sort((a, b) => compareText(a.key, b.key));
}

/** Keys that are no longer present, and symbol entries of missing files, which then count as new. */
function goneFrom(known: ReadonlyMap<string, TrackedItem>, current: readonly Item[]): Set<string> {
	const present = new Set(current.map(({ key }) => key));
	const absent = [...known.keys()].filter((key) => !present.has(key));
	return new Set([...withSymbols(absent)].filter((key) => known.has(key)));
}

/** `active` includes items too young to graduate. `demoted` items were in a cached tier and changed. */
type Standing = "active" | "eligible" | "cached" | "demoted";

function standing(item: Item, before: TrackedItem | undefined, isEdited: boolean): Standing {
	if (before === undefined) return "active";
	const isUnchanged = before.hash === item.hash && !isEdited;
	if (before.tier !== "active") return isUnchanged ? "cached" : "demoted";
	return isUnchanged && isEligible(before) ? "eligible" : "active";
}

/**
 * `ripple`: other changes rewrite the cached blocks anyway, so all eligible messages graduate. Otherwise
 * the newest ones that fit into `targetTokens` stay active, to delay the next graduation; older ones
 * graduate. `eligible` is oldest first. `targetTokens` is a cached block's size; 0 keeps all active.
 */
function graduatingHistory(
	eligible: readonly Item[],
	targetTokens: number,
	ripple: boolean,
): readonly Item[] {
	if (targetTokens === 0) return [];
	if (ripple) return eligible;
	let room = targetTokens;
	const last = eligible.findLastIndex(({ tokens }) => {
		room -= tokens;
		return room < 0;
	});
	return eligible.slice(0, last + 1);
}
