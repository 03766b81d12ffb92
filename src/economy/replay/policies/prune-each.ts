import type { SessionBlock } from "../assembly.ts";
import type { ReplayPolicy } from "../policy.ts";
import { createPrunedResults, isPrunable } from "../pruned-results.ts";
import { requestOf } from "./append-only.ts";

/** How many results a sliding window keeps. */
const KEPT = 10;

/** Old results go with every request: what many agents do, and what breaks the cached prefix each time. */
export const pruneEach: ReplayPolicy = {
	name: "prune-each",
	description: `every request keeps only the ${KEPT} newest tool results`,
	*requests(session) {
		const pruned = createPrunedResults();
		/** The results that the window still holds. */
		let kept: SessionBlock[] = [];
		for (const step of session.steps()) {
			const known = pruned.follow(step.blocks);
			const fresh = step.blocks.slice(known).filter(({ kind }) => kind === "result");
			const results = known === 0 ? fresh : kept.concat(fresh);
			kept = results.slice(-KEPT);
			pruned.add(results.slice(0, -KEPT).filter(isPrunable));
			yield requestOf(step, [...pruned.blocks()]);
		}
	},
};
