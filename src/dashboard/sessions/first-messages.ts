import type { Data } from "../../protocol/index.ts";

/** The first messages of open sessions, by session id. They tell apart sessions of one folder. */
export function firstMessagesOf(stored: readonly Data<"StoredSession">[]): Map<string, string> {
	return new Map(
		stored.flatMap(({ sessionId, firstMessage }) =>
			sessionId && firstMessage ? [[sessionId, firstMessage] as const] : [],
		),
	);
}
