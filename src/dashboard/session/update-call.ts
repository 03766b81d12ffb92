import type { Item, ToolCall } from "./items.ts";

/** Results come soon after their calls: further back nobody looks, or results without a call would cost a lot. */
const FAR = 400;

/** Changes the latest call of that id in the list itself. Returns whether there is one. */
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
