import type { Data } from "../../src/protocol/index.ts";

/** Events of an answer in the order of the wire. `steps` are those between its start and its end. */
export function answerEvents(
	message: Data<"AgentMessage">,
	steps: Extract<Data<"SessionEvent">, { type: "message_update" }>["assistantMessageEvent"][] = [],
): Data<"SessionEvent">[] {
	return [
		{ type: "message_start", message: { ...message, content: [] } },
		...steps.map(
			(assistantMessageEvent): Data<"SessionEvent"> => ({
				type: "message_update",
				assistantMessageEvent,
			}),
		),
		{ type: "message_end", message },
	];
}

export function assistant(timestamp: number, ...content: unknown[]): Data<"AgentMessage"> {
	const usage = {
		input: 1,
		output: 2,
		cacheRead: 3,
		cacheWrite: 4,
		totalTokens: 10,
		cost: { total: 0.5 },
	};
	return { role: "assistant", timestamp, content, usage, model: "scripted", stopReason: "stop" };
}

export function user(timestamp: number, text: string): Data<"AgentMessage"> {
	return { role: "user", timestamp, content: [{ type: "text", text }] };
}

export function toolResult(
	timestamp: number,
	toolCallId: string,
	text: string,
	isError = false,
): Data<"AgentMessage"> {
	const content = [{ type: "text", text }];
	return { role: "toolResult", timestamp, toolCallId, toolName: "read", content, isError };
}

export function call(id: string, args: unknown = { path: "a.ts" }, name = "read") {
	return { type: "toolCall", id, name, arguments: args };
}

export const words = (text: string) => ({ type: "text", text });

/** Entries in a row, each the child of the one before. */
export function entriesOf(...given: (Data<"AgentMessage"> | { type: string })[]): {
	entries: Data<"SessionEntry">[];
	leafId: string | null;
} {
	const entries = given.map(
		(it, at): Data<"SessionEntry"> => ({
			id: `e${at}`,
			parentId: at === 0 ? null : `e${at - 1}`,
			timestamp: new Date(at * 1000).toISOString(),
			...("role" in it ? { type: "message", message: it } : it),
		}),
	);
	return { entries, leafId: entries.at(-1)?.id ?? null };
}
