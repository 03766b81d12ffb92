import type { ContextMessage } from "../context/index.ts";
import { estimateTokens } from "../core/tokens.ts";
import { type CacheRules, type PruneDecision, shouldPrune, type Ttl } from "../economy/index.ts";
import type { Candidate } from "./candidates.ts";
import { MAX_STUB_BYTES } from "./stub.ts";

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
	readonly ttl: Ttl;
}

/** Whether to prune now, and what that would free and make the provider write again. */
export interface Plan extends PruneDecision {
	readonly freedTokens: number;
	readonly rewrittenTokens: number;
}

/** Asks the economy whether replacing all candidates pays. */
export function planOf(moment: Moment): Plan {
	const { messages, candidates, rules, cold, contextTokens, contextWindow, ttl } = moment;
	const freedTokens = freedBy(candidates);
	const first = candidates[0]?.at ?? messages.length;
	const behind = messages.slice(first).reduce((sum, message) => sum + message.tokens, 0);
	const rewrittenTokens = Math.max(0, behind - freedTokens);
	const decision = shouldPrune({
		prunableTokens: freedTokens,
		tokensAfterFirst: rewrittenTokens,
		growthPerRequest: moment.growthPerRequest,
		rules,
		cold,
		contextTokens,
		contextWindow,
		ttl,
	});
	return { ...decision, freedTokens, rewrittenTokens };
}

/** What replacing these results by stubs frees. */
export function freedBy(candidates: readonly Candidate[]): number {
	return candidates.reduce((sum, { item }) => sum + Math.max(0, item.tokens - STUB_TOKENS), 0);
}

const STUB_TOKENS = estimateTokens(MAX_STUB_BYTES);
