import type { AgentMessage, SessionEntry } from "../../protocol/index.ts";
import { updateCall } from "./blocks.ts";
import type { Item } from "./items.ts";
import {
	customItem,
	itemOf,
	noteItem,
	ownEntryWords,
	reportItem,
	summaryItem,
	textField,
	withResult,
} from "./message-items.ts";

/** The entries from the root to the leaf. */
export function branchOf(
	entries: readonly SessionEntry[],
	leafId: string | null,
): readonly SessionEntry[] {
	const byId = new Map(entries.map((entry) => [entry.id, entry]));
	const branch: SessionEntry[] = [];
	let next = leafId === null ? undefined : byId.get(leafId);
	// A damaged file may have cycles.
	while (next && branch.length <= entries.length) {
		branch.push(next);
		next = next.parentId === null ? undefined : byId.get(next.parentId);
	}
	return branch.reverse();
}

/** The items of a branch, each with a unique key. */
export function itemsOf(branch: readonly SessionEntry[]): Item[] {
	const items: Item[] = [];
	const keys = new Set<string>();
	for (const entry of branch) {
		const { message } = entry;
		if (message?.role === "toolResult" && giveResult(items, message)) continue;
		const item = message ? itemOf(message) : entryItem(entry);
		if (!item) continue;
		const key = keys.has(item.key) ? `${item.key}:${entry.id}` : item.key;
		keys.add(key);
		addItem(items, { ...item, key, entryId: entry.id });
	}
	return items;
}

/** Appends an item; equal notes in a row are joined. */
export function addItem(items: Item[], item: Item): void {
	const last = items.at(-1);
	if (item.kind === "note" && last?.kind === "note" && last.text === item.text) {
		items[items.length - 1] = { ...last, stands: [...last.stands, ...item.stands] };
	} else {
		items.push(item);
	}
}

/** Returns whether the result has a call. */
export function giveResult(items: Item[], message: AgentMessage): boolean {
	const { toolCallId = "", content, isError = false } = message;
	return updateCall(items, toolCallId, (call) => withResult(call, content, isError));
}

export function entryItem(entry: SessionEntry): Item | undefined {
	const base = { key: `entry:${entry.id}`, entryId: entry.id, atMs: Date.parse(entry.timestamp) };
	const note = (text: string): Item => noteItem(base, text);
	switch (entry.type) {
		case "compaction":
			return summaryItem(base, "compaction", entry);
		case "branch_summary":
			return summaryItem(base, "branch", entry);
		case "custom_message":
			return customItem(base, entry);
		case "model_change":
			return note(`Model: ${textField(entry, "provider")}/${textField(entry, "modelId")}`);
		case "thinking_level_change":
			return note(`Thinking: ${textField(entry, "thinkingLevel")}`);
		case "session_info":
			return note(`Name: ${textField(entry, "name") ?? "none"}`);
		case "custom":
			return (
				reportItem(base, entry) ??
				note(ownEntryWords(entry) ?? textField(entry, "customType") ?? "custom")
			);
		case "context_edit":
			return note("Context edited");
		case "label":
			return undefined;
		default:
			return note(entry.type);
	}
}
