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

/**
 * Why to rewrite now or not: there is `nothing` to remove or move; the cache is `cold`, so it is free; `near-limit` of the
 * context window; it `pays`; or it `waits` until there is more.
 */
type Why = "nothing" | "cold" | "near-limit" | "pays" | "waits";

/** The state of a conversation from which old content could be removed. */
export interface PruneTerms extends RewriteTerms {
	/** Tokens that would be gone. */
	readonly prunableTokens: number;
}

/** Whether to prune now. */
export interface PruneDecision {
	readonly prune: boolean;
	readonly why: Why;
	/** The prunable tokens from which pruning a warm conversation pays. */
	readonly threshold: number;
}

/** Prunes in batches of the best size, and at once where it is free or there is no room left. */
export function shouldPrune(terms: PruneTerms): PruneDecision {
	const { prunableTokens, cold, contextWindow } = terms;
	const threshold = lotSize(terms, PRUNE_PAYBACK);
	if (prunableTokens <= 0) return { prune: false, why: "nothing", threshold };
	if (cold) return { prune: true, why: "cold", threshold };
	// Next to the limit every request would be rewritten, however little had come since the one before.
	const makesRoom = prunableTokens >= LEAST_ROOM * contextWindow;
	if (isNearLimit(terms) && makesRoom) return { prune: true, why: "near-limit", threshold };
	const pays = prunableTokens >= threshold;
	return { prune: pays, why: pays ? "pays" : "waits", threshold };
}

/** The share of the window that a batch must free next to the limit. */
const LEAST_ROOM = 0.05;

/** In requests: few sessions go on for much longer. */
const PRUNE_PAYBACK = 60;

/** The state of a conversation whose content could be sorted by how long it has stayed unchanged. */
export interface ReorganiseTerms extends RewriteTerms {
	/** Tokens that would be gone: outdated snapshots, superseded reads, old results. */
	readonly deadTokens: number;
}

/** Whether to reorganise now. */
export interface ReorganiseDecision {
	readonly reorganise: boolean;
	readonly why: Why;
	/** The dead tokens from which reorganising a warm conversation pays. */
	readonly threshold: number;
}

/**
 * A new order alone never pays on a warm prefix: what is read costs the same in any order. So a warm
 * conversation is reorganised for what it drops, and a cold one whenever a block would move.
 */
export function shouldReorganise(terms: ReorganiseTerms): ReorganiseDecision {
	const { tokensAfterFirst, deadTokens, cold } = terms;
	const threshold = lotSize(terms, REORGANISE_PAYBACK);
	if (tokensAfterFirst <= 0) return { reorganise: false, why: "nothing", threshold };
	if (cold) return { reorganise: true, why: "cold", threshold };
	if (deadTokens <= 0) return { reorganise: false, why: "nothing", threshold };
	if (isNearLimit(terms)) return { reorganise: true, why: "near-limit", threshold };
	const pays = deadTokens >= threshold;
	return { reorganise: pays, why: pays ? "pays" : "waits", threshold };
}

/** In requests: few sessions go on for longer. It decides only where next to nothing dies. */
const REORGANISE_PAYBACK = 100;

/**
 * What a rewrite may cost so that a session which ends right after it is still no dearer than it would have been, but
 * for a small share. A rewrite pays only over the requests that follow, and nobody knows whether there will be any: so
 * it is paid out of what earlier ones have saved, and out of {@link SHARE} of what was spent. Costs are in plain input
 * tokens.
 */
export interface RewriteCredit {
	/** Takes note of a request: what it cost, and what it would have cost in pi's own form. */
	add(cost: number, costOfPis: number): void;
	/** What may be spent now. */
	left(): number;
}

/** By how much a session may become dearer at worst. Below two percent, for sizes are estimates. */
const SHARE = 0.015;

/** Begins with nothing spent, and so with nothing to spend. */
export function createRewriteCredit(): RewriteCredit {
	let cost = 0;
	let costOfPis = 0;
	return {
		add(own, pis) {
			cost += own;
			costOfPis += pis;
		},
		left: () => (1 + SHARE) * costOfPis - cost,
	};
}
