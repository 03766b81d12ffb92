import { writeRatioFor } from "./cost.ts";
import type { Ttl } from "./request.ts";
import type { CacheRules } from "./rules.ts";

/** What deciding about a rewrite of the conversation takes into account. */
export interface RewriteTerms {
	/** Tokens that stay behind the first changed block: written anew instead of read, once. */
	readonly tokensAfterFirst: number;
	/**
	 * Those of them that every rewrite has to write anew, however long one waits: what stands behind the last changed
	 * block. Default: all.
	 */
	readonly tokensAfterLast?: number;
	/** By how many tokens the removable part grows from one request to the next, on average. */
	readonly growthPerRequest: number;
	readonly rules: Pick<CacheRules, "readRatio" | "writeRatio" | "writeOneHourRatio">;
	/** The conversation is written anew in any case. */
	readonly cold: boolean;
	readonly contextTokens: number;
	readonly contextWindow: number;
	/** For how long the session writes its cache. Default: 5m. */
	readonly ttl?: Ttl;
}

/**
 * How many removable tokens make a rewrite pay. With w and r the prices of writing and reading, a rewrite
 * costs (w − r)·S, and every removable token left in place costs r in each request. While they grow by g
 * a request, the cost is least with batches of √(2(w − r)·S·g / r), the economic order quantity. That formula
 * trusts in an endless session; so that hardly any growth does not make a few tokens worth a large
 * rewrite, a batch must also earn its cost back within `longestPayback` requests.
 *
 * What stands between the changed blocks grows while one waits and is written anew once, in this batch or the next: so it
 * is no part of S, but of what has to be earned back.
 */
export function lotSize(terms: RewriteTerms, longestPayback: number): number {
	const { tokensAfterFirst, tokensAfterLast = tokensAfterFirst, growthPerRequest, rules } = terms;
	const { readRatio } = rules;
	const premium = Math.max(0, writeRatioFor(terms.ttl ?? "5m", rules) - readRatio);
	const rewrite = premium * tokensAfterFirst;
	if (rewrite === 0) return 0;
	if (readRatio === 0) return Number.POSITIVE_INFINITY; // what is read for nothing may stay
	const payback = rewrite / (readRatio * longestPayback);
	const rewriteEachTime = premium * tokensAfterLast;
	const batch = Math.sqrt((2 * rewriteEachTime * Math.max(0, growthPerRequest)) / readRatio);
	return Math.max(batch, payback);
}

/**
 * Whether pi is about to compact, which costs more than any rewrite and loses detail. Pi does it when
 * fewer than 16,384 tokens are left; this is a step before.
 */
export function isNearLimit({ contextTokens, contextWindow }: RewriteTerms): boolean {
	return contextTokens >= contextWindow - Math.max(0.1 * contextWindow, 24_576);
}
