import { isNearLimit, lotSize, type RewriteTerms } from "./lot-size.ts";

/** The state of a conversation from which old content could be removed. */
export interface PruneTerms extends RewriteTerms {
	/** Tokens that would be gone. */
	readonly prunableTokens: number;
}

/** Whether to prune now. */
export interface PruneDecision {
	readonly prune: boolean;
	/**
	 * `nothing` to prune; the cache is `cold`, so it is free; `near-limit` of the context window; it
	 * `pays`; or it `waits` until there is more.
	 */
	readonly why: "nothing" | "cold" | "near-limit" | "pays" | "waits";
	/** The prunable tokens from which pruning a warm conversation pays. */
	readonly threshold: number;
}

/** Prunes in batches of the best size, and at once where it is free or there is no room left. */
export function shouldPrune(terms: PruneTerms): PruneDecision {
	const threshold = lotSize(terms, LONGEST_PAYBACK);
	if (terms.prunableTokens <= 0) return { prune: false, why: "nothing", threshold };
	if (terms.cold) return { prune: true, why: "cold", threshold };
	if (isNearLimit(terms) && makesRoom(terms)) return { prune: true, why: "near-limit", threshold };
	if (terms.prunableTokens >= threshold) return { prune: true, why: "pays", threshold };
	return { prune: false, why: "waits", threshold };
}

/** Next to the limit every request would be rewritten, however little had come since the one before. */
function makesRoom({ prunableTokens, contextWindow }: PruneTerms): boolean {
	return prunableTokens >= LEAST_ROOM * contextWindow;
}

/** The share of the window that a batch must free there. */
const LEAST_ROOM = 0.05;

/** In requests: few sessions go on for much longer. */
const LONGEST_PAYBACK = 60;
