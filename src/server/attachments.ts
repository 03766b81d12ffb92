import { property } from "../core/property.ts";
import type { Command, ExtensionUiRequest, SessionEvent } from "../protocol/index.ts";
import { type Call, CommandError } from "./engine/call.ts";
import { createMessage } from "./engine/message.ts";
import type { StreamName } from "./journal/journal.ts";
import type { Sessions } from "./sessions/sessions.ts";
import type { Streams } from "./streams/streams.ts";

/** Who sent a command, over which connection. */
export type Caller = Pick<Call, "principal" | "client">;

/** Ties connections to the sessions whose events they get. */
export interface Attachments {
	/**
	 * The caller gets the session's events, from now on or above `after`, the dialogs that still wait for an answer, and the
	 * statuses and widgets that are not among the events.
	 * Resolves with the number of the last event.
	 */
	attach(caller: Caller, sessionId: string, after?: number): Promise<number>;
	/**
	 * Does for the connection of a repetition what the command did for the connection it first came over, unless it has
	 * been done: the answer says that its connection is subscribed. `data` reads that answer.
	 */
	repeat(call: Caller & { command: Command }, data: () => unknown): void;
	/** The session's id, if the caller has one of that name. Throws `unknown_session` otherwise. */
	known(caller: Caller, sessionId: string): string;
}

export function createAttachments(
	sessions: Pick<Sessions, "has" | "openDialogs">,
	streams: Streams,
): Attachments {
	async function attach(caller: Caller, sessionId: string, after?: number): Promise<number> {
		// Whoever has left by now is never told again that it has: it would stay subscribed.
		if (caller.client.gone) return 0;
		const stream: StreamName = { principal: caller.principal, sessionId };
		const { seq } = await streams.subscribe(caller.client, stream, after);
		for (const event of sessions.openDialogs(stream)) {
			if (isToCome(stream, event, after ?? seq)) continue;
			caller.client.send(createMessage({ type: "event", sessionId, event }));
		}
		return seq;
	}

	/** A status or a widget that is among the events. A question comes at once in any case, with the time that is left. */
	function isToCome(stream: StreamName, event: SessionEvent, after: number): boolean {
		if (event.type !== "extension_ui_request" || isQuestion(event)) return false;
		return streams.hasRequest(stream, event.requestId, after);
	}

	function repeat(call: Caller & { command: Command }, data: () => unknown): void {
		const { command, principal, client } = call;
		if (command.type === "subscribe" && command.lifecycle) client.lifecycle = command.lifecycle;
		const place = placeOf(command, data);
		if (!place || !sessions.has(principal, place.sessionId)) return;
		if (streams.isSubscribed(client, { principal, sessionId: place.sessionId })) return;
		attach(call, place.sessionId, place.after).catch(() => {
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

function isQuestion({ method }: ExtensionUiRequest): boolean {
	return method === "select" || method === "confirm" || method === "input" || method === "editor";
}

/** What a command subscribes its connection to, and from where on. */
function placeOf(
	command: Command,
	data: () => unknown,
): { sessionId: string; after?: number } | undefined {
	switch (command.type) {
		case "create_session":
		case "load_session": {
			const sessionId = property(data(), "sessionId");
			if (typeof sessionId !== "string") return undefined;
			return { sessionId, ...(command.type === "create_session" && { after: 0 }) };
		}
		case "subscribe": {
			const { sessionId, after } = command;
			return sessionId === undefined
				? undefined
				: { sessionId, ...(after !== undefined && { after }) };
		}
		case "switch_session":
			return { sessionId: command.sessionId };
		default:
			return undefined;
	}
}
