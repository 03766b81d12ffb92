import type Type from "typebox";
import type { CommandRow } from "./command-row.ts";
import type { EnvelopeFields } from "./envelope.ts";
import { insightCommands } from "./insight-commands.ts";
import { serverCommands } from "./server-commands.ts";
import { sessionCommands } from "./session-commands.ts";

/** Every command of the protocol, by type. Look rows up with `rowOf`, since a type comes from outside. */
export const commandTable = { ...serverCommands, ...sessionCommands, ...insightCommands } as const;

type Table = typeof commandTable;

/** The type of a command. */
export type CommandType = keyof Table;

/** The commands that name their session. */
export type SessionCommandType = {
	[Type in CommandType]: Table[Type]["target"] extends "session" ? Type : never;
}[CommandType];

/** A command's own fields, `sessionId` included, as a client gives them. */
export type CommandFields<Name extends CommandType> = Type.Static<Table[Name]["fields"]> &
	(Name extends SessionCommandType ? { sessionId: string } : unknown);

/** One command of a type, as it travels. */
export type CommandOf<Name extends CommandType> = { type: Name } & Type.Static<
	typeof EnvelopeFields
> &
	CommandFields<Name>;

/** Any command, told apart by `type`. */
export type Command = { [Name in CommandType]: CommandOf<Name> }[CommandType];

/** The commands' types, in the order of the table. */
export const commandTypes = Object.keys(commandTable) as CommandType[];

const rows: ReadonlyMap<string, CommandRow> = new Map(Object.entries(commandTable));

/** The row of a command type, or `undefined` where there is no such command; safe for names like `constructor`. */
export function rowOf(type: string): CommandRow | undefined {
	return rows.get(type);
}

/** The session a command is about, if it names one that its type knows of; a stray `sessionId` is not looked at. */
export function sessionOf(command: Command): string | undefined {
	const row = commandTable[command.type] as CommandRow;
	if (row.target === "server" && !("sessionId" in row.fields.properties)) return undefined;
	return (command as { sessionId?: string }).sessionId;
}

/**
 * The queue a command belongs to: that of the session it is about, else the server's. So a session that is being created
 * under a given id is there for the commands right behind. Lanes of different principals are different lanes.
 */
export function laneOf(command: Command): "server" | `session:${string}` {
	const sessionId = sessionOf(command);
	return sessionId === undefined ? "server" : `session:${sessionId}`;
}

/** The timeout class of a command: a prompt that waits for its run has none. */
export function timeoutOf(command: Command): CommandRow["timeout"] {
	if (command.type === "prompt" && command.waitFor === "settled") return "none";
	return commandTable[command.type].timeout;
}
