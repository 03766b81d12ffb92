import type { ServerMessage } from "../../protocol/index.ts";
import type { WrittenData } from "./written-data.ts";

/** Something the server says, turned into JSON at most once however many clients get it. */
export interface Message {
	readonly value: ServerMessage;
	/** One line without a line feed. */
	json(): string;
	/** What a transport made of it, so that the next client of the same transport can use it again. */
	framed?: Uint8Array;
	/** What its JSON is made of, if most of it is shared with other messages and need not be copied. */
	readonly shared?: SharedEnd;
}

/** A text that is `head`, then the written data, then a bracket. */
export interface SharedEnd {
	readonly head: string;
	readonly written: WrittenData;
}

/** A message; `written` is its JSON where the caller has it already. */
export function createMessage(value: ServerMessage, written?: string): Message {
	return new ValueMessage(value, written);
}

/** A message that shares its data with others. */
export function createSharingMessage(value: ServerMessage, shared: SharedEnd): Message {
	return new SharingMessage(value, shared);
}

/** A message of which there is only the JSON; it is read if somebody asks for the value. */
export function createWrittenMessage(json: string): Message {
	return new WrittenMessage(json);
}

/** Classes, since several of these are made for every command. */
class ValueMessage implements Message {
	readonly value: ServerMessage;
	framed?: Uint8Array;
	#json: string | undefined;

	constructor(value: ServerMessage, json: string | undefined) {
		this.value = value;
		this.#json = json;
	}

	json(): string {
		this.#json ??= JSON.stringify(this.value);
		return this.#json;
	}
}

class SharingMessage implements Message {
	readonly value: ServerMessage;
	readonly shared: SharedEnd;

	constructor(value: ServerMessage, shared: SharedEnd) {
		this.value = value;
		this.shared = shared;
	}

	json(): string {
		return `${this.shared.head}${this.shared.written.json}}`;
	}
}

class WrittenMessage implements Message {
	framed?: Uint8Array;
	readonly #json: string;
	#value: ServerMessage | undefined;

	constructor(json: string) {
		this.#json = json;
	}

	get value(): ServerMessage {
		this.#value ??= JSON.parse(this.#json) as ServerMessage;
		return this.#value;
	}

	json(): string {
		return this.#json;
	}
}
