import type { SessionEntry, SessionProjection } from "@earendil-works/pi-coding-agent";
import { property } from "../core/property.ts";
import { estimateTokens, PICTURE_CHARACTERS } from "../core/tokens.ts";

/** The request that was last seen on its way to the model. */
export interface Observation {
	sessionId: string;
	/** The text of every result sent under this call id, in request order. Providers may use an id more than once. */
	textsOf(toolCallId: string): (string | undefined)[];
	/** Whether the results stood in the request in the same order as in this list of call ids; strangers are passed over. */
	isInOrder(callIds: readonly string[]): boolean;
	/** Does the work of answering ahead of the questions. The answers are the same without it, only later. */
	prepare(callIds: readonly string[]): void;
}

/**
 * Remembers a request. The messages are looked into only when somebody asks, since most requests are never asked
 * about; and they are gone through once, without an index, which would cost more than the few questions that come.
 */
export function createObservation(sessionId: string, messages: readonly unknown[]): Observation {
	const texts = new Map<string, (string | undefined)[]>();
	let results: SentResults | undefined;
	let inOrder: boolean | undefined;

	const sent = () => {
		results ??= resultsIn(messages);
		return results;
	};
	const isInOrder = (known: readonly string[]) => {
		// Once is enough: what is new since the request was not in it.
		inOrder ??= areInOrder(sent().callIds, known);
		return inOrder;
	};
	return {
		sessionId,
		isInOrder,
		prepare: isInOrder,
		textsOf(toolCallId) {
			let found = texts.get(toolCallId);
			if (!found) {
				const places = sent().places.get(toolCallId) ?? [];
				found = places.map((place) => contentText(messages[place]));
				texts.set(toolCallId, found);
			}
			return found;
		},
	};
}

interface SentResults {
	/** The calls whose results were sent, in the order of the request. */
	callIds: string[];
	/** Where in the request the results of a call stand. */
	places: Map<string, number[]>;
}

function resultsIn(messages: readonly unknown[]): SentResults {
	const results: SentResults = { callIds: [], places: new Map() };
	for (const [place, message] of messages.entries()) {
		const callId = sentId(message);
		if (callId === undefined) continue;
		results.callIds.push(callId);
		const earlier = results.places.get(callId);
		if (earlier) earlier.push(place);
		else results.places.set(callId, [place]);
	}
	return results;
}

/** What a result or a message of an extension is known by. */
export function sentId(message: unknown): string | undefined {
	const { toolCallId, role, details } = (message ?? {}) as Record<string, unknown>;
	if (typeof toolCallId === "string") return toolCallId;
	return role === "custom" ? messageId(details) : undefined;
}

/** What an edit knows a message by: its id, or its type where an extension gave it none. */
export function editId(message: unknown): string | undefined {
	const id = sentId(message);
	if (id !== undefined || property(message, "role") !== "custom") return id;
	return `type:${property(message, "customType")}`;
}

function contentText(message: unknown): string | undefined {
	return textOf((message as { content?: unknown }).content);
}

/** Strangers are rare, and looking for them takes longer than all the rest: only if there seems to be one. */
function areInOrder(sent: readonly string[], known: readonly string[]): boolean {
	return isSubsequence(sent, known) || isSubsequence(withoutStrangers(sent, known), known);
}

function withoutStrangers(sent: readonly string[], known: readonly string[]) {
	const ours = new Set(known);
	return sent.filter((id) => ours.has(id));
}

function isSubsequence(sent: readonly string[], known: readonly string[]): boolean {
	let at = 0;
	for (const id of sent) {
		while (at < known.length && known[at] !== id) at++;
		if (at++ === known.length) return false;
	}
	return true;
}

/**
 * The text of a message's content: its text blocks joined by newlines. `undefined` when there is none or when
 * anything else (an image) stands beside it, since then the text is not all the model saw.
 */
export function textOf(content: unknown): string | undefined {
	if (typeof content === "string") return content;
	if (!Array.isArray(content) || content.length === 0) return undefined;
	if (!content.every(isTextBlock)) return undefined;
	const [only, ...more] = content;
	return more.length === 0 ? only?.text : content.map((block) => block.text).join("\n");
}

function isTextBlock(block: unknown): block is { type: "text"; text: string } {
	if (typeof block !== "object" || block === null) return false;
	const { type, text } = block as { type?: unknown; text?: unknown };
	return type === "text" && typeof text === "string";
}

/** The blocks of text of a message, each as it is; other blocks are left out. */
export function textBlocks(content: unknown): string[] {
	if (typeof content === "string") return [content];
	if (!Array.isArray(content)) return [];
	return content.flatMap((block) => {
		const text = property(block, "text");
		return property(block, "type") === "text" && typeof text === "string" ? [text] : [];
	});
}

/** What a message of an extension is known by, in the session and in a request; no call of a tool has such an id. */
export function messageId(details: unknown): string | undefined {
	const id = property(details, "id");
	return typeof id === "string" ? `message:${id}` : undefined;
}

