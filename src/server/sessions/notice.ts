import { randomUUID } from "node:crypto";
import type { SessionEvent } from "../../protocol/index.ts";

/** Something the server has to say about a session, in the form in which extensions say it. */
export function notice(message: string, notifyType: "info" | "warning" | "error"): SessionEvent {
	return {
		type: "extension_ui_request",
		requestId: randomUUID(),
		method: "notify",
		message,
		notifyType,
	};
}
