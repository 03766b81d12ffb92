import type { PromptTokens } from "../core/bill.ts";
import type { Speaker, WireRequest } from "../wire/index.ts";
import type { Head, TracedRequest, TracePiece } from "./trace.ts";

export interface Conversation {
	/** The book's number; 0 until it is booked. */
	id: number;
	readonly format: WireRequest["format"];
	readonly speaker: Speaker;
	readonly cacheKey?: string;
	/** What agents call it: a resumed session may have a new name. */
	readonly names: Set<string>;
	/** The different heads of its latest requests. */
	readonly heads: Head[];
	/** The number of the conversation whose history a sub-agent or a side request began with. */
	readonly parent?: number;
	usedMs: number;
	latest?: SentRequest;
	/** The latest one with a bill. */
	latestBilled?: SentRequest;
}

/** A request in the tree of prefixes. */
export interface SentRequest extends Omit<TracedRequest, "messages" | "speaker" | "cacheKey"> {
	/** The book's number; 0 until it is booked. */
	id: number;
	readonly conversation: Conversation;
	/** The prefix of all its messages; `undefined` if it has none. */
	readonly end: Prefix | undefined;
	/** The start of the latest request that used its cached prompt. */
	usedMs: number;
}

/** A prefix of messages that some request had. */
export interface Prefix {
	readonly before: Prefix | undefined;
	readonly piece: TracePiece;
	/** In pieces, and in bytes. */
	readonly length: number;
	readonly bytes: number;
	/** Whether the model wrote some of it: then only one conversation and its branches have it. */
	readonly isLived: boolean;
	/** By conversation: its latest request with this prefix, and the latest with a bill. */
	readonly users: Map<Conversation, { latest: SentRequest; billed?: SentRequest }>;
	/** Requests that end here. */
	ends: SentRequest[];
}

/** The message pieces of a request that was added. */
export function messagesOf({ end }: SentRequest): TracePiece[] {
	const pieces: TracePiece[] = [];
	for (let at = end; at; at = at.before) pieces.push(at.piece);
	return pieces.reverse();
}

export function piecesOf(sent: SentRequest): TracePiece[] {
	return [...sent.head.pieces, ...messagesOf(sent)];
}

export function promptOf({ input, read, write }: PromptTokens): number {
	return input + read + write;
}
