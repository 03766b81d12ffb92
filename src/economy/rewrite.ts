import type { Ttl } from "../core/bill.ts";
import { type Ratios, writeRatioFor } from "./rules.ts";

interface RewriteTerms {
	/** Tokens that remain after the first changed block. They are written once instead of read. */
	readonly tokensAfterFirst: number;
	/** Tokens that remain after the last changed block. Every rewrite writes them. Default: the value above. */
	readonly tokensAfterLast?: number;
	/** Tokens that become removable per request, on average. */
	readonly growthPerRequest: number;
	readonly rules: Ratios;
	/** True if the next request writes the conversation to the cache in any case. */
	readonly cold: boolean;
	readonly contextTokens: number;
	readonly contextWindow: number;
	/** Lifetime of the session's cache writes. Default: 5m. */
	readonly ttl?: Ttl;
}

/**
 * Returns how many removable tokens make a rewrite pay. A token costs w to write and r to read, and S tokens
 * follow the last changed block. So a rewrite costs (w − r)·S, and each removable token left in place costs r
 * per request. If g tokens become removable per request, batches of √(2(w − r)·S·g / r) cost least: the
 * economic order quantity. The formula assumes an endless session, so a batch must also pay back within
 * `longestPayback` requests. Tokens between the changed blocks are written only once, in this batch or the
 * next. So they count towards the payback, but not towards S.
 */
function lotSize(terms: RewriteTerms, longestPayback: number): number {
	const { tokensAfterFirst, tokensAfterLast = tokensAfterFirst, growthPerRequest, rules } = terms;
	const { readRatio } = rules;
	const premium = Math.max(0, writeRatioFor(terms.ttl ?? "5m", rules) - readRatio);
	const rewrite = premium * tokensAfterFirst;
	if (rewrite === 0) return 0;
	if (readRatio === 0) return Number.POSITIVE_INFINITY; // free reads: saving them never pays
	const payback = rewrite / (readRatio * longestPayback);
	const rewriteEachTime = premium * tokensAfterLast;
	const batch = Math.sqrt((2 * rewriteEachTime * Math.max(0, growthPerRequest)) / readRatio);
	return Math.max(batch, payback);
}

/** True shortly before pi compacts (below 16,384 free tokens), which costs more and loses detail. */
function isNearLimit({ contextTokens, contextWindow }: RewriteTerms): boolean {
	return contextTokens >= contextWindow - Math.max(0.1 * contextWindow, 24_576);
}

interface Decision {
	/** `nothing`: nothing to remove or move. `cold`: a rewrite is free. `waits`: the batch is too small. */
	readonly why: "nothing" | "cold" | "near-limit" | "pays" | "waits";
	/** Minimum number of removable tokens at which rewriting a warm conversation pays. */
	readonly threshold: number;
}

export interface PruneTerms extends RewriteTerms {
	readonly prunableTokens: number;
}

export function shouldPrune(terms: PruneTerms): Decision & { readonly prune: boolean } {
	const { prunableTokens, cold, contextWindow } = terms;
	const threshold = lotSize(terms, PRUNE_PAYBACK);
	if (prunableTokens <= 0) return { prune: false, why: "nothing", threshold };
	if (cold) return { prune: true, why: "cold", threshold };
	// Without a minimum batch, every request near the limit would be rewritten.
	const makesRoom = prunableTokens >= LEAST_ROOM * contextWindow;
	if (isNearLimit(terms) && makesRoom) return { prune: true, why: "near-limit", threshold };
	const pays = prunableTokens >= threshold;
	return { prune: pays, why: pays ? "pays" : "waits", threshold };
}

/** Minimum share of the window that a batch near the limit must free. */
const LEAST_ROOM = 0.05;

/** Maximum payback time of a pruning, in requests: few sessions last much longer. */
const PRUNE_PAYBACK = 60;

/** With a warm cache, only dropping text can pay, never a new order alone. With a cold one, any move pays. */
export function shouldReorganise(
	terms: RewriteTerms & { readonly deadTokens: number },
): Decision & { readonly reorganise: boolean } {
	const { tokensAfterFirst, deadTokens, cold } = terms;
	const threshold = lotSize(terms, REORGANISE_PAYBACK);
	if (tokensAfterFirst <= 0) return { reorganise: false, why: "nothing", threshold };
	if (cold) return { reorganise: true, why: "cold", threshold };
	if (deadTokens <= 0) return { reorganise: false, why: "nothing", threshold };
	if (isNearLimit(terms)) return { reorganise: true, why: "near-limit", threshold };
	const pays = deadTokens >= threshold;
	return { reorganise: pays, why: pays ? "pays" : "waits", threshold };
}

/** Maximum payback time in requests: few sessions last longer. Matters only if few copies become obsolete. */
const REORGANISE_PAYBACK = 100;

/**
 * Bounds the cost of rewrites, in plain input tokens. A rewrite pays off only in later requests,
 * which may never come. So it is paid out of earlier savings and {@link SHARE} of the spending: a
 * session that ends right after a rewrite costs little more than without it.
 */
export function createRewriteCredit() {
	let cost = 0;
	let costOfPis = 0;
	return {
		add(own: number, pis: number): void {
			cost += own;
			costOfPis += pis;
		},
		left: () => (1 + SHARE) * costOfPis - cost,
	};
}

/** Worst-case extra cost of a session, as a share of pi's own cost. Below 2 %, as sizes are estimates. */
const SHARE = 0.015;
