import type { Command, CommandType, Data } from "../../protocol/index.ts";
import type { SessionRecord } from "../journal/journal.ts";
import type { Client, WrittenData } from "./message.ts";

export interface Call<Type extends CommandType = CommandType> {
	readonly command: Extract<Command, { type: Type }>;
	readonly principal: string;
	/** The client may be gone by now. */
	readonly client: Client;
	readonly signal: AbortSignal;
	/** Resolves when this read has its turn. Await it after any wait that many reads may share. */
	turn?(): Promise<void>;
}

export interface Done {
	/** The response's `data`. Serialized at once, so the object may change later. */
	readonly data?: unknown;
	readonly written?: WrittenData;
	/** A new or changed session record, journalled with the outcome. */
	readonly session?: SessionRecord;
	/** The session is new and starts at version 0. */
	readonly opened?: true;
	/** Id of a deleted session; its version, events and keys are deleted too. */
	readonly removed?: string;
	/** The reason why a completed change may be lost; the response is `not_durable`. */
	readonly notDurable?: string;
}

/** Throws {@link CommandError} for a failure with its own code. */
export type Handler<Type extends CommandType = CommandType> = (call: Call<Type>) => Promise<Done>;

export type Handlers = { readonly [Type in CommandType]: Handler<Type> };

/** A failure sent to the client: code and text must not contain server paths or secrets. */
export class CommandError extends Error {
	readonly code: Data<"ErrorCode">;

	constructor(code: Data<"ErrorCode">, message: string, options?: ErrorOptions) {
		super(message, options);
		this.code = code;
	}
}
