import type { SessionEntry, SessionProjection } from "@earendil-works/pi-coding-agent";
import { getOrAdd } from "../core/get-or-add.ts";
import { property } from "../core/property.ts";
import { estimateTokens, PICTURE_CHARACTERS } from "../core/tokens.ts";

/** Scans the messages once, on the first query. Most requests are never queried, and an index costs more. */
export function createObservation(sessionId: string, messages: readonly unknown[]) {
	const texts = new Map<string, (string | undefined)[]>();
	let results: ReturnType<typeof resultsIn> | undefined;
	let inOrder: boolean | undefined;

	const sent = () => {
		results ??= resultsIn(messages);
		return results;
	};
	return {
		sessionId,
		/** Whether the results are in the order of these call ids. Results with other ids are ignored. */
		isInOrder(known: readonly string[]): boolean {
			// Computed once, since results that are newer than the request were not in it.
			inOrder ??= areInOrder(sent().callIds, known);
			return inOrder;
		},
		/** Texts of all results with this call id, in request order. Providers may reuse an id. */
		textsOf(toolCallId: string): (string | undefined)[] {
			return getOrAdd(texts, toolCallId, () => {
				const places = sent().places.get(toolCallId) ?? [];
				return places.map((place) => textOf(property(messages[place], "content")));
			});
		},
	};
}

function resultsIn(messages: readonly unknown[]) {
	const callIds: string[] = [];
	const places = new Map<string, number[]>();
	for (const [place, message] of messages.entries()) {
		const callId = sentId(message);
		if (callId === undefined) continue;
		callIds.push(callId);
		getOrAdd(places, callId, (): number[] => []).push(place);
	}
	return { callIds, places };
}

function sentId(message: unknown): string | undefined {
	const { toolCallId, role, details } = (message ?? {}) as Record<string, unknown>;
	if (typeof toolCallId === "string") return toolCallId;
	return role === "custom" ? messageId(details) : undefined;
}

/** The id by which an edit finds a message; its type for an extension's message without an id. */
export function editId(message: unknown): string | undefined {
	const id = sentId(message);
	if (id !== undefined || property(message, "role") !== "custom") return id;
	return `type:${property(message, "customType")}`;
}

/** Filters out unknown ids only if the first check fails, since they are rare and filtering is slow. */
function areInOrder(sent: readonly string[], known: readonly string[]): boolean {
	if (isSubsequence(sent, known)) return true;
	const ours = new Set(known);
	const sentOurs = sent.filter((id) => ours.has(id));
	return isSubsequence(sentOurs, known);
}

function isSubsequence(sent: readonly string[], known: readonly string[]): boolean {
	let at = 0;
	for (const id of sent) {
		while (at < known.length && known[at] !== id) at++;
		if (at++ === known.length) return false;
	}
	return true;
}

/** `undefined` if there is no text, or other blocks such as images: the model then saw more than text. */
export function textOf(content: unknown): string | undefined {
	if (typeof content === "string") return content;
	if (!Array.isArray(content) || content.length === 0) return undefined;
	if (!content.every(isTextBlock)) return undefined;
	const [only, ...more] = content;
	return more.length === 0 ? only?.text : content.map((block) => block.text).join("\n");
}

export function isTextBlock(block: unknown): block is { type: "text"; text: string } {
	return property(block, "type") === "text" && typeof property(block, "text") === "string";
}

export function textBlocks(content: unknown): readonly string[] {
	if (typeof content === "string") return [content];
	return Array.isArray(content) ? content.filter(isTextBlock).map(({ text }) => text) : [];
}

/** The id of an extension's message; never equal to a tool call id. */
export function messageId(details: unknown): string | undefined {
	const id = property(details, "id");
	return typeof id === "string" ? `message:${id}` : undefined;
}

export interface ContextMessage {
	readonly entryId: string;
	readonly role: string;
	/** Number of user messages up to and including this one. */
	readonly turn: number;
	/** Estimated size, with context edits applied. */
	readonly tokens: number;
	/** The part of `tokens` that is tool results, or tool calls with their arguments. */
	readonly toolTokens: number;
}

