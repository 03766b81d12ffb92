import {
	fauxAssistantMessage,
	fauxText,
	fauxToolCall,
	type ToolCall,
	type ToolResultMessage,
} from "@earendil-works/pi-ai";
import type { SessionManager } from "@earendil-works/pi-coding-agent";
import type { ContextItem, ContextLog, ToolResultItem } from "../../src/session/index.ts";
import { sdk } from "../support/pi-sdk.ts";

/** A session of pi that is kept in memory only. */
export function newSession(): SessionManager {
	return sdk.SessionManager.inMemory("/nowhere");
}

/** A call of a tool, `read` if not said otherwise. */
export interface Call {
	id: string;
	tool?: string;
	args?: ToolCall["arguments"];
}

/** Appends one assistant message that makes these calls; returns the entry's id. */
export function appendCalls(session: SessionManager, ...calls: Call[]): string {
	const blocks = calls.map(({ id, tool = "read", args = {} }) => fauxToolCall(tool, args, { id }));
	return session.appendMessage(
		fauxAssistantMessage([fauxText("I look."), ...blocks], { stopReason: "toolUse" }),
	);
}

/** Appends the result of a call; returns the entry's id. */
export function appendResult(
	session: SessionManager,
	toolCallId: string,
	content: string | ToolResultMessage["content"],
	more: Partial<ToolResultMessage> = {},
): string {
	return session.appendMessage({
		role: "toolResult",
		toolCallId,
		toolName: "read",
		content: typeof content === "string" ? [{ type: "text", text: content }] : content,
		isError: false,
		timestamp: Date.now(),
		...more,
	});
}

/** Appends a call and its result; returns the id of the result's entry. */
export function appendRead(
	session: SessionManager,
	id: string,
	text: string,
	args: ToolCall["arguments"] = {},
): string {
	appendCalls(session, { id, args });
	return appendResult(session, id, text);
}

export const PICTURE = [{ type: "image" as const, data: "AAAA", mimeType: "image/png" }];

/** The results of a log, without the entries of extensions. */
export function resultsOf(log: ContextLog): ToolResultItem[] {
	return log.items.filter((item: ContextItem) => item.kind === "toolResult");
}

/** The result of a call; fails when the log has none or several. */
export function resultOf(log: ContextLog, toolCallId: string): ToolResultItem {
	const found = resultsOf(log).filter((item) => item.toolCallId === toolCallId);
	if (found.length !== 1 || !found[0]) throw new Error(`${found.length} results of ${toolCallId}`);
	return found[0];
}
