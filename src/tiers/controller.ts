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
import { createTracker, type Seeds } from "./tracker.ts";

/** What a controller is made from. */
export interface ControllerOptions {
	/** The fewest tokens that the provider caches. Default: 1024; 0 ends all gating by tokens and keeps history active. */
	readonly cacheMinTokens?: number;
	/** How many times that a block should have, to be safe. Default: 1.5. */
	readonly cacheBufferMultiplier?: number;
	/** Where another controller stopped: its `toJSON()`. Anything else throws a `TierStateError`. */
	readonly state?: TierState | undefined;
}

/** The content of one request; what is left out is empty. What was in the last and is not in this is forgotten. */
export interface TierRequest {
	/** The files that the user selected, by path. */
	readonly files?: Iterable<Item>;
	/** The symbol map of the whole project, by `symbol:<path>`; entries of selected files weigh nothing. */
	readonly symbols?: Iterable<Item>;
	/** The conversation, oldest first, by ids that stay with their message. */
	readonly history?: Iterable<Item>;
	/** Paths edited since the last request. */
	readonly modified?: Iterable<string>;
}

/** Decides for every request which items are active, and lets the tracker draw the consequences. */
export interface Controller {
	/** Counts a request; `items()` then says where each of its items is to be sent. */
	next(request: TierRequest): void;
	/** All tracked items in the order in which they were first seen; a copy. */
	items(): Map<string, TrackedItem>;
	/** Gives items their first tier by references, L1 to L3; to be called before the first request. */
	seed(seeds: Seeds): void;
	toJSON(): TierState;
}

/** Makes a controller, empty or from a stored state. */
export function createController(options: ControllerOptions = {}): Controller {
	const { cacheMinTokens = 1024, cacheBufferMultiplier = 1.5, state } = options;
	const targetTokens = cacheTargetTokens(cacheMinTokens, cacheBufferMultiplier);
	const tracker = createTracker({ targetTokens, state });
	// Not part of the state: after a restart the cache is cold, so the first request counts as a ripple.
	let lastSelected: ReadonlySet<string> | undefined;

	function next(request: TierRequest): void {
		const { selected, working, history } = contentOf(request);
		const modified = [...(request.modified ?? [])];
		const edited = withSymbols(modified);
		const known = tracker.items();
		const gone = goneFrom(known, [...working, ...history]);

		const standingOf = (item: Item) => {
			const before = gone.has(item.key) ? undefined : known.get(item.key);
			return standing(item, before, edited.has(item.key));
		};
		const work = Map.groupBy(working, standingOf);
		const talk = Map.groupBy(history, standingOf);
		const ripple =
			lastSelected === undefined ||
			!isSameSet(selected, lastSelected) ||
			work.has("eligible") ||
			work.has("demoted") ||
			Array.from(gone).some((key) => isCachedSymbol(key, known.get(key)));
		const eligible = talk.get("eligible") ?? [];
		const graduating = new Set(graduatingHistory(eligible, { targetTokens, ripple }));

		tracker.remove(gone);
		tracker.weigh([...working, ...history]);
		tracker.update({
			active: [
				...(work.get("active") ?? []),
				...(work.get("demoted") ?? []),
				...(talk.get("active") ?? []),
				...(talk.get("demoted") ?? []),
				...eligible.filter(({ key }) => !graduating.has(key)),
			],
			modified,
		});
		lastSelected = selected;
	}

	return { next, items: tracker.items, seed: tracker.seed, toJSON: tracker.toJSON };
}

/**
 * Files and symbols in an order that does not depend on the caller's, and the conversation in its own. The symbol entry
 * of a selected file is tracked but not sent, for the file stands there in full: it must not count as filling a block.
 */
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

/** What is tracked and not in the request, with the symbol entries of such files: these come back as new. */
function goneFrom(known: ReadonlyMap<string, TrackedItem>, current: readonly Item[]): Set<string> {
	const present = new Set(current.map(({ key }) => key));
	const absent = [...known.keys()].filter((key) => !present.has(key));
	return new Set([...withSymbols(absent)].filter((key) => known.has(key)));
}

function isSameSet(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
	return a.size === b.size && [...a].every((key) => b.has(key));
}

function isCachedSymbol(key: string, item: TrackedItem | undefined): boolean {
	return fileOfSymbol(key) !== undefined && item !== undefined && item.tier !== "active";
}

/**
 * `active`: new, changed in active, or not there for long enough. `eligible`: may graduate from active.
 * `cached`: unchanged in its tier. `demoted`: was in a tier and has changed.
 */
type Standing = "active" | "eligible" | "cached" | "demoted";

function standing(item: Item, before: TrackedItem | undefined, isEdited: boolean): Standing {
	if (before === undefined) return "active";
	const isUnchanged = before.hash === item.hash && !isEdited;
	if (before.tier !== "active") return isUnchanged ? "cached" : "demoted";
	return isUnchanged && isEligible(before) ? "eligible" : "active";
}

/** What decides whether history may leave the active part. */
export interface HistoryTerms {
	/** The tokens of a cached block; 0 keeps all history active. */
	readonly targetTokens: number;
	/** Files or symbols change cached blocks in this request anyway. */
	readonly ripple: boolean;
}

/**
 * The keys of the history messages that graduate, of those that may, oldest first. With a ripple all of them, for their
 * blocks are rewritten anyway. Without one only when they exceed the target together, and then the newest that fit the
 * target stay, so that the next graduation is a long way off.
 */
export function graduatingHistory(
	eligible: readonly Item[],
	{ targetTokens, ripple }: HistoryTerms,
): string[] {
	if (targetTokens === 0) return [];
	const leaving = ripple ? eligible : eligible.slice(0, startOfNewest(eligible, targetTokens));
	return leaving.map(({ key }) => key);
}

/** Where the longest end of the list begins that fits into so many tokens: at 0 if all of it does. */
function startOfNewest(items: readonly Item[], tokens: number): number {
	let room = tokens;
	return (
		1 +
		items.findLastIndex((item) => {
			room -= item.tokens;
			return room < 0;
		})
	);
}
