import type { Ttl } from "../core/bill.ts";
import { shouldPrune } from "./rewrite.ts";
import { type CacheRules, writeRatioFor } from "./rules.ts";

export interface PricedSession {
	readonly rules: CacheRules;
	/** Whether the next request rewrites the cache anyway. */
	readonly cold: boolean;
	/** Size of the next request, as far as known, with tools and system prompt. */
	readonly contextTokens: number;
	readonly contextWindow: number;
	readonly ttl: Ttl;
}

/** Minimum weight of the latest step in the average. The first steps have equal weights. */
const WEIGHT = 0.05;

/** Growth per request, as a moving average. */
export function createGrowth() {
	let last = 0;
	let steps = 0;
	let average = 0;
	return {
		/** Ignores a smaller size, since output was pruned then. */
		add(size: number) {
			if (size >= last) {
				steps++;
				average += (size - last - average) * Math.max(WEIGHT, 1 / steps);
			}
			last = size;
		},
		get perRequest() {
			return average;
		},
	};
}

/** The effect of pruning all candidates, in tokens. */
export interface PruneEffect {
	readonly freedTokens: number;
	/** Tokens of the conversation from the first candidate on. */
	readonly tokensFromFirst: number;
	readonly tokensAfterLast: number;
}

/** The inputs to the price of pruning, apart from the candidates. */
export interface Price extends PricedSession {
	readonly growthPerRequest: number;
	/** Maximum cost of a rewrite, in plain input tokens, that is no loss even if the session ends now. */
	readonly credit: number;
}

export interface Plan extends Omit<ReturnType<typeof shouldPrune>, "why"> {
	/** `unpaid`: pruning pays in the long run, but is a loss if the session ends now. */
	readonly why: ReturnType<typeof shouldPrune>["why"] | "unpaid";
	readonly freedTokens: number;
	/** Tokens written again because of the pruning; 0 if cold. */
	readonly rewrittenTokens: number;
	/** In plain input tokens. */
	readonly rewriteCost: number;
}

/** Whether replacing all candidates pays, and whether the session can afford it now. */
export function planFor(effect: PruneEffect, moment: Price): Plan {
	const { freedTokens, tokensFromFirst, tokensAfterLast } = effect;
	const { rules, cold, ttl } = moment;
	const staying = Math.max(0, tokensFromFirst - freedTokens);
	const rewrittenTokens = cold ? 0 : staying;
	const premium = Math.max(0, writeRatioFor(ttl, rules) - rules.readRatio);
	const rewriteCost = premium * rewrittenTokens;
	const decision = shouldPrune({
		...moment,
		prunableTokens: freedTokens,
		tokensAfterFirst: staying,
		tokensAfterLast,
	});
	const plan = { ...decision, freedTokens, rewrittenTokens, rewriteCost };
	const isUnpaid = decision.why === "pays" && rewriteCost > moment.credit;
	return isUnpaid ? { ...plan, prune: false, why: "unpaid" } : plan;
}
