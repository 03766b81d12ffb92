import { promptTokens } from "../core/bill.ts";
import { type Blob, type BlobStore, createBlobStore } from "../core/blob-store.ts";
import { guardBlobs } from "../core/excluded-values.ts";
import { property } from "../core/property.ts";
import { estimateTokens } from "../core/tokens.ts";
import { canCarryMarker, withExtraMarker } from "../economy/index.ts";
import { costOf } from "../economy/rules.ts";
import type { SessionView, ToolResultItem } from "../session/index.ts";
import { type Candidate, frontierOf } from "./candidates.ts";
import { createPruner, type Plan, type PrunableSession } from "./pruner.ts";
import { contentOf, type KeptOut, keptOut, stubFor } from "./stub.ts";
import { createSurveyor, resultsIn, type Touches } from "./survey.ts";

const OWNER = "pruning";

type Results = ReadonlyMap<string, ToolResultItem>;
type BatchPlan = Pick<Plan, "why" | "rewrittenTokens" | "rewriteCost">;

export type LivePruning = ReturnType<typeof openPruning>;

/** Pruning of one session. */
export function openPruning({ config, cwd, values }: SessionView, touches: Touches) {
	const blobs = guardBlobs(createBlobStore(config.blobs), values);
	const survey = createSurveyor({ settings: config, cwd, values, touches });
	const pruner = createPruner(config.prune);
	const history = createPruningHistory();
	/** Pending stubs by entry, with their batch. */
	const made = new Map<string, { pruned: Pruned; plan: BatchPlan }>();
	let trouble: string | undefined;
	/** The call whose result follows the cache marker. */
	let frontier: string | undefined;

	return {
		pruner,
		history,
		blobs,
		/** Why the last pruning failed, for the user. */
		get trouble() {
			return trouble;
		},
		survey,
		prunable,
		keptOut: keptOutNow,

		/** Everything is sent again: all candidates get a stub in this very request. */
		async pruneCold(session: SessionView): Promise<void> {
			await values.refresh();
			noteSettled(session);
			const state = prunable(session, true);
			const { candidates, plan } = pruner.preview(state);
			const results = resultsNow(session);
			await makeStubs(session, knownByCall(candidates, results), plan);
			frontier = frontierOf({ ...state, results: withoutPending(session, results) })?.toolCallId;
		},

		/**
		 * Prunes a batch if it pays; also at the end of a run, since pi may be about to compact.
		 * `toPersist` includes stubs of earlier requests, `isChange` means new ones.
		 */
		async pruneWarm(session: SessionView): Promise<{ toPersist: Pruned[]; isChange: boolean }> {
			await values.refresh();
			noteSettled(session);
			await keepPendingAgain(session);
			const state = prunable(session, false);
			const { candidates, plan } = pruner.decide(state);
			// From before this batch: the provider's cache ends there, and is read again.
			frontier = frontierOf(state)?.toolCallId;
			const count = plan.prune ? await makeStubs(session, candidates, plan) : 0;
			return { toPersist: waiting(session), isChange: count > 0 };
		},

		/** Restores stubs that answers of this branch have seen, if their originals are stored. */
		async restore(session: SessionView): Promise<void> {
			const recorded = session.edits.recorded(OWNER, session.sessionManager);
			if (recorded.size === 0) return;
			const results = resultsNow(session);
			const stubs = [...recorded].flatMap(([entryId, content]) => {
				const item = results.get(entryId);
				const [stub, ...others] = content ?? [];
				return (item && stub && others.length === 0 && prunedAs(item, stub.text)) || [];
			});
			const { pruned } = await keepAgain(stubs, blobs);
			hold(session, pruned, { why: "cold", rewrittenTokens: 0, rewriteCost: 0 });
		},

		/** Records a request's cost, with and without pruning. */
		noteAnswer(message: unknown, session: SessionView): void {
			const tokens = promptTokens(property(message, "usage"));
			const { rules } = session.cache;
			const rewriteCost = noteSettled(session);
			const saved = keptOutNow(session).tokens * rules.readRatio;
			history.noteSaved(saved);
			const cost = costOf(tokens, rules);
			pruner.noteRequest(cost, cost + saved - rewriteCost);
		},

		applyTo: <Message>(messages: readonly Message[], { edits }: SessionView) =>
			edits.applyTo(messages, OWNER),

		/** Marks the cache before the next prunable result; `undefined` for no change. */
		withMarker: (payload: unknown) =>
			frontier === undefined ? undefined : withMarkerBeforeResult(payload, frontier),
	};

	/** Without results that have a stub already. */
	function prunable(session: SessionView, cold: boolean): PrunableSession {
		const { messages, results, facts } = survey(session);
		const { cache, window } = session;
		const bound = cache.boundAnswer;
		const estimated = messages.reduce((sum, { tokens }) => sum + tokens, 0);
		return {
			messages,
			results: withoutPending(session, results),
			facts,
			editableFrom: messages.findLastIndex(({ entryId }) => entryId === bound) + 1,
			cold,
			rules: cache.rules,
			contextTokens: window.tokens ?? estimated,
			contextWindow: window.size,
			ttl: cache.ttl,
		};
	}

	function keptOutNow(session: SessionView): KeptOut {
		return keptOut(resultsNow(session).values());
	}

	/** Returns the number made: a result without a stored blob gets none. */
	async function makeStubs(
		session: SessionView,
		candidates: readonly Candidate[],
		plan: BatchPlan,
	): Promise<number> {
		if (candidates.length === 0) return 0;
		const { pruned, why } = await prune(candidates, blobs);
		trouble = why;
		hold(session, pruned, plan);
		return pruned.length;
	}

	function hold({ edits }: SessionView, batch: readonly Pruned[], plan: BatchPlan): void {
		for (const pruned of batch) {
			const { entryId, toolCallId: sentAs, original } = pruned;
			made.set(entryId, { pruned, plan });
			edits.add({ owner: OWNER, entryId, sentAs, original, content: contentOf(pruned.stub) });
		}
	}

	function waiting({ edits, sessionManager }: SessionView): Pruned[] {
		return edits
			.unsettled(OWNER, sessionManager)
			.flatMap(({ entryId }) => made.get(entryId)?.pruned ?? []);
	}

	/** Originals of stubs from earlier requests may have been deleted since. */
	async function keepPendingAgain(session: SessionView): Promise<void> {
		const stubs = waiting(session);
		const { pruned: kept, why } = await keepAgain(stubs, blobs);
		trouble = why ?? trouble;
		const lost = stubs.filter((one) => !kept.includes(one));
		for (const { entryId } of lost) session.edits.drop(entryId);
	}

	/** A batch counts once the session shows it. Returns the rewrite cost. */
	function noteSettled({ edits, sessionManager }: SessionView): number {
		const settled = edits
			.settle(OWNER, sessionManager)
			.flatMap(({ entryId }) => made.get(entryId) ?? []);
		for (const entryId of made.keys()) if (!edits.get(entryId)) made.delete(entryId);
		let cost = 0;
		for (const [plan, batch] of Map.groupBy(settled, ({ plan }) => plan)) {
			const { why, rewrittenTokens, rewriteCost } = plan;
			const freedTokens = batch.reduce((sum, { pruned }) => sum + pruned.freedTokens, 0);
			const results = batch.length;
			const atMs = Date.now();
			history.noteAction({ why, rewrittenTokens, rewriteCost, results, freedTokens, atMs });
			cost += rewriteCost;
		}
		return cost;
	}

	function withoutPending({ edits }: SessionView, results: Results): Results {
		return new Map([...results].filter(([entryId]) => !edits.get(entryId)));
	}

	function resultsNow({ ledger, sessionManager }: SessionView): Results {
		return resultsIn(ledger.log(sessionManager).items);
	}
}

