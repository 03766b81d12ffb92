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
	/** The latest one with a bill of each cache, the latest of all last. */
	billed: readonly SentRequest[];
}

/** A request in the tree of prefixes. */
export interface SentRequest extends Omit<TracedRequest, "messages" | "speaker" | "cacheKey"> {
	/** The book's number; 0 until it is booked. */
	id: number;
	readonly conversation: Conversation;
	/** The prefix of all its messages; `undefined` if it has none. */
	readonly end: Prefix | undefined;
	/** True if its cache was read, by it or by an earlier request of the conversation. */
	readonly isCaching: boolean;
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
	/** By conversation: its latest request with this prefix, and the latest with a bill of each cache. */
	readonly users: Map<Conversation, { latest: SentRequest; billed: readonly SentRequest[] }>;
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

/** Whether two requests can read the same cache: each model of each upstream has its own. */
export function sharesCache(one: Cached, other: Cached): boolean {
	return one.model === other.model && one.settings.upstream === other.settings.upstream;
}

type Cached = Pick<TracedRequest, "model" | "settings">;

/** The last prompt of a request, which is what the next one should find in the cache. */
export function leftBy({ tokens, lastPrompt }: Pick<TracedRequest, "tokens" | "lastPrompt">) {
	return lastPrompt ?? tokens;
}

export function promptOf({ input, read, write }: PromptTokens): number {
	return input + read + write;
}
