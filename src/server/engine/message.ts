import type { ServerMessage } from "../../protocol/index.ts";

/** Something the server says, turned into JSON at most once however many clients get it. */
export interface Message {
	readonly value: ServerMessage;
	/** One line without a line feed. */
	json(): string;
	/** What a transport made of it, so that the next client of the same transport can use it again. */
	framed?: Uint8Array;
}

/** A message; `written` is its JSON where the caller has it already. */
export function createMessage(value: ServerMessage, written?: string): Message {
	let json = written;
	return {
		value,
		json() {
			json ??= JSON.stringify(value);
			return json;
		},
	};
}
