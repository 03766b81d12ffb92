import type { Command, CommandType, Data } from "../../protocol/index.ts";
import type { SessionRecord } from "../journal/journal.ts";
import type { Client, WrittenData } from "./message.ts";

export interface Call<Type extends CommandType = CommandType> {
	readonly command: Extract<Command, { type: Type }>;
	readonly principal: string;
	/** The sender, which may have disconnected by now. */
	readonly client: Client;
	readonly signal: AbortSignal;
	/** Resolves at this read's next turn. Await it after any wait that many reads may share. */
	turn?(): Promise<void>;
}

export interface Done {
	/** The response's `data`. It may change after it was serialized, for a read perhaps in a later turn. */
	readonly data?: unknown;
	readonly written?: WrittenData;
	/** A new or changed session record. The journal stores it together with the outcome. */
	readonly session?: SessionRecord;
	/** The session is new and starts at version 0. */
	readonly opened?: true;
	/** Id of a deleted session; its version, events and keys are deleted too. */
	readonly removed?: string;
	/** Why a completed change may be lost. If set, the response is a `not_durable` failure. */
	readonly notDurable?: string;
}

/** Throws {@link CommandError} for a specific error code. Other errors are reported as `failed`. */
export type Handler<Type extends CommandType = CommandType> = (call: Call<Type>) => Promise<Done>;

export type Handlers = { readonly [Type in CommandType]: Handler<Type> };

/** A failure that is sent to the client. Its message must not contain server paths or secrets. */
export class CommandError extends Error {
	readonly code: Data<"ErrorCode">;

	constructor(code: Data<"ErrorCode">, message: string, options?: ErrorOptions) {
		super(message, options);
		this.code = code;
	}
}
