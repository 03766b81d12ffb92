import type { ServerMessage, SessionEventFrame } from "../../protocol/index.ts";

/**
 * An event that only shows how something comes along. What it adds up to is in a later event (`message_end`,
 * `tool_execution_end`, the answer to `bash`), so a client that lags can do with less of it.
 */
export interface Progress {
	readonly sessionId: string;
	/** The first and last sequence number it stands for. */
	readonly fromSeq: number;
	readonly seq: number;
	/** A piece of text, and the name of the text it belongs to; absent when it cannot be joined with the next. */
	readonly piece?: { readonly of: string; readonly text: string };
}

/** What a message is as progress; `undefined` for everything that every client must get. */
export function progressOf(message: ServerMessage): Progress | undefined {
	if (message.type !== "event" || message.seq === undefined) return undefined;
	const { sessionId, seq, fromSeq = seq, event } = message;
	const place = { sessionId, fromSeq, seq };
	switch (event.type) {
		case "message_update": {
			const step = event.assistantMessageEvent;
			if (!("delta" in step)) return place;
			return { ...place, piece: { of: `${step.type} ${step.contentIndex}`, text: step.delta } };
		}
		case "bash_execution_update":
			return { ...place, piece: { of: `bash ${event.id ?? ""}`, text: event.delta } };
		case "tool_execution_update":
			return place;
		default:
			return undefined;
	}
}

/** The last of several pieces of one text, with the text of all of them. */
export function joined(last: SessionEventFrame, fromSeq: number, text: string): SessionEventFrame {
	const { event } = last;
	if (event.type === "bash_execution_update") {
		return { ...last, fromSeq, event: { ...event, delta: text } };
	}
	if (event.type === "message_update" && "delta" in event.assistantMessageEvent) {
		const assistantMessageEvent = { ...event.assistantMessageEvent, delta: text };
		return { ...last, fromSeq, event: { ...event, assistantMessageEvent } };
	}
	return last;
}
