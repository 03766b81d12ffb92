import type { SendableCommandType } from "../protocol/client.ts";

/** Figures of the views. Their last answers are shown at once when a view is shown again, until the next ones arrive. */
const KEPT: ReadonlySet<SendableCommandType> = new Set([
	...(["get_context_view", "get_cost", "get_savings", "get_saved", "get_tiers"] as const),
	...(["get_session_stats", "get_usage", "get_metrics_history", "code_status"] as const),
]);
/** A view needs a few, and an answer may be large. */
const MAX_KEPT = 16;

/** By command and fields as JSON, the oldest first. */
const kept = new Map<string, unknown>();

export function keepAnswer(type: SendableCommandType, key: string, data: unknown): void {
	if (!KEPT.has(type)) return;
	kept.delete(key);
	kept.set(key, data);
	for (const oldest of kept.keys()) {
		if (kept.size <= MAX_KEPT) break;
		kept.delete(oldest);
	}
}

export function keptAnswer(key: string): unknown {
	return kept.get(key);
}

/** Called when something could not be drawn: it must not fail again with the same answer. */
export function forgetAnswers(): void {
	kept.clear();
}
