import type { Data } from "../../protocol/index.ts";
import type { Picture } from "../parts/picture.tsx";
import {
	type AssistantItem,
	type Block,
	type Item,
	type ItemOf,
	NEW_CALL,
	type ToolCall,
	updateCall,
} from "./items.ts";

export function field(value: unknown, name: string): unknown {
	return (value as Record<string, unknown> | null | undefined)?.[name];
}

function textField(value: unknown, name: string): string | undefined {
	const found = field(value, name);
	return typeof found === "string" ? found : undefined;
}

export function contentOf(content: unknown): { text: string; pictures: readonly Picture[] } {
	if (typeof content === "string") return { text: content, pictures: [] };
	if (!Array.isArray(content)) return { text: "", pictures: [] };
	const texts = content.flatMap((block) => textField(block, "text") ?? []);
	const pictures = content
		.filter((block) => field(block, "type") === "image")
		.map((block) => ({
			mimeType: textField(block, "mimeType") ?? "",
			data: textField(block, "data") ?? "",
		}));
	return { text: texts.join("\n"), pictures };
}

export function keyOf(message: Data<"AgentMessage">): string {
	return `${message.role}:${message.timestamp ?? 0}`;
}

/** Callers first attach a tool result to its call. It becomes an item only if the call is missing. */
export function itemOf(message: Data<"AgentMessage">): Item | undefined {
	const base = { key: keyOf(message) };
	switch (message.role) {
		case "user":
			return { kind: "user", ...base, ...contentOf(message.content) };
		case "assistant":
			return assistantItem(message);
		case "bashExecution":
			return {
				kind: "bash",
				...base,
				command: textField(message, "command") ?? "",
				...bashOutcome(message),
			};
		case "custom":
			return customItem(base, message);
		case "compactionSummary":
			return summaryItem(base, "compaction", message);
		case "branchSummary":
			return summaryItem(base, "branch", message);
		case "toolResult": {
			const key = `toolResult:${message.toolCallId}`;
			const label = `Result of ${message.toolName ?? "a tool"}`;
			return { kind: "custom", ...base, key, label, ...contentOf(message.content) };
		}
		case "system":
			return undefined;
		default:
			return noteItem(base, message.role);
	}
}

type Base = Pick<Item, "key" | "entryId">;

function noteItem(base: Base, text: string): ItemOf<"note"> {
	return { kind: "note", ...base, text, mergedKeys: [base.key] };
}

/** A message or entry of an extension. It becomes a note if its `display` is false. */
function customItem(base: Base, source: unknown): ItemOf<"custom" | "note"> {
	const label = textField(source, "customType") ?? "extension";
	if (field(source, "display") === false) return noteItem(base, strataEntryText(source) ?? label);
	return { kind: "custom", ...base, label, ...contentOf(field(source, "content")) };
}

/** Describes a pi-strata entry to the reader. Undefined for other entries. */
function strataEntryText(source: unknown): string | undefined {
	switch (textField(source, "customType")) {
		case "pi-kota-pin":
			return field(field(source, "data"), "pinned") === false
				? "A result was unpinned: pruning may replace it with a stub"
				: "A result was pinned: pruning will not replace it";
		case "strata-workset":
			return field(source, "content") === undefined
				? "The working set was changed"
				: "Files from the working set were added to the conversation";
		case "pi-readcache":
			return "A refresh was requested: the next read of that file or line range is sent in full";
		case "strata-shown-edits":
			return "Older content is shortened or moved from the next request on";
		default:
			return undefined;
	}
}

/** The report of a pi-strata command, which the model does not see. Undefined for other entries. */
function reportItem(base: Base, entry: unknown): ItemOf<"custom"> | undefined {
	const text = textField(field(entry, "data"), "text");
	if (textField(entry, "customType") !== "strata-report" || text === undefined) return undefined;
	return { kind: "custom", ...base, label: "strata", text, pictures: [], hasColumns: true };
}

/** Whether a notice, for clients that show no entries, repeats the first line of the report before it. */
export function repeatsReport(event: Data<"SessionEvent">, before?: Data<"SessionEvent">) {
	if (event.type !== "extension_ui_request" || event.method !== "notify") return false;
	if (before?.type !== "entry_appended") return false;
	return reportItem({ key: "" }, before.entry)?.text.split("\n", 1)[0] === event.message;
}

