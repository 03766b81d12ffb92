import { messagesIn } from "./context-messages.ts";
import { textBlocks } from "./message-text.ts";
import { type ActiveEntry, activeEntries, type SessionSource } from "./session-source.ts";

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
