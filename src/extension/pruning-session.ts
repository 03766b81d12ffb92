import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import { promptTokens, ttlOf } from "../core/bill.ts";
import { type BlobStore, createBlobStore } from "../core/blob-store.ts";
import type { Config } from "../core/config.ts";
import { property } from "../core/property.ts";
import type * as Economy from "../economy/index.ts";
import type * as Pruning from "../pruning/index.ts";
import type { ExcludedValues } from "../readcache/index.ts";
import { createLedger, type Ledger } from "../session/index.ts";
import { boundAnswer } from "./bound-thinking.ts";
import { guardBlobs } from "./guarded-stores.ts";
import type * as Surveying from "./prunable-session.ts";
import { type ShownContent, shownEdits } from "./shown-edits.ts";

/** What is known about the pruning of one session. */
export interface OpenPruning {
	readonly ledger: Ledger;
	readonly blobs: BlobStore;
	readonly pruning: typeof Pruning;
	readonly economy: typeof Economy;
	readonly survey: ReturnType<typeof Surveying.createSurveyor>;
	readonly resultsIn: typeof Surveying.resultsIn;
	readonly pruner: Pruning.Pruner;
	readonly pending: Pruning.PendingStubs;
	readonly history: Pruning.PruningHistory;
	readonly now: () => number;
	/** What excluded files hold. */
	readonly values: ExcludedValues;
	/** For how long the provider keeps what it caches, by its latest bill. */
	ttl: Economy.Ttl;
	/** Why something could not be pruned the last time, in words. */
	trouble: string | undefined;
	/** The call before whose result a cache marker stands. */
	frontier: string | undefined;
}

/** Opens it; loads the code behind it, which most sessions are too short for. */
export async function openPruning(
	settings: Config,
	{ cwd, now, values }: { cwd: string; now: () => number; values: ExcludedValues },
): Promise<OpenPruning> {
	const [pruning, economy, surveying] = await Promise.all([
		import("../pruning/index.ts"),
		import("../economy/index.ts"),
		import("./prunable-session.ts"),
	]);
	const ledger = createLedger();
	return {
		now,
		values,
		ledger,
		blobs: guardBlobs(createBlobStore(settings.blobs), values),
		pruning,
		economy,
		survey: surveying.createSurveyor(ledger, { settings, cwd, values }),
		resultsIn: surveying.resultsIn,
		pruner: pruning.createPruner(settings.prune),
		pending: pruning.createPendingStubs(),
		history: pruning.createPruningHistory(),
		ttl: "5m",
		trouble: undefined,
		frontier: undefined,
	};
}

type Results = Pruning.PrunableSession["results"];

/** Everything is about to be sent anew: whatever may go gets a stub, for this very request. */
export async function pruneCold(open: OpenPruning, ctx: ExtensionContext): Promise<void> {
	const { pruner, pruning } = open;
	await open.values.refresh();
	const results = resultsNow(open, ctx);
	noteSettled(open, results);
	const state = prunableNow(open, ctx, true);
	const { candidates, plan } = pruner.preview(state);
	await makeStubs(open, pruning.knownByCall(candidates, results), plan);
	open.frontier = frontierIn(open, { ...state, results: withoutPending(open, results) });
}

/**
 * Stubs that the answers of this branch have seen in their requests are pending, if the session does not have them and
 * their originals are kept.
 */
export async function keepShown(open: OpenPruning, ctx: ExtensionContext): Promise<void> {
	const { pending, pruning, blobs } = open;
	const shown = [...shownEdits(ctx)].filter(([entryId]) => !pending.has(entryId));
	if (shown.length === 0) return;
	const results = resultsNow(open, ctx);
	const stubs = shown.flatMap(([entryId, content]) => {
		const item = results.get(entryId);
		const [stub, ...others] = content ?? [];
		return (item && stub && others.length === 0 && pruning.prunedAs(item, stub.text)) || [];
	});
	const { pruned } = await pruning.keepAgain(stubs, blobs);
	pending.add(pruned, { why: "cold", rewrittenTokens: 0, rewriteCost: 0 });
}

/** What the next request shows and the session does not have, by entry. */
export function shownNext(open: OpenPruning, ctx: ExtensionContext): Map<string, ShownContent> {
	const waiting = open.pending.toPersist(resultsNow(open, ctx));
	return new Map(waiting.map((one) => [one.entryId, open.pruning.contentOf(one)]));
}

/**
 * At the end of a turn: a batch gets stubs if it pays. At the end of a run too: it costs nothing before the next
 * request, and pi may be about to compact.
 */
