import type { Ttl } from "../core/bill.ts";
import type { CacheRules } from "./rules.ts";

/** How often a request was followed by a pause that the long lifetime survives and the short one does not. */
export interface Pauses {
	readonly requests: number;
	readonly between: number;
}

/** Before a user's pauses are known, one request in a hundred is followed by such a pause. */
export const USUAL_PAUSES: Pauses = { requests: 100, between: 1 };

export function addPauses(one: Pauses, other: Pauses): Pauses {
	return { requests: one.requests + other.requests, between: one.between + other.between };
}

/** The pause of one request after another. */
export function pauseOf(gapMs: number, { ttlMs }: Pick<CacheRules, "ttlMs">): Pauses {
	return { requests: 1, between: gapMs >= ttlMs["5m"] && gapMs < ttlMs["1h"] ? 1 : 0 };
}

/** The families whose documents let a request choose between two lifetimes. */
const SELECTABLE: ReadonlySet<CacheRules["family"]> = new Set(["anthropic", "openai-breakpoints"]);

export function hasTwoTtls({ family }: Pick<CacheRules, "family">): boolean {
	return SELECTABLE.has(family);
}

interface TtlTerms {
	readonly rules: CacheRules;
	/** Tokens of the request up to its last breakpoint. */
	readonly prompt: number;
	/** Tokens of it that the provider still holds. */
	readonly cached: number;
	/** Tokens of it that the newest long entry covers. */
	readonly anchored: number;
	readonly pauses: Pauses;
	/** The lifetime that the agent itself chose. */
	readonly own: Ttl;
	/** What a wrong choice may cost, in plain input tokens. */
	readonly credit: number;
}

/**
 * The lifetime of a request's new cache entries, by price. A long entry costs more for the tokens that are
 * written now. Without it, a pause behind this request loses all tokens since the last long entry. What
 * differs from the agent's own choice is paid from the credit.
 */
export function chooseTtl(terms: TtlTerms): Ttl {
	const { rules, prompt, cached, anchored, pauses, own, credit } = terms;
	const { readRatio, writeRatio, writeOneHourRatio } = rules;
	const extra = (writeOneHourRatio - writeRatio) * Math.max(0, prompt - cached);
	const loss = (writeRatio - readRatio) * (prompt - anchored);
	const isLongCheaper = (pauses.between / pauses.requests) * loss > extra;
	const wanted = isLongCheaper ? "1h" : "5m";
	if (wanted === own) return wanted;
	const atWorst = wanted === "1h" ? extra : loss - extra;
	return atWorst <= credit ? wanted : own;
}
