import type { ReplayPolicy } from "../policy.ts";
import { createPrunedResults, freedBy, prunableNow } from "../pruned-results.ts";
import { requestOf } from "./append-only.ts";

/** What a batch must free. */
const BATCH_TOKENS = 20_000;

/** Old results go in batches of a fixed size, whatever that costs at the moment. */
export const pruneBatch: ReplayPolicy = {
	name: "prune-batch",
	description: "old tool results go whenever 20,000 tokens of them have come together",
	*requests(session) {
		const pruned = createPrunedResults();
		for (const step of session.steps()) {
			const candidates = prunableNow(pruned.apply(step.blocks));
			if (freedBy(candidates) >= BATCH_TOKENS) pruned.add(candidates);
			yield requestOf(step, pruned.apply(step.blocks));
		}
	},
};
