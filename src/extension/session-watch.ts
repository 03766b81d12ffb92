import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import { type ColdWatch, createColdWatch } from "./cold-watch.ts";
import type { SessionStart } from "./system.ts";

/** A watch for a session that was just opened, which may go on with one that the provider still has in its cache. */
export function watchSession({ ctx, reason }: SessionStart): ColdWatch {
	const watch = createColdWatch(lastAnswerMs(ctx));
	if (reason === "resume" || reason === "startup") watch.note("resumed");
	if (reason === "fork") watch.note("branched");
	return watch;
}

/** When the session was last answered; `undefined` if it never was. */
function lastAnswerMs({ sessionManager }: ExtensionContext): number | undefined {
	const answer = sessionManager
		.getBranch()
		.findLast((entry) => entry.type === "message" && entry.message.role === "assistant");
	return answer && (Date.parse(answer.timestamp) || undefined);
}
