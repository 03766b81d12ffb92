import { writeRatioFor } from "./cost.ts";
import type { Ttl } from "./request.ts";
import type { CacheRules } from "./rules.ts";

/** What deciding about a rewrite of the conversation takes into account. */
export interface RewriteTerms {
	/** Tokens behind the first changed block: written anew instead of read, once. */
	readonly tokensAfterFirst: number;
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
 * rewrite, a batch must also earn its cost back within {@link LONGEST_PAYBACK} requests.
 */
export function lotSize({
	tokensAfterFirst,
	growthPerRequest,
	rules,
	ttl = "5m",
}: RewriteTerms): number {
	const { readRatio } = rules;
	const premium = writeRatioFor(ttl, rules) - readRatio;
	const rewrite = Math.max(0, premium) * tokensAfterFirst;
	if (rewrite === 0) return 0;
	const batch = Math.sqrt((2 * rewrite * Math.max(0, growthPerRequest)) / readRatio);
	return Math.max(batch, rewrite / (readRatio * LONGEST_PAYBACK));
}

/** Few sessions go on for longer, counted in requests. It decides only where next to nothing grows. */
const LONGEST_PAYBACK = 100;

/**
 * Whether pi is about to compact, which costs more than any rewrite and loses detail. Pi does it when
 * fewer than 16,384 tokens are left; this is a step before.
 */
export function isNearLimit({ contextTokens, contextWindow }: RewriteTerms): boolean {
	return contextTokens >= contextWindow - Math.max(0.1 * contextWindow, 24_576);
}
