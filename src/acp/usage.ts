import type { SessionUpdate } from "@agentclientprotocol/sdk";
import type { Data } from "../protocol/index.ts";

/** What the context holds and what the session cost so far; `undefined` while the context is not known. */
export function usageUpdate(stats: Data<"SessionStats">): SessionUpdate | undefined {
	const { contextUsage, cost } = stats;
	// Right after a compaction the next answer has to count it first.
	if (!contextUsage || contextUsage.tokens === null) return undefined;
	return {
		sessionUpdate: "usage_update",
		used: contextUsage.tokens,
		size: contextUsage.contextWindow,
		cost: { amount: cost, currency: "USD" },
		_meta: { "strata/usage": usageFacts(stats) },
	};
}

/** The tokens of all requests by price class, and their cost in dollars. */
export function usageFacts({ tokens, cost, contextUsage }: Data<"SessionStats">) {
	return { ...{ tokens, cost }, ...(contextUsage && { context: contextUsage }) };
}
