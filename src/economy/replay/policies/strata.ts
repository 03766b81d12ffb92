import type { RequestPolicy } from "../policy.ts";
import { withReadCache } from "./read-cache.ts";

/** What pi-strata would do: no repeated reads, and `pruning`, which that system decides with its own code. */
export function strataPolicy(pruning: RequestPolicy): RequestPolicy {
	return withReadCache(pruning, {
		name: "strata",
		description: `read cache, and ${pruning.description}`,
	});
}
