import type { ExtensionContext, SessionStartEvent } from "@earendil-works/pi-coding-agent";
import { type ColdWatch, createColdWatch } from "./cold-watch.ts";

/** A watch for a session that was just opened, which may go on with one that the provider still has in its cache. */
export function watchSession(
	ctx: ExtensionContext,
	openedBy: SessionStartEvent["reason"] | undefined,
): ColdWatch {
	const watch = createColdWatch(lastAnswerMs(ctx));
	if (openedBy === "resume" || openedBy === "startup") watch.note("resumed");
	if (openedBy === "fork") watch.note("branched");
	return watch;
}

/** When the session was last answered; `undefined` if it never was. */
function lastAnswerMs({ sessionManager }: ExtensionContext): number | undefined {
	const answer = sessionManager
		.getBranch()
		.findLast((entry) => entry.type === "message" && entry.message.role === "assistant");
	return answer && (Date.parse(answer.timestamp) || undefined);
}