/** A message of the active context, by what a decision about its place or size needs. */
export interface ContextMessage {
	/** The session's entry that it comes from. */
	readonly entryId: string;
	readonly role: string;
	/** How many messages of the user stand before it, or are it. */
	readonly turn: number;
	/** Rough size as it stands in the context, context edits applied. */
	readonly tokens: number;
	/** The part of it that tools take: a result, or calls with their arguments. */
	readonly toolTokens: number;
}

/** What the next request will hold of the session, in order. */
export function contextMessages(source: SessionSource): ContextMessage[] {
	return messagesIn(activeEntries(source));
}

/** The messages of entries of the active context. */
export function messagesIn(entries: readonly ActiveEntry[]): ContextMessage[] {
	let turn = 0;
	return entries.flatMap(({ sourceEntry, messages }) =>
		(messages as { role?: unknown; content?: unknown }[]).map(({ role, content }) => {
			if (role === "user") turn++;
			const tokens = tokensOf(content);
			const toolTokens = role === "toolResult" ? tokens : tokensOf(callsIn(content));
			return { entryId: sourceEntry.id, role: String(role), turn, tokens, toolTokens };
		}),
	);
}

function callsIn(content: unknown): unknown[] {
	if (!Array.isArray(content)) return [];
	return content.filter((block) => block?.type === "toolCall");
}

function tokensOf(content: unknown): number {
	return estimateTokens(charactersOf(content));
}

function charactersOf(content: unknown): number {
	if (typeof content === "string") return content.length;
	if (!Array.isArray(content)) return 0;
	return content.reduce((sum: number, block: unknown) => sum + blockCharacters(block), 0);
}

function blockCharacters(block: unknown): number {
	const { type, text, thinking, name, arguments: input } = (block ?? {}) as Record<string, unknown>;
	if (type === "image") return PICTURE_CHARACTERS;
	if (type === "toolCall") return String(name).length + (JSON.stringify(input) ?? "").length;
	if (typeof thinking === "string") return thinking.length;
	return typeof text === "string" ? text.length : 0;
}

/** A message that an extension put into the session, as it stands in the context. */
export interface CustomMessage {
	readonly entryId: string;
	/** Its text blocks, context edits applied. */
	readonly texts: readonly string[];
	/** Rough size of the conversation behind it. */
	readonly tokensBehind: number;
}

/** The messages of one type in the active context, in its order, without those that were edited away. */
export function customMessages(source: SessionSource, customType: string): CustomMessage[] {
	const entries = activeEntries(source);
	const behind = tokensBehind(entries);
	return entries.flatMap(({ sourceEntry, messages }) => {
		if (sourceEntry.type !== "custom_message" || sourceEntry.customType !== customType) return [];
		const { id: entryId } = sourceEntry;
		return (messages as { content?: unknown }[]).map(({ content }) => ({
			entryId,
			texts: textBlocks(content),
			tokensBehind: behind.get(entryId) ?? 0,
		}));
	});
}

/** For each entry of the context, the tokens of all that comes after it. */
function tokensBehind(entries: readonly ActiveEntry[]): Map<string, number> {
	const behind = new Map<string, number>();
	let tokens = 0;
	for (const message of messagesIn(entries).toReversed()) {
		if (!behind.has(message.entryId)) behind.set(message.entryId, tokens);
		tokens += message.tokens;
	}
	return behind;
}

/** The part of pi's session manager that the ledger reads. Older hosts and stand-ins lack the optional methods. */
export interface SessionSource {
	getSessionId(): string;
	getLeafId(): string | null;
	getBranch(): SessionEntry[];
	getEntry?(id: string): SessionEntry | undefined;
	buildSessionProjection?(): SessionProjection;
}

/** An entry of the active context with the messages it contributes to a request, context edits applied. */
export type ActiveEntry = SessionProjection["entries"][number];

/** Everything on the current branch that is in the active context, in branch order. */
export function activeEntries(source: SessionSource): ActiveEntry[] {
	if (source.buildSessionProjection) return source.buildSessionProjection().entries;
	return entriesAfterCompaction(source.getBranch()).map((sourceEntry) => ({
		sourceEntry,
		messages: sourceEntry.type === "message" ? [sourceEntry.message] : [],
	}));
}

/**
 * The entries between `ancestorId` and the leaf, oldest first; `undefined` when the ancestor is not above the leaf
 * (the user went elsewhere in the tree) or the source cannot look entries up.
 */
export function entriesSince(
	source: SessionSource,
	ancestorId: string,
): SessionEntry[] | undefined {
	if (!source.getEntry) return undefined;
	const fresh: SessionEntry[] = [];
	for (let id = source.getLeafId(); id !== ancestorId; ) {
		const entry = id === null ? undefined : source.getEntry(id);
		if (!entry) return undefined;
		fresh.push(entry);
		id = entry.parentId;
	}
	return fresh.reverse();
}

/** For hosts without a projection, which have no context edits either: what the latest compaction kept, and all since. */
function entriesAfterCompaction(branch: SessionEntry[]): SessionEntry[] {
	const at = branch.findLastIndex((entry) => entry.type === "compaction");
	const compaction = branch[at];
	if (compaction?.type !== "compaction") return branch;
	const kept = branch.findIndex((entry) => entry.id === compaction.firstKeptEntryId);
	return kept >= 0 && kept < at ? branch.slice(kept) : branch.slice(at + 1);
}
