import { type Inspect, pieceOf } from "./inspector.ts";
import type { SessionHandlers } from "./session-handler.ts";

/** What a session's model sees and what that costs. */
export function createInsightHandlers(
	inspect: Inspect,
): SessionHandlers<
	"get_context_view" | "get_context_piece" | "get_cost" | "get_tiers" | "get_savings"
> {
	return {
		get_context_view: (live) => inspect(live).contextView(),
		get_context_piece: (live, { pieceId, offset = 0 }) => pieceOf(inspect(live), pieceId, offset),
		get_cost: (live) => inspect(live).cost(),
		get_tiers: (live) => inspect(live).tiers(),
		get_savings: (live) => inspect(live).savings(),
	};
}
