import type { ResultFacts } from "../../src/pruning/candidates.ts";
import type { ContextMessage, ToolResultItem } from "../../src/session/index.ts";

/** One message of a made-up conversation: `user`, `assistant`, or a tool's result. */
export type Line =
	| "user"
	| "assistant"
	| ({ tool: string; chars?: number } & Partial<ToolResultItem>);

/** A conversation as pruning sees it. Results have the entry ids `e0`, `e1`, … of their places. */
export function conversationOf(lines: readonly Line[]) {
	const results = new Map<string, ToolResultItem>();
	let turn = 0;
	const messages = lines.map((line, at): ContextMessage => {
		if (line === "user") turn++;
		const entryId = `e${at}`;
		if (typeof line === "string") return { entryId, role: line, turn, tokens: 10, toolTokens: 0 };
		const { tool, chars = 4000, ...more } = line;
		const text = "x".repeat(chars);
		const item: ToolResultItem = {
			kind: "toolResult",
			entryId,
			toolCallId: `call${at}`,
			toolName: tool,
			input: {},
			isError: false,
			details: undefined,
			returned: text,
			text,
			since: at,
			order: at,
			tokens: Math.ceil(chars / 4),
			...more,
		};
		results.set(entryId, item);
		return { entryId, role: "toolResult", turn, tokens: item.tokens, toolTokens: item.tokens };
	});
	return { messages, results };
}

/** Nothing pinned, excluded, superseded or referred to, but for what is given. */
export function factsOf(facts: Partial<ResultFacts> = {}): ResultFacts {
	return {
		isPinned: () => false,
		isExcluded: () => false,
		isSuperseded: () => false,
		basesOf: () => [],
		...facts,
	};
}
