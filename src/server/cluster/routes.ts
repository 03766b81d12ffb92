import { randomUUID } from "node:crypto";
import { type Command, type CommandRow, sessionOf } from "../../protocol/index.ts";
import { NAMING_A_SESSION } from "../engine/engine.ts";
import type { Frame } from "../engine/frame.ts";
import type { Client, Message } from "../engine/message.ts";
import type { StreamName } from "../journal/journal.ts";
import type { CommandHead } from "./frames.ts";

export type ValidFrame = Extract<Frame, { ok: true }>;

/** A command from its arrival at this server until its response, wherever it runs. */
export interface RoutedCommand {
	/** Order of arrival. */
	readonly number: number;
	readonly client: Client;
	readonly bytes: string | Uint8Array;
	readonly frame: ValidFrame;
	readonly route: Route;
	/** Takes the response. Default: it goes to the client. */
	readonly reply: ((message: Message) => void) | undefined;
	/** The server that it was counted for while it waits here, or is in flight there. */
	account: string | undefined;
	/** How often it was sent to another server. */
	sends: number;
	/** How often the link to that server was lost before it answered. */
	losses: number;
	/** Since when it waits for an owner, by a monotonic clock. */
	waitsSince: number;
	/** Commands on other servers or in other sessions that must end first. */
	waitsFor: Set<RoutedCommand | "elsewhere"> | undefined;
	dependents: Set<RoutedCommand> | undefined;
}

/** Queue and target of one session's commands. They are sent in order of arrival, to one server at a time. */
export interface Route {
	readonly name: StreamName;
	/** Commands without a session: this server runs them. */
	readonly isLocal: boolean;
	/** The server that has the session, if it is another one and known. */
	place: string | undefined;
	/** The last one: what waits is counted for it. */
	lastPlace: string;
	/** Not sent, or sent to a server that did not answer. */
	readonly queue: RoutedCommand[];
	readonly sent: Map<number, RoutedCommand>;
	/** The server that has the commands in `sent`. */
	sentTo: string | undefined;
	isResolving: boolean;
	/** Attempts since the last answer. */
	attempts: number;
	timer: NodeJS.Timeout | undefined;
	/** Servers that cannot take the session, and until when they are not asked again. */
	readonly refused: Map<string, number>;
}

export function createRoute(name: StreamName, isLocal = false): Route {
	return {
		name,
		isLocal,
		place: undefined,
		lastPlace: "unknown",
		queue: [],
		sent: new Map(),
		sentTo: undefined,
		isResolving: false,
		attempts: 0,
		timer: undefined,
		refused: new Map(),
	};
}

/** Puts a command that came back where it was. */
export function enqueue({ queue }: Route, command: RoutedCommand): void {
	let at = queue.length;
	while (at > 0 && (queue[at - 1] as RoutedCommand).number > command.number) at--;
	queue.splice(at, 0, command);
}

export function isIdle({ queue, sent, isResolving, timer }: Route): boolean {
	return queue.length === 0 && sent.size === 0 && !isResolving && timer === undefined;
}

const CREATIONS: ReadonlySet<string> = new Set(["create_session", "load_session"]);

function isCreation(type: string): boolean {
	return CREATIONS.has(type);
}

/** The creation that is next, if it is one. */
export function creationIn({ queue }: Route): { readonly cwd: string | undefined } | undefined {
	const command = queue[0]?.frame.command;
	if (!command || !isCreation(command.type)) return undefined;
	return { cwd: command.type === "create_session" ? command.cwd : undefined };
}

/**
 * The session whose server must run a command, or `undefined` if this one can. A session that is created without an id
 * gets a name of its own here, so that creations are spread.
 */
export function sessionToRoute(
	command: Command,
	target: CommandRow["target"],
	takesSessions: boolean,
): string | undefined {
	const { type } = command;
	const given = sessionOf(command);
	if (isCreation(type)) {
		// A file is on the disk of the server that is asked, if that takes sessions at all.
		if (type === "load_session" && takesSessions) return undefined;
		return given ?? `new ${randomUUID()}`;
	}
	return target === "session" || NAMING_A_SESSION.has(type) ? given : undefined;
}

/** What precedes a command on a link. */
export function commandHead(
	number: number,
	{ id, principal, lifecycle }: Client,
	commandId?: string,
) {
	const head: CommandHead = [number, id, principal, lifecycle];
	if (commandId !== undefined) head.push(commandId);
	return head;
}

/** Longer responses are answers, not refusals. */
const REFUSAL_CHARACTERS = 1_000;

export function isBusy(json: string): boolean {
	return json.length < REFUSAL_CHARACTERS && JSON.parse(json).code === "busy";
}
