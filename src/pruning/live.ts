import { promptTokens } from "../core/bill.ts";
import { type BlobStore, createBlobStore } from "../core/blob-store.ts";
import { guardBlobs } from "../core/excluded-values.ts";
import { property } from "../core/property.ts";
import { type BlockPlace, canCarryMarker, costOf, withExtraMarker } from "../economy/index.ts";
import type { SessionView, ToolResultItem } from "../session/index.ts";
import { type Candidate, frontierOf } from "./candidates.ts";
import { createPruner, type Plan, type PrunableSession, type Pruner } from "./pruner.ts";
import {
	callOf,
	contentOf,
	type KeptOut,
	keepAgain,
	keptOut,
	knownByCall,
	type Pruned,
	prune,
	prunedAs,
	pruningStatus,
} from "./stub.ts";
import { createSurveyor, lastMeaningful, resultsIn, type Survey, type Touches } from "./survey.ts";

/** The name under which stubs are pending. */
const OWNER = "pruning";

/** Pruning of one session: what is pending, what was done, and what would be done next. */
export interface LivePruning {
	readonly pruner: Pruner;
	readonly history: PruningHistory;
	readonly blobs: BlobStore;
	/** Why something could not be pruned the last time, in words. */
	readonly trouble: string | undefined;
	survey(session: SessionView): Survey;
	/** What the pruner decides on: all but what has a stub already. */
	prunable(session: SessionView, cold: boolean): PrunableSession;
	/** What stubs keep out of the context as it is now. */
	keptOut(session: SessionView): KeptOut;
	/** The line that is always shown: context size now, and freed so far. */
	status(session: SessionView): string;
	/** The whole conversation is about to be sent: whatever may go gets a stub, for this very request. */
	pruneCold(session: SessionView): Promise<void>;
	/**
	 * The end of a turn: a batch gets stubs if it pays. At the end of a run too: it costs nothing before the next
	 * request, and pi may be about to compact. Returns what has to be persisted, with stubs that requests had already, and
	 * whether the next request has stubs that no request has had.
	 */
	pruneWarm(session: SessionView): Promise<{ toPersist: Pruned[]; isChange: boolean }>;
	/** Stubs that answers of this branch have seen are pending again, if their originals are kept. */
	restore(session: SessionView): Promise<void>;
	/** Takes note of what a request cost, and what it would have cost with the full texts in it. */
	noteAnswer(message: unknown, session: SessionView): void;
	/** A request's messages with the stubs that are pending. */
	applyTo<Message>(messages: readonly Message[], session: SessionView): readonly Message[];
	/** A payload with a cache marker before the first result that may be pruned next; `undefined` for the same. */
	withMarker(payload: unknown): unknown;
	readonly callOf: typeof callOf;
	readonly lastMeaningful: typeof lastMeaningful;
}

type Results = ReadonlyMap<string, ToolResultItem>;
type BatchPlan = Pick<Plan, "why" | "rewrittenTokens" | "rewriteCost">;

