import { property } from "../../core/property.ts";
import { withExtraMarker } from "../../economy/index.ts";

/** How a block of a request is known: a tool's result by its call, any other by its text. */
export type BlockName = { readonly text: string } | { readonly toolCallId: string };

/**
 * Puts a standing cache marker on the block before the copy where the next reorganisation begins, if the limit leaves
 * one: all before it is then read and not written anew. Returns a changed copy of the request, or `undefined` where it
 * stays as it is: another provider's, full, or without that block.
 */
export function withFrontierMarker(payload: unknown, name: BlockName): object | undefined {
	return withExtraMarker(payload, (messages) => {
		for (let message = messages.length - 1; message >= 0; message--) {
			const content = property(messages[message], "content");
			if (!Array.isArray(content)) continue;
			const block = content.findLastIndex((one) => isNamed(one, name));
			if (block >= 0) return { message, block };
		}
		return undefined;
	});
}

function isNamed(block: unknown, name: BlockName): boolean {
	if ("text" in name) return property(block, "text") === name.text;
	return property(block, "tool_use_id") === name.toolCallId;
}
