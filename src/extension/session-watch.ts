import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import { promptTokens, ttlOf } from "../core/bill.ts";
import { property } from "../core/property.ts";
import { type ColdWatch, createColdWatch } from "./cold-watch.ts";
import type { SessionStart } from "./system.ts";

/** A watch for a session that was just opened, which may go on with one that the provider still has in its cache. */
export function watchSession({ ctx, reason }: SessionStart): ColdWatch {
	const { atMs, ttl } = lastAnswer(ctx) ?? {};
	// The session that it was taken from may have been in use a moment ago, which its own entries do not tell.
	return createColdWatch(reason === "fork" ? Date.now() : atMs, ttl);
}

/** When the session was last answered, on whichever branch, and what it then paid for; `undefined` if it never was. */
function lastAnswer({ sessionManager }: ExtensionContext) {
	const answer = sessionManager
		.getEntries()
		.findLast((entry) => entry.type === "message" && entry.message.role === "assistant");
	if (answer?.type !== "message") return undefined;
	return {
		atMs: Date.parse(answer.timestamp) || undefined,
		ttl: ttlOf(promptTokens(property(answer.message, "usage"))),
	};
}