export function contextMessages(source: SessionSource): ContextMessage[] {
	return messagesIn(activeEntries(source));
}

function messagesIn(entries: readonly ActiveEntry[]): ContextMessage[] {
	let turn = 0;
	return entries.flatMap(({ sourceEntry, messages }) =>
		(messages as { role?: unknown; content?: unknown }[]).map(({ role, content }) => {
			if (role === "user") turn++;
			const tokens = tokensOf(content);
			const toolTokens = role === "toolResult" ? tokens : tokensOf(content, isCall);
			return { entryId: sourceEntry.id, role: String(role), turn, tokens, toolTokens };
		}),
	);
}

function isCall(block: unknown): boolean {
	return property(block, "type") === "toolCall";
}

function tokensOf(content: unknown, counts = (_block: unknown) => true): number {
	const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content;
	if (!Array.isArray(blocks)) return 0;
	const counted = blocks.filter(counts);
	return estimateTokens(counted.reduce((sum, block) => sum + blockCharacters(block), 0));
}

function blockCharacters(block: unknown): number {
	const { type, text, thinking, name, arguments: input } = (block ?? {}) as Record<string, unknown>;
	if (type === "image") return PICTURE_CHARACTERS;
	if (type === "toolCall") return String(name).length + (JSON.stringify(input) ?? "").length;
	if (typeof thinking === "string") return thinking.length;
	return typeof text === "string" ? text.length : 0;
}

export function customMessages(source: SessionSource, customType: string) {
	const entries = activeEntries(source);
	const behind = tokensBehind(entries);
	return entries.flatMap(({ sourceEntry, messages }) => {
		if (sourceEntry.type !== "custom_message" || sourceEntry.customType !== customType) return [];
		const { id: entryId } = sourceEntry;
		const tokensBehind = behind.get(entryId) ?? 0;
		return (messages as { content?: unknown }[]).map(({ content }) => {
			return { entryId, texts: textBlocks(content), tokensBehind };
		});
	});
}

function tokensBehind(entries: readonly ActiveEntry[]): Map<string, number> {
	const behind = new Map<string, number>();
	let tokens = 0;
	for (const message of messagesIn(entries).toReversed()) {
		if (!behind.has(message.entryId)) behind.set(message.entryId, tokens);
		tokens += message.tokens;
	}
	return behind;
}

/** The part of pi's session manager that we use. Older versions of pi lack the optional methods. */
export interface SessionSource {
	getSessionId(): string;
	getLeafId(): string | null;
	getBranch(): SessionEntry[];
	getEntry?(id: string): SessionEntry | undefined;
	buildSessionProjection?(): SessionProjection;
}

type ActiveEntry = SessionProjection["entries"][number];

/** The entries of the active context, in branch order. */
export function activeEntries(source: SessionSource): ActiveEntry[] {
	if (source.buildSessionProjection) return source.buildSessionProjection().entries;
	return entriesAfterCompaction(source.getBranch()).map((sourceEntry) => ({
		sourceEntry,
		messages: sourceEntry.type === "message" ? [sourceEntry.message] : [],
	}));
}

/** Entries after `ancestor`, oldest first. `undefined` if it is not above the leaf, or without `getEntry`. */
export function entriesSince(source: SessionSource, ancestor: string): SessionEntry[] | undefined {
	if (!source.getEntry) return undefined;
	const fresh: SessionEntry[] = [];
	for (let id = source.getLeafId(); id !== ancestor; ) {
		const entry = id === null ? undefined : source.getEntry(id);
		if (!entry) return undefined;
		fresh.push(entry);
		id = entry.parentId;
	}
	return fresh.reverse();
}

/** The entries that the last compaction kept. For hosts without projections and context edits. */
function entriesAfterCompaction(branch: SessionEntry[]): SessionEntry[] {
	const at = branch.findLastIndex((entry) => entry.type === "compaction");
	const compaction = branch[at];
	if (compaction?.type !== "compaction") return branch;
	const kept = branch.findIndex((entry) => entry.id === compaction.firstKeptEntryId);
	return kept >= 0 && kept < at ? branch.slice(kept) : branch.slice(at + 1);
}
