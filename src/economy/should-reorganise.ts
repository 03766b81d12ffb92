import { isNearLimit, lotSize, type RewriteTerms } from "./lot-size.ts";

/** The state of a conversation whose content could be sorted by how long it has stayed unchanged. */
export interface ReorganiseTerms extends RewriteTerms {
	/** Tokens that would be gone: outdated snapshots, superseded reads, old results. */
	readonly deadTokens: number;
}

/** Whether to reorganise now. */
export interface ReorganiseDecision {
	readonly reorganise: boolean;
	/** As in pruning; `nothing` would change its place, or would go while the conversation is warm. */
	readonly why: "nothing" | "cold" | "near-limit" | "pays" | "waits";
	/** The dead tokens from which reorganising a warm conversation pays. */
	readonly threshold: number;
}

/**
 * A new order alone never pays on a warm prefix: what is read costs the same in any order. So a warm
 * conversation is reorganised for what it drops, and a cold one whenever a block would move.
 */
export function shouldReorganise(terms: ReorganiseTerms): ReorganiseDecision {
	const threshold = lotSize(terms, LONGEST_PAYBACK);
	const nothing = { reorganise: false, why: "nothing", threshold } as const;
	if (terms.tokensAfterFirst <= 0) return nothing;
	if (terms.cold) return { reorganise: true, why: "cold", threshold };
	if (terms.deadTokens <= 0) return nothing;
	if (isNearLimit(terms)) return { reorganise: true, why: "near-limit", threshold };
	if (terms.deadTokens >= threshold) return { reorganise: true, why: "pays", threshold };
	return { reorganise: false, why: "waits", threshold };
}

/** In requests: few sessions go on for longer. It decides only where next to nothing dies. */
const LONGEST_PAYBACK = 100;
