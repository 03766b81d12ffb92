import type { Command, CommandType, ErrorCode } from "../../protocol/index.ts";
import type { SessionRecord } from "../journal/journal.ts";
import type { Client } from "./client.ts";
import type { WrittenData } from "./written-data.ts";

/** One command on its way through its handler. */
export interface Call<Type extends CommandType = CommandType> {
	readonly command: Extract<Command, { type: Type }>;
	/** Whose sessions, ids and keys it can name. */
	readonly principal: string;
	/** The connection it came from, which may be gone by now. */
	readonly client: Client;
	/** Aborted when the command times out or the server stops. */
	readonly signal: AbortSignal;
	/**
	 * A read that waited for something calls this before it goes on with work of its own. Resolves when it is its turn
	 * among the reads: many may have waited for the same thing.
	 */
	turn?(): Promise<void>;
}

/** What a command did. */
export interface Done {
	/** The response's `data`: what JSON can hold. It is written down at once, so it may change later. */
	data?: unknown;
	/** The same as JSON, where it is at hand. */
	written?: WrittenData;
	/** A session that came to be, or whose record changed: journalled together with the outcome. */
	session?: SessionRecord;
	/** The session is new to the server and starts at version 0. */
	opened?: true;
	/** The id of a session that is gone: its version, its events and its keys go too. */
	removed?: string;
	/** It was done and may be lost, for this reason: the answer is the failure `not_durable`. */
	notDurable?: string;
}

/** Runs the commands of one type. Throws {@link CommandError} for a failure with a code of its own. */
export type Handler<Type extends CommandType = CommandType> = (call: Call<Type>) => Promise<Done>;

/** A handler for every command. */
export type Handlers = { readonly [Type in CommandType]: Handler<Type> };

/** A failure that travels: its code and text reach the client, so neither may hold paths or secrets of the server. */
export class CommandError extends Error {
	readonly code: ErrorCode;

	constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
		super(message, options);
		this.code = code;
	}
}
