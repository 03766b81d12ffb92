import type { Client } from "../engine/message.ts";
import type { Moved } from "../engine/outcome.ts";

type Lifecycle = Client["lifecycle"];

/** The number of a command on its link, its client, and an id for the journal if the command has none. */
export type CommandHead = [
	number: number,
	client: string,
	principal: string,
	lifecycle: Lifecycle,
	commandId?: string,
];

/** Which of a principal's notices a server wants, because it has clients of that principal. */
export type Interest = "all" | "notices" | "none";

/** The heads of all frames between two servers. `handle` is the owner's number for a stream. */
export interface FrameHeads {
	// From the server of a client to the owner of a session.
	/** Body: the command. */
	command: CommandHead;
	clientGone: [client: string, principal: string];
	interest: [principal: string, level: Interest];
	/** The last subscriber has left. */
	unsubscribe: number;

	// From the owner of a session to the server of a client.
	/** The number of a command. Body: its response. */
	response: number;
	/** The owner cannot run the command. */
	moved: [number: number, why: Moved];
	/** Body: a message for one client. */
	message: [client: string, principal: string];
	/** A command has changed which lifecycle events the client gets. */
	lifecycle: [client: string, principal: string, lifecycle: Lifecycle];
	/** Body: a message for the principal's clients. */
	notice: [principal: string, kind: "lifecycle" | "notice"];
	stream: [handle: number, principal: string, sessionId: string, seq: number];
	/** Body: the event, or the notice of a gap. */
	event: [handle: number, seq: number | null, isGap: 0 | 1];
	/** A command has subscribed the client to the stream. */
	attach: [client: string, principal: string, sessionId: string, after: number];
	detach: [client: string, principal: string, sessionId: string];
	streamLost: number;
	/** Sessions that the sender has given up. */
	released: (readonly [principal: string, sessionId: string])[];
}

export type FrameKind = keyof FrameHeads;

/** The first character of a frame. A server of the same `LINK_VERSION` has the same letters. */
export const LETTERS: { readonly [Kind in FrameKind]: string } = {
	command: "c",
	clientGone: "g",
	interest: "i",
	unsubscribe: "u",
	response: "r",
	moved: "m",
	message: "x",
	lifecycle: "v",
	notice: "b",
	stream: "s",
	event: "e",
	attach: "a",
	detach: "d",
	streamLost: "o",
	released: "h",
};