/** Opens it for a session. `touches` says what results are about. */
export function openPruning(
	{ config, cwd, values }: SessionView,
	touches: Touches,
	now: () => number,
): LivePruning {
	const blobs = guardBlobs(createBlobStore(config.blobs), values);
	const survey = createSurveyor({ settings: config, cwd, values, touches });
	const pruner = createPruner(config.prune);
	const history = createPruningHistory();
	/** The stubs that are pending, with the batch that each is of. */
	const made = new Map<string, { pruned: Pruned; plan: BatchPlan }>();
	let trouble: string | undefined;
	/** The call before whose result a cache marker stands. */
	let frontier: string | undefined;

	return {
		pruner,
		history,
		blobs,
		get trouble() {
			return trouble;
		},
		survey,
		prunable,
		keptOut: keptOutNow,
		status: (session) => pruningStatus(session.getContextUsage(), keptOutNow(session).tokens),
		callOf,
		lastMeaningful,

		async pruneCold(session) {
			await values.refresh();
			noteSettled(session);
			const state = prunable(session, true);
			const { candidates, plan } = pruner.preview(state);
			const results = resultsNow(session);
			await makeStubs(session, knownByCall(candidates, results), plan);
			frontier = frontierIn({ ...state, results: withoutPending(session, results) });
		},

		async pruneWarm(session) {
			await values.refresh();
			noteSettled(session);
			await keepPendingAgain(session);
			const state = prunable(session, false);
			const { candidates, plan } = pruner.decide(state);
			// As it is before this batch: what the provider has cached ends here, and is read once more.
			frontier = frontierIn(state);
			const count = plan.prune ? await makeStubs(session, candidates, plan) : 0;
			return { toPersist: waiting(session), isChange: count > 0 };
		},

		async restore(session) {
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

		noteAnswer(message, session) {
			const tokens = promptTokens(property(message, "usage"));
			const { rules } = session.cache;
			const rewriteCost = noteSettled(session);
			const saved = keptOutNow(session).tokens * rules.readRatio;
			history.noteSaved(saved);
			const cost = costOf(tokens, rules);
			pruner.noteRequest(cost, cost + saved - rewriteCost);
		},

		applyTo: (messages, { edits }) => edits.applyTo(messages, OWNER),

		withMarker: (payload) =>
			frontier === undefined ? undefined : withMarkerBeforeResult(payload, frontier),
	};

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

	/** Returns how many it made: of what cannot be kept as a blob there is none. */
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
			edits.add({ owner: OWNER, entryId, sentAs, original, content: contentOf(pruned) });
		}
	}

	function waiting({ edits, sessionManager }: SessionView): Pruned[] {
		return edits
			.unsettled(OWNER, sessionManager)
			.flatMap(({ entryId }) => made.get(entryId)?.pruned ?? []);
	}

	/** Stubs that a request had before the session: their originals may have been deleted since. */
	async function keepPendingAgain(session: SessionView): Promise<void> {
		const stubs = waiting(session);
		const { pruned: kept, why } = await keepAgain(stubs, blobs);
		trouble = why ?? trouble;
		const lost = stubs.filter((one) => !kept.includes(one));
		for (const { entryId } of lost) session.edits.drop(entryId);
	}

	/** A batch counts once the session shows it. Returns what rewriting has cost. */
	function noteSettled({ edits, sessionManager }: SessionView): number {
		const settled = new Map<BatchPlan, { results: number; freedTokens: number }>();
		for (const { entryId } of edits.settle(OWNER, sessionManager)) {
			const { pruned, plan } = made.get(entryId) ?? {};
			if (!pruned || !plan) continue;
			const sum = settled.get(plan) ?? { results: 0, freedTokens: 0 };
			sum.results++;
			sum.freedTokens += pruned.freedTokens;
			settled.set(plan, sum);
		}
		for (const entryId of made.keys()) if (!edits.get(entryId)) made.delete(entryId);
		let cost = 0;
		for (const [{ why, rewrittenTokens, rewriteCost }, sum] of settled) {
			history.noteAction({ why, rewrittenTokens, rewriteCost, ...sum, atMs: now() });
			cost += rewriteCost;
		}
		return cost;
	}

	function withoutPending({ edits }: SessionView, results: Results): Results {
		return new Map([...results].filter(([entryId]) => !edits.get(entryId)));
	}

	function frontierIn(state: PrunableSession): string | undefined {
		return frontierOf(state)?.toolCallId;
	}

	function resultsNow({ ledger, sessionManager }: SessionView): Results {
		return resultsIn(ledger.log(sessionManager).items);
	}
}

/** A batch that was pruned, and when. */
export interface Action extends Pick<Plan, "why" | "rewrittenTokens" | "rewriteCost"> {
	readonly results: number;
	readonly freedTokens: number;
	readonly atMs: number;
}

/** What pruning did in a session since this process opened it. */
export interface PruningSummary {
	/** Latest last. */
	readonly actions: readonly Action[];
	readonly results: number;
	readonly freedTokens: number;
	/** In plain input tokens; below zero, it has cost more than it saved. */
	readonly saved: number;
}

/** Keeps count of what pruning did and what it is worth. */
export interface PruningHistory {
	noteAction(action: Action): void;
	/** A request was cheaper by so much, in plain input tokens. */
	noteSaved(saved: number): void;
	summary(): PruningSummary;
}

const MAX_ACTIONS = 50;

/** Makes an empty one. */
export function createPruningHistory(): PruningHistory {
	const actions: Action[] = [];
	let results = 0;
	let freedTokens = 0;
	let saved = 0;
	return {
		noteAction(action) {
			actions.push(action);
			if (actions.length > MAX_ACTIONS) actions.shift();
			results += action.results;
			freedTokens += action.freedTokens;
			saved -= action.rewriteCost;
		},
		noteSaved(more) {
			saved += more;
		},
		summary: () => ({ actions: [...actions], results, freedTokens, saved }),
	};
}

/**
 * Puts a standing cache marker right before the result of a call, if the limit leaves one. Before the first result that
 * a later pruning will replace, it makes that pruning write from there on, and not from the start. Returns a changed
 * copy of the request, or `undefined` where it is to stay as it is: another provider's, without that result, or full.
 */
export function withMarkerBeforeResult(payload: unknown, toolCallId: string): object | undefined {
	return withExtraMarker(payload, (messages) => blockBefore(messages, toolCallId));
}

/** The last block before a call's result that can carry a marker: thinking cannot, nor can an empty text. */
function blockBefore(messages: readonly unknown[], toolCallId: string): BlockPlace | undefined {
	let last: BlockPlace | undefined;
	for (const [message, { content }] of (messages as { content?: unknown }[]).entries()) {
		if (!Array.isArray(content)) continue;
		for (const [block, piece] of content.entries()) {
			if (property(piece, "tool_use_id") === toolCallId) return last;
			if (canCarryMarker(piece)) last = { message, block };
		}
	}
	return undefined;
}
