/**
 * The provider's own clearing of tool results (`clear_tool_uses_20250919`), as its documents describe it: before the
 * prompt reaches the model, the oldest results become a placeholder, all but the newest `keep`. Shares no code with the
 * product. What the documents leave open is decided here: parallel calls count singly, the trigger is exceeded, not
 * reached, and uses of excluded tools are not counted.
 */
import {
	invalidRequest,
	type LoopbackBlock,
	type LoopbackBody,
	loopbackTokens,
} from "./loopback-cache.ts";

export const CLEARING_BETA = "context-management-2025-06-27";

/** What stands in place of a cleared result. The vendor's wording is not documented. */
export const CLEARED_TEXT = "[cleared by the provider to save context]";

export interface AppliedEdit {
	readonly type: "clear_tool_uses_20250919";
	readonly cleared_tool_uses: number;
	readonly cleared_input_tokens: number;
}

interface Edit {
	readonly type: string;
	readonly trigger?: Amount;
	readonly keep?: Amount;
	readonly clear_at_least?: Amount;
	readonly exclude_tools?: readonly string[];
}

interface Amount {
	readonly type: string;
	readonly value: number;
}

/** The body as the model sees it, and the report. Refuses unknown edits and amounts. */
export function clearToolUses(body: LoopbackBody): {
	seen: LoopbackBody;
	applied: readonly AppliedEdit[];
} {
	const asked = editsOf(body);
	const at = asked.findIndex(({ type }) => type === "clear_tool_uses_20250919");
	const edit = asked[at];
	if (!edit) return { seen: body, applied: [] };
	if (asked.findIndex(({ type }) => type === "clear_thinking_20251015") > at) {
		throw invalidRequest("context_management.edits: clear_thinking_20251015 must come first");
	}
	const trigger = amountOf(edit.trigger, 100_000);
	const keep = amountOf(edit.keep, 3);
	const excluded = edit.exclude_tools ?? [];
	const ids = usesIn(body).flatMap(({ id, name }) => (excluded.includes(name) ? [] : [id]));
	const size = edit.trigger?.type === "tool_uses" ? ids.length : tokensIn(body);
	const cleared = new Set(size > trigger ? ids.slice(0, Math.max(0, ids.length - keep)) : []);
	const seen = { ...body, messages: body.messages.map((message) => without(message, cleared)) };
	const tokens = tokensIn(body) - tokensIn(seen);
	if (cleared.size === 0 || tokens < amountOf(edit.clear_at_least, Number.NEGATIVE_INFINITY)) {
		return { seen: body, applied: [] };
	}
	return {
		seen,
		applied: [
			{
				type: "clear_tool_uses_20250919",
				cleared_tool_uses: cleared.size,
				cleared_input_tokens: Math.max(0, tokens),
			},
		],
	};
}

const KNOWN = ["clear_tool_uses_20250919", "clear_thinking_20251015"];

function editsOf({ context_management }: LoopbackBody): readonly Edit[] {
	const { edits = [] } = (context_management ?? {}) as { edits?: Edit[] };
	for (const { type } of edits) {
		if (!KNOWN.includes(type)) throw invalidRequest(`context_management.edits: no ${type}`);
	}
	return edits;
}

function amountOf(amount: Amount | undefined, otherwise: number): number {
	if (amount === undefined) return otherwise;
	if (!Number.isInteger(amount.value) || amount.value < 0) {
		throw invalidRequest(`context_management.edits: ${amount.value} is not a count`);
	}
	return amount.value;
}

/** Calls that have a result, in the order of the calls. */
function usesIn({ messages }: LoopbackBody): { id: string; name: string }[] {
	const blocks = messages.flatMap(({ content }) => (typeof content === "string" ? [] : content));
	const answered = new Set(blocks.map(({ tool_use_id }) => tool_use_id));
	return blocks
		.filter(({ type, id }) => type === "tool_use" && answered.has(id))
		.map(({ id, name }) => ({ id: String(id), name: String(name) }));
}

function without(message: LoopbackBody["messages"][number], cleared: ReadonlySet<string>) {
	if (typeof message.content === "string") return message;
	const content = message.content.map((block): LoopbackBlock => {
		const isCleared = block.type === "tool_result" && cleared.has(String(block.tool_use_id));
		return isCleared ? { ...block, content: CLEARED_TEXT } : block;
	});
	return { ...message, content };
}

function tokensIn({ messages }: LoopbackBody): number {
	return loopbackTokens(JSON.stringify(messages));
}
