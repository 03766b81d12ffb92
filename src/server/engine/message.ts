import { hash } from "node:crypto";
import type { Data } from "../../protocol/index.ts";
import type { StreamName } from "../journal/journal.ts";

/** A connection as the engine sees it. */
export interface Client {
	/** Unique in this process. */
	readonly id: string;
	readonly principal: string;
	/** Whether to send lifecycle events of all the principal's commands, only of this client's, or none. */
	lifecycle: "all" | "own" | "none";
	/** Never blocks or throws. If `canWait`, the message may be delayed by a few milliseconds. */
	send(message: Message, canWait?: boolean): void;
	/** False under backpressure; reads outside lanes then wait. Default: true. */
	readonly hasRoom?: boolean;
	/** Resolves when there may be room, or the client is gone. */
	whenRoom?(): Promise<void>;
	/** Resolves when most of the output is sent, or the client is gone. */
	whenDrained?(): Promise<void>;
	readonly gone: boolean;
	/** Set if the client is connected to another server, which fans events out to its own clients. */
	readonly relay?: Relay;
	/** Set if the client is another server. Called when the stream is no longer on this server. */
	streamLost?(stream: StreamName): void;
}

/** Takes over the subscriptions of a client that is connected to another server. */
export interface Relay {
	follow(stream: StreamName, after: number): void;
	unfollow(stream: StreamName): void;
	isFollowing(stream: StreamName): boolean;
}

/** Another server with clients of a principal. */
export interface PrincipalRelay {
	/** Whether one of its clients wants lifecycle events of all commands. */
	readonly wantsLifecycle: boolean;
	send(message: Message, kind: "lifecycle" | "notice"): void;
}

/** The JSON text of a message in three parts: `head`, the `written` data and a closing brace. */
export interface SharedData {
	readonly head: string;
	readonly written: WrittenData;
}

/** A message to clients, serialized at most once for all of them. */
export class Message {
	framed?: readonly Uint8Array[];
	readonly shared: SharedData | undefined;
	#value: Data<"ServerMessage"> | undefined;
	#json: string | undefined;

	constructor(value?: Data<"ServerMessage">, json?: string, shared?: SharedData) {
		this.#value = value;
		this.#json = json;
		this.shared = shared;
	}

	/** The JSON is parsed only when `value` is read. */
	static fromJson(json: string): Message {
		return new Message(undefined, json);
	}

	get value(): Data<"ServerMessage"> {
		this.#value ??= JSON.parse(this.#json as string) as Data<"ServerMessage">;
		return this.#value;
	}

	/** The JSON text, without line feeds. */
	json(): string {
		if (this.shared) return `${this.shared.head}${this.shared.written.json}}`;
		this.#json ??= JSON.stringify(this.#value);
		return this.#json;
	}
}

/** An answer's serialized `data`, as a string and as bytes. Shared by all clients that get it. */
export class WrittenData {
	readonly json: string;
	#bytes: Uint8Array | undefined;
	#digest: string | undefined;

	constructor(json: string) {
		this.json = json;
	}

	/** UTF-8. The array is shared: do not modify it. */
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
