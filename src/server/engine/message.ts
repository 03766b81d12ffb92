import { hash } from "node:crypto";
import type { Data } from "../../protocol/index.ts";

/** A connection as the engine sees it. Transports make them. */
export interface Client {
	/** Unique in this process. */
	readonly id: string;
	readonly principal: string;
	/** Which lifecycle events it gets: of all commands of its principal, of its own, or none. */
	lifecycle: "all" | "own" | "none";
	/**
	 * Queues a message. Never blocks, never throws, does nothing once the client is gone. With `canWait` the message leaves
	 * with the next one that cannot wait, or a few milliseconds later.
	 */
	send(message: Message, canWait?: boolean): void;
	/** False under backpressure: reads are not answered then. Default: true. */
	readonly hasRoom?: boolean;
	/** Resolves when there may be room again, or the client is gone. */
	whenRoom?(): Promise<void>;
	/** Resolves when most of the output is sent, or the client is gone. */
	drained?(): Promise<void>;
	readonly gone: boolean;
}

/** A message of the server, serialized at most once for all its clients. */
export interface Message {
	readonly value: Data<"ServerMessage">;
	/** One line without a line feed. */
	json(): string;
	/** The WebSocket frame, cached for the next client. */
	framed?: readonly Uint8Array[];
	/** The parts of its JSON, where the data is shared with other messages and need not be copied. */
	readonly shared?: SharedData | undefined;
}

/** A JSON text that is `head`, then the written data, then a closing brace. */
export interface SharedData {
	readonly head: string;
	readonly written: WrittenData;
}

/** A message; `json` is its text where the caller has it already. */
export function createMessage(value: Data<"ServerMessage">, json?: string): Message {
	return new LazyMessage(value, json);
}

export function createSharingMessage(value: Data<"ServerMessage">, shared: SharedData): Message {
	return new LazyMessage(value, undefined, shared);
}

/** A message made of its JSON, which is parsed when somebody asks for the value. */
export function createWrittenMessage(json: string): Message {
	return new LazyMessage(undefined, json);
}

/** A class: several of these are made for every command. */
class LazyMessage implements Message {
	framed?: readonly Uint8Array[];
	readonly shared: SharedData | undefined;
	#value: Data<"ServerMessage"> | undefined;
	#json: string | undefined;

	constructor(value?: Data<"ServerMessage">, json?: string, shared?: SharedData) {
		this.#value = value;
		this.#json = json;
		this.shared = shared;
	}

	get value(): Data<"ServerMessage"> {
		this.#value ??= JSON.parse(this.#json as string) as Data<"ServerMessage">;
		return this.#value;
	}

	json(): string {
		if (this.shared) return `${this.shared.head}${this.shared.written.json}}`;
		this.#json ??= JSON.stringify(this.#value);
		return this.#json;
	}
}

/** An answer's `data` as JSON and as bytes, for all clients that get the same answer. */
export class WrittenData {
	readonly json: string;
	#bytes: Uint8Array | undefined;
	#digest: string | undefined;

	constructor(json: string) {
		this.json = json;
	}

	/** In UTF-8. Shared: must not be changed. */
	get bytes(): Uint8Array {
		this.#bytes ??= Buffer.from(this.json);
		return this.#bytes;
	}

	get digest(): string {
		this.#digest ??= sha256(this.json);
		return this.#digest;
	}
}

export function sha256(text: string): string {
	return hash("sha256", text, "base64");
}
