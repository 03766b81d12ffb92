import type { ContextMessage } from "../context/index.ts";
import {
	type CacheRules,
	type PruneDecision,
	shouldPrune,
	type Ttl,
	writeRatioFor,
} from "../economy/index.ts";
import type { Candidate } from "./candidates.ts";
import { MAX_STUB_TOKENS } from "./stub.ts";

/** The state of a session at the moment when it could be pruned. */
export interface Moment {
	readonly messages: readonly ContextMessage[];
	readonly candidates: readonly Candidate[];
	readonly rules: CacheRules;
	/** The provider has to be sent everything anew in any case. */
	readonly cold: boolean;
	/** Tokens of the next request: the messages', and tools and system prompt. */
	readonly contextTokens: number;
	readonly contextWindow: number;
	/** By how much the prunable tokens grow from one request to the next. */
	readonly growthPerRequest: number;
	/** What a rewrite may cost, in plain input tokens, without making a session that ends now dearer. */
	readonly credit: number;
	readonly ttl: Ttl;
}

/** Whether to prune now, and what that would free and cost. */
export interface Plan {
	readonly prune: boolean;
	/**
	 * As the economy says; or it would pay in the long run, but is `unpaid` so far: a session that ended now would have
	 * been dearer for it.
	 */
	readonly why: PruneDecision["why"] | "unpaid";
	/** The tokens that a batch must free to pay. */
	readonly threshold: number;
	readonly freedTokens: number;
	/** Tokens that the provider has to write again because of it; none if it has to anyway. */
	readonly rewrittenTokens: number;
	/** What that costs, in plain input tokens. */
	readonly rewriteCost: number;
}

/** Near the limit a batch must free this share of the window, or every request would be rewritten for a few tokens. */
const LEAST_SHARE_NEAR_LIMIT = 0.05;

/** A batch must have earned its rewrite back after so many requests: few sessions go on for much longer. */
const LONGEST_PAYBACK = 60;

/**
 * Asks the economy whether replacing all candidates pays. How large the best batch is depends on what every rewrite
 * has to write anew: what stands behind the last candidate. What stands between the candidates grows while one waits
 * and is written anew once, in this batch or the next, so it only counts for whether the batch earns its cost back.
 */
export function planOf(moment: Moment): Plan {
	const { messages, candidates, rules, cold, contextTokens, contextWindow, ttl } = moment;
	const freedTokens = freedBy(candidates);
	const first = candidates[0]?.at ?? messages.length;
	const last = candidates.at(-1)?.at ?? messages.length;
	const rewrittenTokens = cold ? 0 : Math.max(0, tokensFrom(messages, first) - freedTokens);
	const premium = Math.max(0, writeRatioFor(ttl, rules) - rules.readRatio);
	const rewriteCost = premium * rewrittenTokens;
	const decision = shouldPrune({
		prunableTokens: freedTokens,
		tokensAfterFirst: tokensFrom(messages, last + 1),
		growthPerRequest: moment.growthPerRequest,
		rules,
		cold,
		contextTokens,
		contextWindow,
		ttl,
	});
	const payback = rewriteCost / (rules.readRatio * LONGEST_PAYBACK);
	const threshold = Math.max(decision.threshold, payback);
	const plan = { ...decision, threshold, freedTokens, rewrittenTokens, rewriteCost };
	if (decision.why !== "near-limit" && decision.why !== "pays") return plan;
	const makesRoom = freedTokens >= LEAST_SHARE_NEAR_LIMIT * contextWindow;
	if (decision.why === "near-limit" && makesRoom) return plan;
	if (freedTokens < threshold) return { ...plan, prune: false, why: "waits" };
	if (rewriteCost > moment.credit) return { ...plan, prune: false, why: "unpaid" };
	return { ...plan, why: "pays" };
}

function tokensFrom(messages: readonly ContextMessage[], at: number): number {
	return messages.slice(at).reduce((sum, { tokens }) => sum + tokens, 0);
}

/** What replacing these results by stubs frees. */
export function freedBy(candidates: readonly Candidate[]): number {
	return candidates.reduce((sum, { item }) => sum + Math.max(0, item.tokens - MAX_STUB_TOKENS), 0);
}
