import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import { createLedger, type Ledger } from "../context/index.ts";
import { type BlobStore, createBlobStore } from "../core/blob-store.ts";
import type { Config } from "../core/config.ts";
import { property } from "../core/property.ts";
import type * as Economy from "../economy/index.ts";
import type * as Pruning from "../pruning/index.ts";
import { promptTokens, ttlOf } from "./prompt-tokens.ts";
import type * as Surveying from "./prunable-session.ts";

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
	{ cwd, now }: { cwd: string; now: () => number },
): Promise<OpenPruning> {
	const [pruning, economy, surveying] = await Promise.all([
		import("../pruning/index.ts"),
		import("../economy/index.ts"),
		import("./prunable-session.ts"),
	]);
	const ledger = createLedger();
	return {
		now,
		ledger,
		blobs: createBlobStore(settings.blobs),
		pruning,
		economy,
		survey: surveying.createSurveyor(ledger, { settings, cwd }),
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
export async function pruneCold(session: OpenPruning, ctx: ExtensionContext): Promise<void> {
	const { pruner, pruning } = session;
	const results = resultsNow(session, ctx);
	noteSettled(session, results);
	const state = prunableNow(session, ctx, true);
	const { candidates, plan } = pruner.preview(state);
	await makeStubs(session, pruning.knownByCall(candidates, results), plan);
	session.frontier = frontierIn(session, { ...state, results: withoutPending(session, results) });
}

/**
 * At the end of a turn: a batch gets stubs if it pays. At the end of a run too: it costs nothing before the next
 * request, and pi may be about to compact.
 */
export async function pruneWarm(
	session: OpenPruning,
	ctx: ExtensionContext,
): Promise<{
	/** What has to be persisted now, with stubs that requests had already. */
	toPersist: Pruning.Pruned[];
	/** The next request has stubs that no request has had. */
	isChange: boolean;
}> {
	const { pruner, pending } = session;
	noteSettled(session, resultsNow(session, ctx));
	await keepPendingAgain(session, ctx);
	const state = prunableNow(session, ctx, false);
	const { candidates, plan } = pruner.decide(state);
	// As it is before this batch: what the provider has cached ends here, and is read once more.
	session.frontier = frontierIn(session, state);
	const made = plan.prune ? await makeStubs(session, candidates, plan) : 0;
	return { toPersist: pending.toPersist(resultsNow(session, ctx)), isChange: made > 0 };
}

/** Takes note of what a request cost, and what it would have cost with the full texts in it. */
export function noteAnswer(session: OpenPruning, message: unknown, ctx: ExtensionContext): void {
	const { pruner, history, economy } = session;
	const tokens = promptTokens(property(message, "usage"));
	session.ttl = ttlOf(tokens) ?? session.ttl;
	const rules = rulesOf(session, ctx);
	const rewriteCost = noteSettled(session, resultsNow(session, ctx));
	const saved = standingNow(session, ctx) * rules.readRatio;
	history.noteSaved(saved);
	const cost = economy.costOf(tokens, rules);
	pruner.noteRequest(cost, cost + saved - rewriteCost);
}

/** What the pruner decides on: all but what has a stub already. */
export function prunableNow(
	session: OpenPruning,
	ctx: ExtensionContext,
	cold: boolean,
): Pruning.PrunableSession {
	const { messages, results, facts } = session.survey(ctx.sessionManager);
	const usage = ctx.getContextUsage();
	const estimated = messages.reduce((sum, { tokens }) => sum + tokens, 0);
	return {
		messages,
		results: withoutPending(session, results),
		facts,
		cold,
		rules: rulesOf(session, ctx),
		contextTokens: usage?.tokens ?? estimated,
		contextWindow: usage?.contextWindow || Number.MAX_SAFE_INTEGER,
		ttl: session.ttl,
	};
}

/** The tokens that stubs keep out of the context as it is now. */
export function standingNow(session: OpenPruning, ctx: ExtensionContext): number {
	return session.pruning.standingTokens(resultsNow(session, ctx).values());
}

/** The rules by which the model in use is billed. */
export function rulesOf({ economy }: OpenPruning, { model }: ExtensionContext): Economy.CacheRules {
	return economy.rulesFor(model ?? { provider: "unknown", id: "unknown" });
}

/** Returns how many it made: of what cannot be kept as a blob there is none. */
async function makeStubs(
	session: OpenPruning,
	candidates: readonly Pruning.Candidate[],
	plan: Pruning.Plan,
): Promise<number> {
	if (candidates.length === 0) return 0;
	const { pruned, why } = await session.pruning.prune(candidates, session.blobs);
	session.trouble = why;
	session.pending.add(pruned, plan);
	return pruned.length;
}

/** Stubs that a request had before the session: their originals may have been deleted since. */
async function keepPendingAgain(session: OpenPruning, ctx: ExtensionContext): Promise<void> {
	const { pending, pruning, blobs } = session;
	const waiting = pending.toPersist(resultsNow(session, ctx));
	const { pruned: kept, why } = await pruning.keepAgain(waiting, blobs);
	session.trouble = why ?? session.trouble;
	const lost = waiting.filter((one) => !kept.includes(one));
	for (const { entryId } of lost) pending.drop(entryId);
}

function withoutPending({ pending }: OpenPruning, results: Results): Results {
	return new Map([...results].filter(([entryId]) => !pending.has(entryId)));
}

function frontierIn(session: OpenPruning, state: Pruning.PrunableSession): string | undefined {
	const { messages, results, facts } = state;
	return session.pruning.frontierOf(messages, results, facts)?.toolCallId;
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
