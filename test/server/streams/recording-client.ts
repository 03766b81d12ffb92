import type { Data } from "../../../src/protocol/index.ts";
import type { Client, Message } from "../../../src/server/engine/message.ts";

/** A client that remembers what it was sent. */
export interface RecordingClient extends Client {
	gone: boolean;
	readonly messages: Message[];
	/** What it got, short: the number of an event, `gap a-b`, or `?` for an event without a number. */
	seen(): (number | string)[];
}

export function recordingClient(id = "c", more: Partial<Client> = {}): RecordingClient {
	const messages: Message[] = [];
	return {
		id,
		principal: "ann",
		lifecycle: "all",
		gone: false,
		messages,
		send: (message) => void messages.push(message),
		seen: () => messages.map(({ value }) => short(value)),
		...more,
	};
}

export function short(value: Data<"ServerMessage">): number | string {
	if (value.type === "gap") return `gap ${value.fromSeq}-${value.toSeq}`;
	if (value.type === "event") return value.seq ?? "?";
	return value.type;
}
