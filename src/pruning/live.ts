import { promptTokens } from "../core/bill.ts";
import { type BlobStore, createBlobStore, storeVerified } from "../core/blob-store.ts";
import { guardBlobs } from "../core/excluded-values.ts";
import { property } from "../core/property.ts";
import { estimateTokens } from "../core/tokens.ts";
import { canCarryBreakpoint, withExtraBreakpoint } from "../economy/index.ts";
import { costOf } from "../economy/rules.ts";
import { type SessionView, shortenedOf, type ToolResultItem } from "../session/index.ts";
import { type Candidate, frontierOf, withReferrers, worthwhile } from "./candidates.ts";
import { type BatchPlan, type PrunableSession, PruneLog, Pruner } from "./pruner.ts";
import { contentOf, isStub, type StubTotals, stubFor, stubTotals } from "./stub.ts";
import { createSurveyor, resultsIn, type Touches } from "./survey.ts";

const OWNER = "pruning";

type Results = ReadonlyMap<string, ToolResultItem>;

export class LivePruning {
	readonly pruner: Pruner;
	readonly log = new PruneLog();
	readonly blobs: BlobStore;
	readonly survey: ReturnType<typeof createSurveyor>;
	readonly #values: SessionView["values"];
	/** Stubs that are not in the session yet, by entry, with the plan of their batch. */
	readonly #pendingStubs = new Map<string, { pruned: Pruned; plan: BatchPlan }>();
	/** Texts that the user wants back and that are not in the session yet, by entry. */
	readonly #restored = new Map<string, ReturnType<typeof contentOf>>();
	/** Why the last pruning failed, for the user. */
	lastFailure: string | undefined;
	/** Id of the call whose result follows the breakpoint. */
	#frontier: string | undefined;

	constructor({ config, cwd, values }: SessionView, touches: Touches) {
		this.pruner = new Pruner(config.prune);
		this.blobs = guardBlobs(createBlobStore(config.blobs), values);
		this.survey = createSurveyor({ settings: config, cwd, values, touches });
		this.#values = values;
	}

	/** For a cold cache, which is rewritten anyway. All candidates get a stub in the current request. */
	async pruneCold(session: SessionView): Promise<void> {
		await this.#values.refresh();
		this.#recordSettled(session);
		const state = this.prunable(session, true);
		const { candidates, plan } = this.pruner.preview(state);
		const results = resultsNow(session);
		await this.#makeStubs(session, withUniqueCallId(candidates, results), plan);
		const left = { ...state, results: withoutPending(session, results) };
		this.#frontier = frontierOf(left)?.toolCallId;
	}

