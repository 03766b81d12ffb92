import type { AgentMessage } from "../../protocol/index.ts";
import type { AssistantItem, Block, Item, NoteItem, ToolCall } from "./items.ts";

/** A field of something whose shape is not known for sure. */
export function field(value: unknown, name: string): unknown {
	return typeof value === "object" && value !== null
		? (value as Record<string, unknown>)[name]
		: undefined;
}

/** A field if it is a text. */
export function textField(value: unknown, name: string): string | undefined {
	const found = field(value, name);
	return typeof found === "string" ? found : undefined;
}

/** The words in the content of a message or of a result, and how many pictures are between them. */
export function wordsOf(content: unknown): { text: string; images: number } {
	if (typeof content === "string") return { text: content, images: 0 };
	if (!Array.isArray(content)) return { text: "", images: 0 };
	const texts = content.flatMap((block) => textField(block, "text") ?? []);
	const images = content.filter((block) => field(block, "type") === "image").length;
	return { text: texts.join("\n"), images };
}

/** Names a message alike wherever it comes from: pi's timestamp is part of the message itself. */
export function keyOf(message: AgentMessage): string {
	return `${message.role}:${message.timestamp ?? 0}`;
}

/** A message as an item. The result of a tool is one only if its call is not there. */
export function itemOf(message: AgentMessage): Item | undefined {
	const base = {
		key: keyOf(message),
		...(message.timestamp !== undefined && { atMs: message.timestamp }),
	};
	switch (message.role) {
		case "user":
			return { kind: "user", ...base, ...wordsOf(message.content) };
		case "assistant":
			return assistantItem(message);
		case "bashExecution":
			return { kind: "bash", ...base, ...bashFields(message) };
		case "custom": {
			const label = textField(message, "customType") ?? "extension";
			if (field(message, "display") === false) return noteItem(base, label);
			return { kind: "custom", ...base, label, text: wordsOf(message.content).text };
		}
		case "compactionSummary":
		case "branchSummary": {
			const tokensBefore = field(message, "tokensBefore");
			return {
				kind: "summary",
				...base,
				of: message.role === "branchSummary" ? "branch" : "compaction",
				text: textField(message, "summary") ?? "",
				...(typeof tokensBefore === "number" && { tokensBefore }),
			};
		}
		case "toolResult": {
			const key = `toolResult:${message.toolCallId}`;
			const label = `Result of ${message.toolName ?? "a tool"}`;
			return { kind: "custom", ...base, key, label, text: wordsOf(message.content).text };
		}
		case "system":
			return undefined;
		default:
			return noteItem(base, message.role);
	}
}

/** A quiet line. */
export function noteItem(base: Pick<NoteItem, "key" | "atMs" | "entryId">, text: string): NoteItem {
	return { kind: "note", ...base, text, stands: [base.key] };
}

/** A whole answer. */
export function assistantItem(message: AgentMessage): AssistantItem {
	const content = Array.isArray(message.content) ? message.content : [];
	const { usage, model, stopReason, errorMessage } = message;
	const isAborted = stopReason === "aborted";
	const error = stopReason === "error" ? (errorMessage ?? "The model failed.") : undefined;
	return {
		kind: "assistant",
		key: keyOf(message),
		...(message.timestamp !== undefined && { atMs: message.timestamp }),
		blocks: content.flatMap((block) => blockOf(block) ?? []),
		isStreaming: false,
		...(model !== undefined && { model }),
		...(error !== undefined && { error }),
		...(isAborted && { isAborted }),
		...(usage && { tokens: usage.totalTokens, dollars: usage.cost.total }),
	};
}

/** The call with the result that a message of role `toolResult`, or an event, has of it. */
export function withResult(call: ToolCall, content: unknown, isError: boolean): ToolCall {
	const { text, images } = wordsOf(content);
	return { ...call, output: text, images, state: isError ? "failed" : "done" };
}

function blockOf(block: unknown): Block | undefined {
	switch (field(block, "type")) {
		case "text":
			return { kind: "text", text: textField(block, "text") ?? "" };
		case "thinking": {
			const text = textField(block, "thinking") ?? "";
			return { kind: "thinking", text: text || "(not shown by the provider)" };
		}
		case "toolCall":
			return {
				kind: "call",
				call: {
					id: textField(block, "id") ?? "",
					name: textField(block, "name") ?? "",
					argsText: "",
					args: field(block, "arguments"),
					state: "waiting",
					output: "",
					images: 0,
				},
			};
		default:
			return undefined;
	}
}

function bashFields(message: AgentMessage) {
	const exitCode = field(message, "exitCode");
	const isCancelled = field(message, "cancelled") === true;
	const hasFailed = typeof exitCode === "number" && exitCode !== 0;
	const state: "cancelled" | "failed" | "done" = isCancelled
		? "cancelled"
		: hasFailed
			? "failed"
			: "done";
	return {
		command: textField(message, "command") ?? "",
		output: textField(message, "output") ?? "",
		state,
		...(typeof exitCode === "number" && { exitCode }),
	};
}
