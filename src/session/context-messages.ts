import { estimateTokens, PICTURE_CHARACTERS } from "../core/tokens.ts";
import { type ActiveEntry, activeEntries, type SessionSource } from "./ledger.ts";
import { textBlocks } from "./observation.ts";

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
