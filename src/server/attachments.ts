import { property } from "../core/property.ts";
import type { Command, SessionEvent } from "../protocol/index.ts";
import { type Call, CommandError } from "./engine/call.ts";
import { createMessage } from "./engine/message.ts";
import type { StreamName } from "./journal/journal.ts";
import type { Sessions } from "./sessions/sessions.ts";
import { isQuestion } from "./streams/stream.ts";
import type { Streams } from "./streams/streams.ts";

/** The sender of a command and its connection. */
export type Caller = Pick<Call, "principal" | "client">;

/** Subscribes connections to sessions. */
export interface Attachments {
	/**
	 * The caller gets the session's events, from now on or above `after`, its open dialogs, and the statuses and widgets that
	 * are not among the events. Resolves with the number of the last event.
	 */
	attach(caller: Caller, sessionId: string, after?: number): Promise<number>;
	/** Subscribes the connection of a repetition, if the first answer, read by `data`, says that its connection is. */
	repeat(call: Caller & { command: Command }, data: () => unknown): void;
	/** The session's id. Throws `unknown_session` if the caller has no session of that name. */
	known(caller: Caller, sessionId: string): string;
}

export function createAttachments(
	sessions: Pick<Sessions, "has" | "openDialogs">,
	streams: Streams,
): Attachments {
	async function attach(caller: Caller, sessionId: string, after?: number): Promise<number> {
		// The disconnect of a client that is gone was reported: it would stay subscribed.
		if (caller.client.gone) return 0;
		const stream: StreamName = { principal: caller.principal, sessionId };
		const { seq } = await streams.subscribe(caller.client, stream, after);
		for (const event of sessions.openDialogs(stream)) {
			if (isToCome(stream, event, after ?? seq)) continue;
			caller.client.send(createMessage({ type: "event", sessionId, event }));
		}
		return seq;
	}

	/** A status or a widget that is among the events. A question is sent in any case, with the time that is left. */
	function isToCome(stream: StreamName, event: SessionEvent, after: number): boolean {
		if (event.type !== "extension_ui_request" || isQuestion(event.method)) return false;
		return streams.hasRequest(stream, event.requestId, after);
	}

	function repeat(call: Caller & { command: Command }, data: () => unknown): void {
		const { command, principal, client } = call;
		if (command.type === "subscribe" && command.lifecycle) client.lifecycle = command.lifecycle;
		const { sessionId, after } = placeOf(command, data);
		if (sessionId === undefined || !sessions.has(principal, sessionId)) return;
		if (streams.isSubscribed(client, { principal, sessionId })) return;
		attach(call, sessionId, after).catch(() => {
			// The stream is not what it was: the session of this name is another one by now.
		});
	}

	return {
		attach,
		repeat,
		known(caller, sessionId) {
			if (sessions.has(caller.principal, sessionId)) return sessionId;
			throw new CommandError("unknown_session", `there is no session "${sessionId}"`);
		},
	};
}

/** What a command subscribes its connection to, and from where on. */
function placeOf(
	command: Command,
	data: () => unknown,
): { sessionId?: string | undefined; after?: number | undefined } {
	switch (command.type) {
		case "create_session":
		case "load_session": {
			const sessionId = property(data(), "sessionId");
			if (typeof sessionId !== "string") return {};
			return { sessionId, ...(command.type === "create_session" && { after: 0 }) };
		}
		case "subscribe":
			return command;
		case "switch_session":
			return { sessionId: command.sessionId };
		default:
			return {};
	}
}
