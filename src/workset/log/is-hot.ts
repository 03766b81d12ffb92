import { type CacheRules, type Ttl, writeRatioFor } from "../../economy/index.ts";

/** What decides where the current text of a file costs least. */
export interface HeatTerms {
	/** p: how likely it is that the file changes from one request to the next. */
	readonly editRate: number;
	/** q: how likely it is that the next request finds the cache warm. */
	readonly warmShare: number;
	readonly rules: Pick<CacheRules, "readRatio" | "writeRatio" | "writeOneHourRatio">;
	readonly ttl?: Ttl;
}

/**
 * Whether a file belongs in the tail, where each of its tokens costs 1 in every request. In the log, with w and r the
 * prices of writing and reading, it costs w when the cache is cold or the file has changed, and r when neither. A change
 * leaves a dead copy as well, read for R more requests: (1 − q)·w + q·(p·(w + r·R) + (1 − p)·r). In a session without
 * pauses the file is hot from p = (1 − r) / (w − r + r·R) on.
 */
export function isHot({ editRate, warmShare, rules, ttl }: HeatTerms): boolean {
	const { readRatio } = rules;
	const write = writeRatioFor(ttl ?? "5m", rules);
	const changed = write + readRatio * DEAD_COPY_REQUESTS;
	const whileWarm = editRate * changed + (1 - editRate) * readRatio;
	return (1 - warmShare) * write + warmShare * whileWarm > 1;
}

/** R: for how many requests a dead copy stays in view. The cost hardly depends on it between 1 and 20. */
const DEAD_COPY_REQUESTS = 12;
