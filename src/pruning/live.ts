import { promptTokens } from "../core/bill.ts";
import { type BlobStore, createBlobStore } from "../core/blob-store.ts";
import { guardBlobs } from "../core/excluded-values.ts";
import { property } from "../core/property.ts";
import { canCarryMarker, withExtraMarker } from "../economy/index.ts";
import { costOf } from "../economy/rules.ts";
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

const OWNER = "pruning";

/** Pruning of one session. */
export interface LivePruning {
	readonly pruner: Pruner;
	readonly history: PruningHistory;
	readonly blobs: BlobStore;
	/** Why the last pruning failed, for the user. */
	readonly trouble: string | undefined;
	survey(session: SessionView): Survey;
	/** Without results that have a stub already. */
	prunable(session: SessionView, cold: boolean): PrunableSession;
	keptOut(session: SessionView): KeptOut;
	status(session: SessionView): string;
	/** Everything is sent again: all candidates get a stub in this very request. */
	pruneCold(session: SessionView): Promise<void>;
	/**
	 * Prunes a batch if it pays; also at the end of a run, since pi may be about to compact.
	 * `toPersist` includes stubs of earlier requests, `isChange` means new ones.
	 */
	pruneWarm(session: SessionView): Promise<{ toPersist: Pruned[]; isChange: boolean }>;
	/** Restores stubs that answers of this branch have seen, if their originals are stored. */
	restore(session: SessionView): Promise<void>;
	/** Records a request's cost, with and without pruning. */
	noteAnswer(message: unknown, session: SessionView): void;
	applyTo<Message>(messages: readonly Message[], session: SessionView): readonly Message[];
	/** Marks the cache before the next prunable result; `undefined` for no change. */
	withMarker(payload: unknown): unknown;
	readonly callOf: typeof callOf;
	readonly lastMeaningful: typeof lastMeaningful;
}

type Results = ReadonlyMap<string, ToolResultItem>;
type BatchPlan = Pick<Plan, "why" | "rewrittenTokens" | "rewriteCost">;

export function openPruning(
	{ config, cwd, values }: SessionView,
	touches: Touches,
	now: () => number,
): LivePruning {
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
			// From before this batch: the provider's cache ends there, and is read again.
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
			edits.add({ owner: OWNER, entryId, sentAs, original, content: contentOf(pruned) });
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

export interface Action extends Pick<Plan, "why" | "rewrittenTokens" | "rewriteCost"> {
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

export interface PruningHistory {
	noteAction(action: Action): void;
	/** In plain input tokens. */
	noteSaved(saved: number): void;
	summary(): PruningSummary;
}

const MAX_ACTIONS = 50;

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
