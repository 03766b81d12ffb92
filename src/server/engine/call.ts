import type { Command, CommandType, Data } from "../../protocol/index.ts";
import type { SessionRecord } from "../journal/journal.ts";
import type { Client, WrittenData } from "./message.ts";

/** A command in its handler. */
export interface Call<Type extends CommandType = CommandType> {
	readonly command: Extract<Command, { type: Type }>;
	readonly principal: string;
	/** The connection it came from, which may be gone by now. */
	readonly client: Client;
	/** Aborted when the command times out or the server stops. */
	readonly signal: AbortSignal;
	/** Resolves when it is the turn of this read. To be awaited before it goes on after a wait that many may share. */
	turn?(): Promise<void>;
}

/** What a command did. */
export interface Done {
	/** The response's `data`: what JSON can hold. Serialized at once, so it may change later. */
	data?: unknown;
	/** The same as JSON, where it is at hand. */
	written?: WrittenData;
	/** A session that is new, or whose record changed: journalled together with the outcome. */
	session?: SessionRecord;
	/** The session is new to the server and starts at version 0. */
	opened?: true;
	/** The id of a session that is gone, with its version, events and keys. */
	removed?: string;
	/** It was done and may be lost, for this reason: the answer is the failure `not_durable`. */
	notDurable?: string;
}

/** Runs the commands of one type. Throws {@link CommandError} for a failure with a code of its own. */
export type Handler<Type extends CommandType = CommandType> = (call: Call<Type>) => Promise<Done>;

export type Handlers = { readonly [Type in CommandType]: Handler<Type> };

/** A failure that reaches the client: code and text must not hold paths or secrets of the server. */
export class CommandError extends Error {
	readonly code: Data<"ErrorCode">;

	constructor(code: Data<"ErrorCode">, message: string, options?: ErrorOptions) {
		super(message, options);
		this.code = code;
	}
}
