import { property } from "../core/property.ts";
import { withExtraMarker } from "../economy/index.ts";

/** How a block of a request is known: a tool's result by its call, any other by its text. */
export type BlockName = { readonly text: string } | { readonly toolCallId: string };

/**
 * Puts a standing cache marker on a block, if the limit leaves one. On the block before the copy where the next
 * reorganisation begins, it lets all before it be read then and not written anew. Returns a changed copy of the request,
 * or `undefined` where it stays as it is: another provider's, full, or without that block.
 */
export function withMarkerOnBlock(payload: unknown, block: BlockName): object | undefined {
	return withExtraMarker(payload, (messages) => {
		for (let message = messages.length - 1; message >= 0; message--) {
			const content = property(messages[message], "content");
			if (!Array.isArray(content)) continue;
			const at = content.findLastIndex((one) => isNamed(one, block));
			if (at >= 0) return { message, block: at };
		}
		return undefined;
	});
}

function isNamed(block: unknown, name: BlockName): boolean {
	if ("text" in name) return property(block, "text") === name.text;
	return property(block, "tool_use_id") === name.toolCallId;
}