function summaryItem(base: Base, origin: "compaction" | "branch", source: unknown): Item {
	const tokensBefore = field(source, "tokensBefore");
	return {
		kind: "summary",
		...base,
		origin,
		text: textField(source, "summary") ?? "",
		...(typeof tokensBefore === "number" && { tokensBefore }),
	};
}

export function assistantItem(message: Data<"AgentMessage">): AssistantItem {
	const content = Array.isArray(message.content) ? message.content : [];
	const { usage, model, stopReason, errorMessage } = message;
	const isAborted = stopReason === "aborted";
	const error = stopReason === "error" ? (errorMessage ?? "The model request failed.") : undefined;
	return {
		kind: "assistant",
		key: keyOf(message),
		blocks: content.flatMap((block) => blockOf(block) ?? []),
		isStreaming: false,
		...(model !== undefined && { model }),
		...(error !== undefined && { error }),
		...(isAborted && { isAborted }),
		...(usage && { tokens: usage.totalTokens, dollars: usage.cost.total }),
	};
}

export function withResult(call: ToolCall, content: unknown, isError: boolean): ToolCall {
	const { text, pictures } = contentOf(content);
	return { ...call, output: text, pictures, state: isError ? "failed" : "done" };
}

function blockOf(block: unknown): Block | undefined {
	switch (field(block, "type")) {
		case "text":
			return { kind: "text", text: textField(block, "text") ?? "" };
		case "thinking": {
			const text = textField(block, "thinking") ?? "";
			return { kind: "thinking", text: text || "(hidden by the provider)" };
		}
		case "toolCall": {
			const id = textField(block, "id") ?? "";
			const name = textField(block, "name") ?? "";
			const args = field(block, "arguments");
			return { kind: "call", call: { ...NEW_CALL, id, name, args, state: "waiting" } };
		}
		default:
			return undefined;
	}
}

export function bashOutcome(
	result: Data<"AgentMessage"> | Data<"BashResult">,
): Pick<ItemOf<"bash">, "output" | "state" | "exitCode"> {
	const exitCode = field(result, "exitCode");
	const isCancelled = field(result, "cancelled") === true;
	const output = textField(result, "output") ?? "";
	if (typeof exitCode !== "number") return { output, state: isCancelled ? "cancelled" : "done" };
	const state = isCancelled ? "cancelled" : exitCode === 0 ? "done" : "failed";
	return { output, state, exitCode };
}

export function branchOf(entries: readonly Data<"SessionEntry">[], leafId: string | null) {
	const byId = new Map(entries.map((entry) => [entry.id, entry]));
	const branch: Data<"SessionEntry">[] = [];
	let next = leafId === null ? undefined : byId.get(leafId);
	// A damaged file may have cycles.
	while (next && branch.length <= entries.length) {
		branch.push(next);
		next = next.parentId === null ? undefined : byId.get(next.parentId);
	}
	return branch.reverse();
}

/** The items of a branch, each with a unique key. */
export function itemsOf(branch: readonly Data<"SessionEntry">[]): Item[] {
	const items: Item[] = [];
	const keys = new Set<string>();
	for (const entry of branch) {
		const { message } = entry;
		if (message?.role === "toolResult" && attachResult(items, message)) continue;
		const item = message ? itemOf(message) : entryItem(entry);
		if (!item) continue;
		const key = keys.has(item.key) ? `${item.key}:${entry.id}` : item.key;
		keys.add(key);
		addItem(items, { ...item, key, entryId: entry.id });
	}
	return items;
}

/** Appends an item; consecutive equal notes are merged. */
export function addItem(items: Item[], item: Item): void {
	const last = items.at(-1);
	if (item.kind === "note" && last?.kind === "note" && last.text === item.text) {
		items[items.length - 1] = { ...last, mergedKeys: [...last.mergedKeys, ...item.mergedKeys] };
	} else {
		items.push(item);
	}
}

export function attachResult(items: Item[], message: Data<"AgentMessage">): boolean {
	const { toolCallId = "", content, isError = false } = message;
	return updateCall(items, toolCallId, (call) => withResult(call, content, isError));
}

export function entryItem(entry: Data<"SessionEntry">): Item | undefined {
	const base = { key: `entry:${entry.id}`, entryId: entry.id };
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
			return note(`Session name: ${textField(entry, "name") ?? "none"}`);
		case "custom":
			return (
				reportItem(base, entry) ??
				note(strataEntryText(entry) ?? textField(entry, "customType") ?? "custom")
			);
		case "context_edit":
			return note("The context was edited");
		case "label":
			return undefined;
		default:
			return note(entry.type);
	}
}
