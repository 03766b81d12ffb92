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

/** Asks the economy whether replacing all candidates pays, and whether the session can afford it by now. */
export function planOf(moment: Moment): Plan {
	const { messages, candidates, rules, cold, contextTokens, contextWindow, ttl } = moment;
	const freedTokens = freedBy(candidates);
	const first = candidates[0]?.at ?? messages.length;
	const last = candidates.at(-1)?.at ?? messages.length;
	const staying = Math.max(0, tokensFrom(messages, first) - freedTokens);
	const rewrittenTokens = cold ? 0 : staying;
	const premium = Math.max(0, writeRatioFor(ttl, rules) - rules.readRatio);
	const rewriteCost = premium * rewrittenTokens;
	const decision = shouldPrune({
		prunableTokens: freedTokens,
		tokensAfterFirst: staying,
		tokensAfterLast: tokensFrom(messages, last + 1),
		growthPerRequest: moment.growthPerRequest,
		rules,
		cold,
		contextTokens,
		contextWindow,
		ttl,
	});
	const plan = { ...decision, freedTokens, rewrittenTokens, rewriteCost };
	const isUnpaid = decision.why === "pays" && rewriteCost > moment.credit;
	return isUnpaid ? { ...plan, prune: false, why: "unpaid" } : plan;
}

function tokensFrom(messages: readonly ContextMessage[], at: number): number {
	return messages.slice(at).reduce((sum, { tokens }) => sum + tokens, 0);
}

/** What replacing these results by stubs frees. */
export function freedBy(candidates: readonly Candidate[]): number {
	return candidates.reduce((sum, { item }) => sum + Math.max(0, item.tokens - MAX_STUB_TOKENS), 0);
}
