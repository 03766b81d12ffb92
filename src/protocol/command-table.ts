import type Type from "typebox";
import type { CommandRow } from "./command-row.ts";
import type { EnvelopeFields } from "./envelope.ts";
import { serverCommands } from "./server-commands.ts";
import { sessionCommands } from "./session-commands.ts";

/** All commands by type. Look up untrusted types with `rowOf`. */
export const commandTable = { ...serverCommands, ...sessionCommands } as const;

type Table = typeof commandTable;

/** The `type` of a command. */
export type CommandType = keyof Table;

type SessionCommandType = {
	[Type in CommandType]: Table[Type]["target"] extends "session" ? Type : never;
}[CommandType];

/** Fields of a command type, `sessionId` included, without the envelope. */
export type CommandFields<Name extends CommandType> = Type.Static<Table[Name]["fields"]> &
	(Name extends SessionCommandType ? { sessionId: string } : unknown);

/** One type of command as it is sent: its fields, and those of the envelope. */
export type CommandOf<Name extends CommandType> = { type: Name } & Type.Static<
	typeof EnvelopeFields
> &
	CommandFields<Name>;

/** The `data` of a successful response, by type of command. */
export type ResponseData = { [Name in CommandType]: Type.Static<Table[Name]["data"]> };

/** Any command, discriminated by its `type`. */
export type Command = { [Name in CommandType]: CommandOf<Name> }[CommandType];

export const commandTypes = Object.keys(commandTable) as CommandType[];

const rows: ReadonlyMap<string, CommandRow> = new Map(Object.entries(commandTable));

/** The row of a command type. Safe for untrusted names like `constructor`. */
export function rowOf(type: string): CommandRow | undefined {
	return rows.get(type);
}

/** The session a command names. Ignores `sessionId` on a type without that field. */
export function sessionOf(command: Command): string | undefined {
	const row = commandTable[command.type] as CommandRow;
	if (row.target === "server" && !("sessionId" in row.fields.properties)) return undefined;
	return (command as { sessionId?: string }).sessionId;
}

/** The lane of the named session, even a new one; otherwise the server's. Lanes are per principal. */
export function laneOf(command: Command): "server" | `session:${string}` {
	const sessionId = sessionOf(command);
	return sessionId === undefined ? "server" : `session:${sessionId}`;
}

/** A prompt that waits for its run has no timeout. */
export function timeoutOf(command: Command): CommandRow["timeout"] {
	if (command.type === "prompt" && command.waitFor === "settled") return "none";
	return commandTable[command.type].timeout;
}
