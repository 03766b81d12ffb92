import { type Inspect, pieceOf } from "./inspector.ts";
import type { Works } from "./work.ts";

/** What a session's model sees and what that costs. */
export function createInsightWorks(
	inspect: Inspect,
): Works<"get_context_view" | "get_context_piece" | "get_cost" | "get_tiers" | "get_savings"> {
	return {
		get_context_view: ({ session }) => inspect(session).contextView(),
		get_context_piece: ({ session }, { pieceId, offset = 0 }) =>
			pieceOf(inspect(session), pieceId, offset),
		get_cost: ({ session }) => inspect(session).cost(),
		get_tiers: ({ session }) => inspect(session).tiers(),
		get_savings: ({ session }) => inspect(session).savings(),
	};
}