	/**
	 * Prunes a batch if that pays. Also called at the end of a run, since pi may be about to compact.
	 * `toPersist` includes stubs of earlier requests. `freedTokens` is 0 if there are no new stubs.
	 */
	async pruneWarm(session: SessionView): Promise<{ toPersist: Pruned[]; freedTokens: number }> {
		await this.#values.refresh();
		this.#recordSettled(session);
		await this.#storePendingAgain(session);
		const state = this.prunable(session, false);
		const { candidates, plan } = this.pruner.decide(state);
		// The frontier before this batch, where the provider's cache ends and is read again.
		this.#frontier = frontierOf(state)?.toolCallId;
		const added = plan.prune ? await this.#makeStubs(session, candidates, plan) : [];
		return { toPersist: this.#unsettledStubs(session), freedTokens: freedBy(added) };
	}

	/** Restores stubs that the model has seen on this branch, if their originals can be stored. */
	async restore(session: SessionView): Promise<void> {
		const recorded = session.edits.recorded(OWNER, session.sessionManager);
		if (recorded.size === 0) return;
		const results = resultsNow(session);
		const stubs: Pruned[] = [];
		for (const [entryId, content] of recorded) {
			const item = results.get(entryId);
			const [stub, ...others] = content ?? [];
			if (!item || !stub || !isStub(stub.text) || others.length > 0) continue;
			const stored = await exactText(item, this.blobs);
			const pruned = stored === undefined ? undefined : prunedAs(item, stub.text, stored);
			if (pruned) stubs.push(pruned);
		}
		const { pruned } = await storeAgain(stubs, this.blobs);
		this.#addPending(session, pruned, { why: "cold", rewrittenTokens: 0, rewriteCost: 0 });
	}

	/** Replaces a result because the user wants it. Returns why it cannot be, or nothing. */
	async dropByHand(session: SessionView, callId: string): Promise<string | undefined> {
		await this.#values.refresh();
		this.#recordSettled(session);
		if (this.#cancel(session, callId, this.#restored)) return undefined;
		const { toDrop } = await import("./by-hand.ts");
		const chosen = toDrop(this.prunable(session, false), callId);
		if ("refusal" in chosen) return chosen.refusal;
		const plan: BatchPlan = { why: "hand", rewrittenTokens: 0, rewriteCost: 0 };
		const added = await this.#makeStubs(session, [chosen], plan);
		if (added.length === 0) return this.lastFailure ?? "its full text could not be stored";
		session.cache.notePruned(freedBy(added));
		return undefined;
	}

	/** Shows a stub's text again because the user wants it. Returns why it cannot be, or nothing. */
	async restoreByHand(session: SessionView, callId: string): Promise<string | undefined> {
		this.#recordSettled(session);
		if (this.#cancel(session, callId, this.#pendingStubs)) return undefined;
		const { messages, results, facts } = this.survey(session);
		const { editableFrom } = this.prunable(session, false);
		const { toRestore } = await import("./by-hand.ts");
		const item = toRestore({ messages, results, facts, editableFrom }, callId);
		if ("refusal" in item) return item.refusal;
		const { entryId, toolCallId: sentAs, text: original, returned = "" } = item;
		const content = contentOf(returned);
		this.#restored.set(entryId, content);
		const before = original !== undefined && { original };
		session.edits.add({ owner: OWNER, entryId, sentAs, ...before, content, isExplained: true });
		session.cache.notePruned();
		return undefined;
	}

	/** Cancels an edit that no request has shown yet. Returns whether there was one. */
	#cancel(session: SessionView, callId: string, edits: Map<string, unknown>): boolean {
		const own = [...resultsNow(session).values()].find(({ toolCallId }) => toolCallId === callId);
		const stub = own && this.#pendingStubs.get(own.entryId);
		const isByHand = stub === undefined || stub.plan.why === "hand";
		if (!own || !edits.delete(own.entryId)) return false;
		if (isByHand) session.cache.noteUnpruned(stub?.pruned.freedTokens);
		session.edits.drop(own.entryId);
		return true;
	}

	/** The texts to write into the session in place of stubs. */
	restoredNow({ edits, sessionManager }: SessionView) {
		return edits.unsettled(OWNER, sessionManager).flatMap(({ entryId }) => {
			const content = this.#restored.get(entryId);
			return content ? [{ entryId, content }] : [];
		});
	}

	recordAnswer(message: unknown, session: SessionView): void {
		const tokens = promptTokens(property(message, "usage"));
		const { rules } = session.cache;
		const rewriteCost = this.#recordSettled(session);
		const saved = this.stubTotals(session).tokens * rules.readRatio;
		const cost = costOf(tokens, rules);
		this.pruner.recordRequest(cost, cost + saved - rewriteCost);
	}

	applyTo<Message>(messages: readonly Message[], { edits }: SessionView): readonly Message[] {
		return edits.applyTo(messages, OWNER);
	}

	/** Sets a breakpoint before the next prunable result. `undefined` for no change. */
	withBreakpoint(payload: unknown): object | undefined {
		if (this.#frontier === undefined) return undefined;
		return withBreakpointBeforeResult(payload, this.#frontier);
	}

	/** The input of the pruner, without results that already have a stub. */
	prunable(session: SessionView, cold: boolean): PrunableSession {
		const { messages, results, facts } = this.survey(session);
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

	stubTotals(session: SessionView): StubTotals {
		return stubTotals(resultsNow(session).values());
	}

	/** Returns the stubs. A result gets no stub if its blob cannot be stored. */
	async #makeStubs(
		session: SessionView,
		candidates: readonly Candidate[],
		plan: BatchPlan,
	): Promise<readonly Pruned[]> {
		if (candidates.length === 0) return [];
		const inContext = withoutPending(session, resultsNow(session));
		const { pruned, why } = await prune(candidates, this.blobs, inContext.values());
		this.lastFailure = why;
		this.#addPending(session, pruned, plan);
		return pruned;
	}

	#addPending({ edits }: SessionView, batch: readonly Pruned[], plan: BatchPlan): void {
		for (const pruned of batch) {
			const { entryId, toolCallId: sentAs, original } = pruned;
			this.#pendingStubs.set(entryId, { pruned, plan });
			const content = contentOf(pruned.stub);
			// Requests show these before the session has them.
			const isExplained = plan.why === "hand" || plan.why === "cold";
			edits.add({ owner: OWNER, entryId, sentAs, original, content, isExplained });
		}
	}

	#unsettledStubs({ edits, sessionManager }: SessionView): Pruned[] {
		return edits
			.unsettled(OWNER, sessionManager)
			.flatMap(({ entryId }) => this.#pendingStubs.get(entryId)?.pruned ?? []);
	}

	/** Restores deleted originals of pending stubs. Drops a stub if that fails. */
	async #storePendingAgain(session: SessionView): Promise<void> {
		const stubs = this.#unsettledStubs(session);
		const { pruned: stored, why } = await storeAgain(stubs, this.blobs);
		this.lastFailure = why ?? this.lastFailure;
		const inContext = [...resultsNow(session).values()];
		const kept = withReferrers(withItems(stored, inContext), inContext).map(stubOf);
		const lost = stubs.filter((one) => !kept.includes(one));
		for (const { entryId } of lost) session.edits.drop(entryId);
	}

	/** Logs the batches that are now in the session. Returns their rewrite cost. */
	#recordSettled({ edits, sessionManager }: SessionView): number {
		const stubs = this.#pendingStubs;
		const settled = edits
			.settle(OWNER, sessionManager)
			.flatMap(({ entryId }) => stubs.get(entryId) ?? []);
		for (const entryId of stubs.keys()) if (!edits.get(entryId)) stubs.delete(entryId);
		for (const entryId of this.#restored.keys()) {
			if (!edits.get(entryId)) this.#restored.delete(entryId);
		}
		let cost = 0;
		for (const [plan, batch] of Map.groupBy(settled, ({ plan }) => plan)) {
			const { why, rewrittenTokens, rewriteCost } = plan;
			const freedTokens = freedBy(batch.map(({ pruned }) => pruned));
			const results = batch.length;
			const atMs = Date.now();
			this.log.add({ why, rewrittenTokens, rewriteCost, results, freedTokens, atMs });
			cost += rewriteCost;
		}
		return cost;
	}
}

function withoutPending({ edits }: SessionView, results: Results): Results {
	return new Map([...results].filter(([entryId]) => !edits.get(entryId)));
}

function resultsNow({ ledger, sessionManager }: SessionView): Results {
	return resultsIn(ledger.log(sessionManager).items);
}

/** A result with a stub and a stored original. */
export interface Pruned {
	readonly entryId: string;
	readonly toolCallId: string;
	/** The text that the stub replaces. */
	readonly original: string;
	/** The text that the stub leads to: the original, or what it was before it was shortened at birth. */
	readonly stored: string;
	readonly stub: string;
	readonly freedTokens: number;
}

/** Maximum stubs per batch. Bounds the delay of a turn, since pi appends each edit to the session file. */
const MAX_BATCH = 500;

const CONCURRENCY = 8;

/**
 * Prunes superseded results first. Invariants: no stub without a stored and verified original, and none for
 * a result that a reference in one of the other `results` means.
 */
export async function prune(
	candidates: readonly Candidate[],
	blobs: BlobStore,
	results: Iterable<ToolResultItem> = candidates.map(({ item }) => item),
) {
	const inContext = [...results];
	const { superseded = [], old = [] } = Object.groupBy(candidates, ({ why }) => why);
	const chosen = worthwhile([...superseded, ...old].slice(0, MAX_BATCH), inContext);
	const { pruned, why } = await inBatches(chosen, (candidate) => pruneOne(candidate, blobs));
	return { pruned: worthwhile(withItems(pruned, inContext), inContext).map(stubOf), why };
}

/** The stubs with their results, as far as these are in the context. */
function withItems(stubs: readonly Pruned[], inContext: readonly ToolResultItem[]) {
	const byEntry = new Map(inContext.map((item) => [item.entryId, item]));
	return stubs.flatMap((stub) => {
		const item = byEntry.get(stub.entryId);
		return item ? [{ stub, item }] : [];
	});
}

function stubOf({ stub }: { readonly stub: Pruned }): Pruned {
	return stub;
}

/** Restores deleted originals. Returns the stubs whose original is stored. */
function storeAgain(pruned: readonly Pruned[], blobs: BlobStore) {
	return inBatches(pruned, async (one) => {
		const kept = await storeVerified(one.stored, blobs);
		return typeof kept === "string" ? kept : one;
	});
}

/** Stops if a whole batch fails, since the store is then at fault, not one of the texts. */
async function inBatches<Item>(
	items: readonly Item[],
	work: (item: Item) => Promise<Pruned | string>,
) {
	const pruned: Pruned[] = [];
	let why: string | undefined;
	for (let start = 0; start < items.length; start += CONCURRENCY) {
		const outcomes = await Promise.all(items.slice(start, start + CONCURRENCY).map(work));
		const done = outcomes.filter((outcome) => typeof outcome !== "string");
		pruned.push(...done);
		why ??= outcomes.find((outcome) => typeof outcome === "string");
		if (done.length === 0) break;
	}
	return { pruned, why };
}

async function pruneOne({ item }: Candidate, blobs: BlobStore): Promise<Pruned | string> {
	if (item.text === undefined) return "the result holds more than text";
	const stored = await exactText(item, blobs);
	if (stored === undefined) return "the exact text of a shortened result is lost";
	const kept = await storeVerified(stored, blobs);
	if (typeof kept === "string") return kept;
	const stub = stubFor(item, stored, kept);
	const pruned = stub === undefined ? undefined : prunedAs(item, stub, stored);
	return pruned ?? "the path of the blob folder is too long to be named in a stub";
}

/** References mean nothing in a stored text, so a shortened result is stored as it was before. */
async function exactText(item: ToolResultItem, blobs: BlobStore): Promise<string | undefined> {
	const short = shortenedOf(item);
	if (!short) return item.text;
	const loaded = await blobs.load(short.original);
	return loaded.kind === "found" ? loaded.text : undefined;
}

function prunedAs(item: ToolResultItem, stub: string, stored: string): Pruned | undefined {
	const { entryId, toolCallId, text: original, tokens } = item;
	if (original === undefined) return undefined;
	const freedTokens = tokens - estimateTokens(stub.length);
	return { entryId, toolCallId, original, stored, stub, freedTokens };
}

/** Omits candidates with a reused call id, since requests identify results by call id. */
export function withUniqueCallId(candidates: readonly Candidate[], results: Results): Candidate[] {
	const byCall = Map.groupBy(results.values(), ({ toolCallId }) => toolCallId);
	return candidates.filter(({ item }) => byCall.get(item.toolCallId)?.length === 1);
}

/** Lets a later pruning rewrite only what follows. `undefined` if no breakpoint can be added. */
export function withBreakpointBeforeResult(payload: unknown, toolCallId: string) {
	return withExtraBreakpoint(payload, (messages) => blockBefore(messages, toolCallId));
}

/** The last block before the result that can carry a breakpoint. */
function blockBefore(messages: readonly unknown[], toolCallId: string) {
	let last: { message: number; block: number } | undefined;
	for (const [message, { content }] of (messages as { content?: unknown }[]).entries()) {
		if (!Array.isArray(content)) continue;
		for (const [block, piece] of content.entries()) {
			if (property(piece, "tool_use_id") === toolCallId) return last;
			if (canCarryBreakpoint(piece)) last = { message, block };
		}
	}
	return undefined;
}

function freedBy(batch: readonly Pruned[]): number {
	return batch.reduce((sum, { freedTokens }) => sum + freedTokens, 0);
}