export async function pruneWarm(
	open: OpenPruning,
	ctx: ExtensionContext,
): Promise<{
	/** What has to be persisted now, with stubs that requests had already. */
	toPersist: Pruning.Pruned[];
	/** The next request has stubs that no request has had. */
	isChange: boolean;
}> {
	const { pruner, pending } = open;
	await open.values.refresh();
	noteSettled(open, resultsNow(open, ctx));
	await keepPendingAgain(open, ctx);
	const state = prunableNow(open, ctx, false);
	const { candidates, plan } = pruner.decide(state);
	// As it is before this batch: what the provider has cached ends here, and is read once more.
	open.frontier = frontierIn(open, state);
	const made = plan.prune ? await makeStubs(open, candidates, plan) : 0;
	return { toPersist: pending.toPersist(resultsNow(open, ctx)), isChange: made > 0 };
}

/** Takes note of what a request cost, and what it would have cost with the full texts in it. */
export function noteAnswer(open: OpenPruning, message: unknown, ctx: ExtensionContext): void {
	const { pruner, history, economy } = open;
	const tokens = promptTokens(property(message, "usage"));
	open.ttl = ttlOf(tokens) ?? open.ttl;
	const rules = rulesOf(open, ctx);
	const rewriteCost = noteSettled(open, resultsNow(open, ctx));
	const saved = keptOutNow(open, ctx).tokens * rules.readRatio;
	history.noteSaved(saved);
	const cost = economy.costOf(tokens, rules);
	pruner.noteRequest(cost, cost + saved - rewriteCost);
}

/** What the pruner decides on: all but what has a stub already. */
export function prunableNow(
	open: OpenPruning,
	ctx: ExtensionContext,
	cold: boolean,
): Pruning.PrunableSession {
	const { messages, results, facts } = open.survey(ctx.sessionManager);
	const bound = boundAnswer(ctx, open.economy.bindsThinking);
	const usage = ctx.getContextUsage();
	const estimated = messages.reduce((sum, { tokens }) => sum + tokens, 0);
	return {
		messages,
		results: withoutPending(open, results),
		facts,
		editableFrom: messages.findLastIndex(({ entryId }) => entryId === bound) + 1,
		cold,
		rules: rulesOf(open, ctx),
		contextTokens: usage?.tokens ?? estimated,
		contextWindow: usage?.contextWindow || Number.MAX_SAFE_INTEGER,
		ttl: open.ttl,
	};
}

/** What stubs keep out of the context as it is now. */
export function keptOutNow(open: OpenPruning, ctx: ExtensionContext): Pruning.KeptOut {
	return open.pruning.keptOut(resultsNow(open, ctx).values());
}

/** The rules by which the model in use is billed. */
export function rulesOf({ economy }: OpenPruning, { model }: ExtensionContext): Economy.CacheRules {
	return economy.rulesFor(model ?? { provider: "unknown", id: "unknown" });
}

/** Returns how many it made: of what cannot be kept as a blob there is none. */
async function makeStubs(
	open: OpenPruning,
	candidates: readonly Pruning.Candidate[],
	plan: Pruning.Plan,
): Promise<number> {
	if (candidates.length === 0) return 0;
	const { pruned, why } = await open.pruning.prune(candidates, open.blobs);
	open.trouble = why;
	open.pending.add(pruned, plan);
	return pruned.length;
}

/** Stubs that a request had before the session: their originals may have been deleted since. */
async function keepPendingAgain(open: OpenPruning, ctx: ExtensionContext): Promise<void> {
	const { pending, pruning, blobs } = open;
	const waiting = pending.toPersist(resultsNow(open, ctx));
	const { pruned: kept, why } = await pruning.keepAgain(waiting, blobs);
	open.trouble = why ?? open.trouble;
	const lost = waiting.filter((one) => !kept.includes(one));
	for (const { entryId } of lost) pending.drop(entryId);
}

function withoutPending({ pending }: OpenPruning, results: Results): Results {
	return new Map([...results].filter(([entryId]) => !pending.has(entryId)));
}

function frontierIn(open: OpenPruning, state: Pruning.PrunableSession): string | undefined {
	return open.pruning.frontierOf(state)?.toolCallId;
}

/** A batch counts once the session shows it. Returns what writing anew has cost. */
function noteSettled({ pending, history, now }: OpenPruning, results: Results): number {
	let rewriteCost = 0;
	for (const settled of pending.settle(results)) {
		history.noteAction({ ...settled, atMs: now() });
		rewriteCost += settled.rewriteCost;
	}
	return rewriteCost;
}

function resultsNow({ ledger, resultsIn }: OpenPruning, ctx: ExtensionContext): Results {
	return resultsIn(ledger.log(ctx.sessionManager).items);
}
