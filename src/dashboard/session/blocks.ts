import type { Data } from "../../protocol/index.ts";
import { type Block, type Item, NEW_CALL, type ToolCall } from "./items.ts";

/** The blocks after one step of streaming; the same list if the step shows nothing. */
export function writtenOn(
	blocks: readonly Block[],
	step: Data<"AssistantMessageEvent">,
): readonly Block[] {
	switch (step.type) {
		case "text_start":
			return withBlock(blocks, step.contentIndex, { kind: "text", text: "" });
		case "text_delta":
			return grown(blocks, step.contentIndex, "text", step.delta);
		case "thinking_start":
			return withBlock(blocks, step.contentIndex, { kind: "thinking", text: "" });
		case "thinking_delta":
			return grown(blocks, step.contentIndex, "thinking", step.delta);
		case "toolcall_start": {
			const call = { ...NEW_CALL, id: step.id, name: step.toolName };
			return withBlock(blocks, step.contentIndex, { kind: "call", call });
		}
		case "toolcall_delta": {
			const block = blocks[step.contentIndex];
			const call = block?.kind === "call" ? block.call : NEW_CALL;
			const argsText = call.argsText + step.delta;
			return withBlock(blocks, step.contentIndex, { kind: "call", call: { ...call, argsText } });
		}
		case "toolcall_end": {
			const block = blocks[step.contentIndex];
			if (block?.kind !== "call" || block.call.state !== "writing") return blocks;
			const { argsText } = block.call;
			const call = { ...block.call, state: "waiting" as const, args: parsed(argsText) };
			return withBlock(blocks, step.contentIndex, { kind: "call", call });
		}
		default:
			return blocks;
	}
}

/** An index from outside must not make a list of any length. */
const MAX_BLOCKS = 10_000;

function withBlock(blocks: readonly Block[], at: number, block: Block): readonly Block[] {
	if (!Number.isInteger(at) || at < 0 || at >= MAX_BLOCKS) return blocks;
	const next = [...blocks];
	// A late subscriber has not seen the blocks before.
	while (next.length < at) next.push({ kind: "text", text: "" });
	next[at] = block;
	return next;
}

function grown(
	blocks: readonly Block[],
	at: number,
	kind: "text" | "thinking",
	delta: string,
): readonly Block[] {
	const block = blocks[at];
	const before = block?.kind === kind ? block.text : "";
	return withBlock(blocks, at, { kind, text: before + delta });
}

function parsed(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		return undefined; // `tool_execution_start` brings the arguments
	}
}

/** Results follow soon after their calls; a result without a call must stay cheap. */
const FAR = 400;

/** Changes the latest call of that id in place. Returns whether there is one. */
export function updateCall(
	items: Item[],
	callId: string,
	change: (call: ToolCall) => ToolCall,
): boolean {
	for (let at = items.length - 1; at >= Math.max(0, items.length - FAR); at--) {
		const item = items[at];
		if (item?.kind !== "assistant") continue;
		const index = item.blocks.findLastIndex(
			(block) => block.kind === "call" && block.call.id === callId,
		);
		const block = item.blocks[index];
		if (block?.kind !== "call") continue;
		const call = change(block.call);
		if (call !== block.call) {
			items[at] = { ...item, blocks: item.blocks.with(index, { kind: "call", call }) };
		}
		return true;
	}
	return false;
}
