import type { SessionEvent, SessionEventFrame } from "../../protocol/index.ts";
import { createMessage, type Message } from "../engine/message.ts";

/** An event that has just happened; `body` is it as JSON, so that it is not made twice. */
export function liveMessage(
	frame: { sessionId: string; seq: number },
	event: SessionEvent,
	body: string,
): Message {
	return {
		value: { type: "event", ...frame, event },
		json: jsonOf(frame, body),
	};
}

/** An event out of the journal. It is parsed only if someone looks at its value. */
export function storedMessage(frame: { sessionId: string; seq: number }, body: string): Message {
	let value: SessionEventFrame | undefined;
	return {
		get value() {
			value ??= { type: "event", ...frame, event: JSON.parse(body) };
			return value;
		},
		json: jsonOf(frame, body),
	};
}

/** An event that could not be journalled. It has no number, since it cannot be asked for again. */
export function unkeptMessage(sessionId: string, event: SessionEvent): Message {
	return createMessage({ type: "event", sessionId, event });
}

/** Events that nobody can get any more, both numbers included. */
export function gapMessage(sessionId: string, fromSeq: number, toSeq: number): Message {
	return createMessage({ type: "gap", sessionId, fromSeq, toSeq });
}

function jsonOf({ sessionId, seq }: { sessionId: string; seq: number }, body: string) {
	let json: string | undefined;
	return () => {
		json ??= `{"type":"event","sessionId":${JSON.stringify(sessionId)},"seq":${seq},"event":${body}}`;
		return json;
	};
}
