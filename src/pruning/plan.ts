import {
	type CacheRules,
	type PruneDecision,
	shouldPrune,
	type Ttl,
	writeRatioFor,
} from "../economy/index.ts";
import type { ContextMessage, ToolResultItem } from "../session/index.ts";
import type { Candidate } from "./candidates.ts";
import { MAX_STUB_TOKENS } from "./stub.ts";

/** What pruning all candidates frees, and where they stand. All in tokens. */
export interface Survey {
	readonly freedTokens: number;
	/** Of the first candidate and all behind it. */
	readonly tokensFromFirst: number;
	/** Of all behind the last candidate. */
	readonly tokensAfterLast: number;
}

/** The state of a session at the moment when it could be pruned. */
export interface Moment extends Price {
	readonly messages: readonly ContextMessage[];
	readonly candidates: readonly Candidate[];
}

/** What pruning costs and gains at a moment, whatever the candidates are. */
export interface Price {
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
	return planFor(surveyOf(moment.messages, moment.candidates), moment);
}

/** What the candidates among messages come to. */
export function surveyOf(
	messages: readonly ContextMessage[],
	candidates: readonly Candidate[],
): Survey {
	const first = candidates[0]?.at ?? messages.length;
	const last = candidates.at(-1)?.at ?? messages.length;
	return {
		freedTokens: freedBy(candidates),
		tokensFromFirst: tokensFrom(messages, first),
		tokensAfterLast: tokensFrom(messages, last + 1),
	};
}

/** The same as {@link planOf} for candidates that were surveyed before. */
export function planFor(survey: Survey, moment: Price): Plan {
	const { freedTokens, tokensFromFirst, tokensAfterLast } = survey;
	const { rules, cold, contextTokens, contextWindow, ttl } = moment;
	const staying = Math.max(0, tokensFromFirst - freedTokens);
	const rewrittenTokens = cold ? 0 : staying;
	const premium = Math.max(0, writeRatioFor(ttl, rules) - rules.readRatio);
	const rewriteCost = premium * rewrittenTokens;
	const decision = shouldPrune({
		prunableTokens: freedTokens,
		tokensAfterFirst: staying,
		tokensAfterLast,
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
	return candidates.reduce((sum, { item }) => sum + freedFrom(item), 0);
}

/** What replacing one frees. */
export function freedFrom({ tokens }: Pick<ToolResultItem, "tokens">): number {
	return Math.max(0, tokens - MAX_STUB_TOKENS);
}