/** A result with a stub and a stored original. */
export interface Pruned {
	readonly entryId: string;
	readonly toolCallId: string;
	readonly original: string;
	readonly stub: string;
	readonly freedTokens: number;
}

/** Bounds the delay of a turn: pi appends each edit to the session file. */
const MAX_BATCH = 500;

const SIDE_BY_SIDE = 8;

/** Superseded results first. Invariant: no stub without a stored and verified original. */
export function prune(candidates: readonly Candidate[], blobs: BlobStore) {
	const { superseded = [], old = [] } = Object.groupBy(candidates, ({ why }) => why);
	const chosen = [...superseded, ...old].slice(0, MAX_BATCH);
	return inGroups(chosen, (candidate) => pruneOne(candidate, blobs));
}

/** Stores deleted originals again; returns the stubs whose original is stored. */
function keepAgain(pruned: readonly Pruned[], blobs: BlobStore) {
	return inGroups(pruned, async (one) => {
		const kept = await keepProven(one.original, blobs);
		return typeof kept === "string" ? kept : one;
	});
}

/** Stops when a whole group fails: one failure may be the text's, all are the store's. */
async function inGroups<Item>(
	items: readonly Item[],
	work: (item: Item) => Promise<Pruned | string>,
) {
	const pruned: Pruned[] = [];
	/** What kept the rest from being pruned, for the user. */
	let why: string | undefined;
	for (let start = 0; start < items.length; start += SIDE_BY_SIDE) {
		const outcomes = await Promise.all(items.slice(start, start + SIDE_BY_SIDE).map(work));
		const done = outcomes.filter((outcome) => typeof outcome !== "string");
		pruned.push(...done);
		why ??= outcomes.find((outcome) => typeof outcome === "string");
		if (done.length === 0) break;
	}
	return { pruned, why };
}

