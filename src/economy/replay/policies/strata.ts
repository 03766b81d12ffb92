import type { ReplayPolicy } from "../policy.ts";
import { createPruneTiming } from "../prune-timing.ts";
import { createPrunedResults, frontierOf, prunableNow, RECENT_TOKENS } from "../pruned-results.ts";
import { createReadReplacer } from "../replaced-reads.ts";
import { requestOf } from "./append-only.ts";

/** What pi-strata would do: no repeated reads, and old results go when that pays. */
export const strata = strataWith(RECENT_TOKENS);

/** The same, with so many tokens of the newest results kept in any case. */
export function strataWith(recentTokens: number): ReplayPolicy {
	return {
		name: "strata",
		description: "read cache, and old tool results go when that pays or is free",
		*requests(session) {
			const reads = createReadReplacer();
			const pruned = createPrunedResults();
			const timing = createPruneTiming();
			for (const step of session.steps()) {
				const all = reads.replace(step.blocks, (id) => !pruned.has(id));
				const now = pruned.apply(all);
				const candidates = prunableNow(now, recentTokens);
				const isPruning = timing.isNow(step, now, candidates);
				if (isPruning) pruned.add(candidates);
				const blocks = isPruning ? pruned.apply(all) : now;
				timing.sent(step, blocks);
				// The marker stands where this pruning begins, not the next: that prefix is in the cache.
				yield requestOf(step, blocks, frontierOf(now));
			}
		},
	};
}
