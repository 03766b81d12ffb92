import type { Data } from "../../protocol/index.ts";
import { callEffect, isStubText, replacedPart } from "../../text/call-effect.ts";
import type { Picture } from "../parts/picture.tsx";
import {
	type AssistantItem,
	type Block,
	type Item,
	type ItemOf,
	NEW_CALL,
	type RequestBill,
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

function timeOf({ timestamp }: Data<"AgentMessage">): Pick<Item, "atMs"> {
	return timestamp === undefined ? {} : { atMs: timestamp };
}

/**
 * Callers first attach a tool result to its call. It becomes an item only if the call is missing.
 * `request`: the number that an answer gets if it was billed.
 */
export function itemOf(message: Data<"AgentMessage">, request?: number): Item | undefined {
	const base = { key: keyOf(message), ...timeOf(message) };
	switch (message.role) {
		case "user":
			return { kind: "user", ...base, ...contentOf(message.content) };
		case "assistant":
			return assistantItem(message, request);
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

type Base = Pick<Item, "key" | "entryId" | "atMs">;

/** What an edit of the context did. */
function editText(entry: Data<"SessionEntry">): string {
	const { text } = contentOf(field(field(entry, "replacement"), "content"));
	return isStubText(text)
		? "An older result was replaced with a stub, which leads back to its full text"
		: "The context was edited";
}

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

/** Whether the provider charged for this answer. The server numbers the requests of all such answers. */
export function isBilled({ role, usage }: Data<"AgentMessage">): boolean {
	if (role !== "assistant" || !usage) return false;
	return usage.input + usage.cacheRead + usage.cacheWrite > 0;
}

function billOf(message: Data<"AgentMessage">, request: number): RequestBill | undefined {
	const { usage } = message;
	if (!usage || !isBilled(message)) return undefined;
	return { request, tokens: usage.totalTokens, dollars: usage.cost.total };
}

export function assistantItem(message: Data<"AgentMessage">, request?: number): AssistantItem {
	const content = Array.isArray(message.content) ? message.content : [];
	const { model, stopReason, errorMessage } = message;
	const bill = request === undefined ? undefined : billOf(message, request);
	// A client of a provider may report that it was stopped as an error.
	const isStopped = stopReason === "error" && STOPPED.test(errorMessage ?? "");
	const isAborted = stopReason === "aborted" || isStopped;
	const error =
		stopReason === "error" && !isStopped
			? (errorMessage ?? "The model request failed.")
			: undefined;
	return {
		kind: "assistant",
		key: keyOf(message),
		...timeOf(message),
		blocks: content.flatMap((block) => blockOf(block) ?? []),
		isStreaming: false,
		...(model !== undefined && { model }),
		...(error !== undefined && { error }),
		...(isAborted && { isAborted }),
		...(bill && { bill }),
	};
}

const STOPPED = /^(?:this|the) operation was aborted\.?$|^request was aborted\.?$/i;

interface Result {
	readonly content: unknown;
	readonly details: unknown;
	readonly isError: boolean;
	readonly durationMs?: number | undefined;
	readonly entryId?: string | undefined;
}

export function withResult(call: ToolCall, result: Result): ToolCall {
	const { content, details, isError, durationMs, entryId } = result;
	const { text, pictures } = contentOf(content);
	const patch = textField(details, "patch");
	const effect = callEffect({
		tool: call.name,
		args: call.args,
		details,
		text,
		isError,
		...(durationMs !== undefined && { durationMs }),
	});
	return {
		...call,
		output: text,
		pictures,
		state: isError ? "failed" : "done",
		// Pictures have no lines to count.
		effect: pictures.length > 0 && text === "" ? [] : effect,
		...(patch !== undefined && { patch }),
		...(entryId !== undefined && { resultId: entryId }),
	};
}

/** Says at the call what stands for its result in the context now. */
export function replaceResult(items: Item[], entry: Data<"SessionEntry">): void {
	const targetId = textField(entry, "targetId");
	const { text } = contentOf(field(field(entry, "replacement"), "content"));
	if (targetId === undefined || text === "") return;
	const part = replacedPart(text);
	for (let at = items.length - 1; at >= 0; at--) {
		const item = items[at];
		if (item?.kind !== "assistant") continue;
		const index = item.blocks.findIndex(
			(block) => block.kind === "call" && block.call.resultId === targetId,
		);
		const block = item.blocks[index];
		if (block?.kind !== "call") continue;
		const effect = [...block.call.effect.filter((one) => !REPLACED.has(one)), part];
		const call = { ...block.call, effect };
		items[at] = { ...item, blocks: item.blocks.with(index, { kind: "call", call }) };
		return;
	}
}

const REPLACED: ReadonlySet<string> = new Set([replacedPart("(Pruned) "), replacedPart("")]);

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

/** The numbers of the billed requests, by the ids of their answers' entries: in the order of the file. */
export function requestNumbers(entries: readonly Data<"SessionEntry">[]) {
	const billed = entries.filter(({ message }) => message && isBilled(message));
	return new Map(billed.map(({ id }, at) => [id, at + 1]));
}

/** The items of a branch, each with a unique key. */
export function itemsOf(
	branch: readonly Data<"SessionEntry">[],
	requests: ReadonlyMap<string, number> = requestNumbers(branch),
): Item[] {
	const items: Item[] = [];
	const keys = new Set<string>();
	/** The latest answer, and when it was complete: then its first tool started. */
	let answered: Answered | undefined;
	for (const entry of branch) {
		const { message, id: entryId } = entry;
		if (message?.role === "toolResult" && attachResult(items, message, { entryId, answered }))
			continue;
		if (entry.type === "context_edit") replaceResult(items, entry);
		const item = message ? itemOf(message, requests.get(entry.id)) : entryItem(entry);
		if (!item) continue;
		const key = keys.has(item.key) ? `${item.key}:${entry.id}` : item.key;
		keys.add(key);
		if (item.kind === "assistant") answered = { key, atMs: Date.parse(entry.timestamp) };
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

interface Answered {
	readonly key: string;
	readonly atMs: number;
}

/** Attaches a result to its call, if there is one. `stored`: what the session file says about it. */
export function attachResult(
	items: Item[],
	message: Data<"AgentMessage">,
	stored?: { readonly entryId: string; readonly answered: Answered | undefined },
): boolean {
	const { toolCallId = "", content, isError = false } = message;
	const details = field(message, "details");
	return updateCall(items, toolCallId, (call, item) => {
		if (!stored && call.resultId !== undefined) return call; // the file knows more than the event
		const durationMs = durationOf(call, item, message, stored?.answered);
		return withResult(call, { content, details, isError, durationMs, entryId: stored?.entryId });
	});
}

/** How long a call took. Unknown for one of several calls, because the file does not say when each began. */
function durationOf(
	call: ToolCall,
	item: AssistantItem,
	{ timestamp = Number.NaN }: Data<"AgentMessage">,
	answered: Answered | undefined,
): number | undefined {
	const isOnly = item.blocks.filter(({ kind }) => kind === "call").length === 1;
	const endMs = isOnly && answered?.key === item.key ? answered.atMs : undefined;
	const ms = timestamp - (call.startedMs ?? endMs ?? Number.NaN);
	return ms >= 0 ? ms : undefined;
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
			return note(editText(entry));
		case "label":
			return undefined;
		default:
			return note(entry.type);
	}
}