async function pruneOne({ item }: Candidate, blobs: BlobStore): Promise<Pruned | string> {
	const { text: original } = item;
	if (original === undefined) return "the result holds more than text";
	const kept = await keepProven(original, blobs);
	if (typeof kept === "string") return kept;
	const stub = stubFor(item, original, kept);
	const pruned = stub === undefined ? undefined : prunedAs(item, stub);
	return pruned ?? "the path of the blob folder is too long to be named in a stub";
}

function prunedAs(item: ToolResultItem, stub: string): Pruned | undefined {
	const { entryId, toolCallId, text: original, tokens } = item;
	if (original === undefined) return undefined;
	const freedTokens = tokens - estimateTokens(stub.length);
	return { entryId, toolCallId, original, stub, freedTokens };
}

/** Reads back what it stored: an existing copy may be damaged. */
async function keepProven(text: string, blobs: BlobStore): Promise<Blob | string> {
	for (let attempt = 1; ; attempt++) {
		const kept = await blobs.keep(text);
		if (kept.kind === "not-kept") return kept.why;
		const loaded = await blobs.load(kept.blob.id);
		if (loaded.kind === "found" && loaded.text === text) return kept.blob;
		// Loading deletes a damaged copy.
		if (attempt === 2) return loaded.kind === "failed" ? loaded.why : "the copy is not as it was";
	}
}

/** Requests know results by call id; candidates with a reused id are left out. */
export function knownByCall(candidates: readonly Candidate[], results: Results): Candidate[] {
	const byCall = Map.groupBy(results.values(), ({ toolCallId }) => toolCallId);
	return candidates.filter(({ item }) => byCall.get(item.toolCallId)?.length === 1);
}

export interface Action extends BatchPlan {
	readonly results: number;
	readonly freedTokens: number;
	readonly atMs: number;
}

/** Since this process opened the session. */
export interface PruningSummary {
	readonly actions: readonly Action[];
	readonly results: number;
	readonly freedTokens: number;
	/** In plain input tokens; negative if pruning cost more than it saved. */
	readonly saved: number;
}

const MAX_ACTIONS = 50;

export function createPruningHistory() {
	const actions: Action[] = [];
	let results = 0;
	let freedTokens = 0;
	let saved = 0;
	return {
		noteAction(action: Action): void {
			actions.push(action);
			if (actions.length > MAX_ACTIONS) actions.shift();
			results += action.results;
			freedTokens += action.freedTokens;
			saved -= action.rewriteCost;
		},
		/** In plain input tokens. */
		noteSaved(more: number): void {
			saved += more;
		},
		summary: (): PruningSummary => ({ actions: [...actions], results, freedTokens, saved }),
	};
}

/**
 * Sets a cache marker before a result, if the limit leaves one. A later pruning then rewrites from
 * there, not from the start. `undefined` for no change.
 */
export function withMarkerBeforeResult(payload: unknown, toolCallId: string): object | undefined {
	return withExtraMarker(payload, (messages) => blockBefore(messages, toolCallId));
}

/** Thinking and empty texts cannot carry a marker. */
function blockBefore(messages: readonly unknown[], toolCallId: string) {
	let last: { message: number; block: number } | undefined;
	for (const [message, { content }] of (messages as { content?: unknown }[]).entries()) {
		if (!Array.isArray(content)) continue;
		for (const [block, piece] of content.entries()) {
			if (property(piece, "tool_use_id") === toolCallId) return last;
			if (canCarryMarker(piece)) last = { message, block };
		}
	}
	return undefined;
}
