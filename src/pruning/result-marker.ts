import { property } from "../core/property.ts";
import { type BlockPlace, canCarryMarker, withExtraMarker } from "../economy/index.ts";

/**
 * Puts a standing cache marker right before the result of a call, if the limit leaves one. Before the first result that
 * a later pruning will replace, it makes that pruning write from there on, and not from the start. Returns a changed
 * copy of the request, or `undefined` where it is to stay as it is: another provider's, without that result, or full.
 */
export function withMarkerBeforeResult(payload: unknown, toolCallId: string): object | undefined {
	return withExtraMarker(payload, (messages) => blockBefore(messages, toolCallId));
}

/** The last block before a call's result that can carry a marker: thinking cannot, nor can an empty text. */
function blockBefore(messages: readonly unknown[], toolCallId: string): BlockPlace | undefined {
	let last: BlockPlace | undefined;
	for (const [message, { content }] of (messages as { content?: unknown }[]).entries()) {
		if (!Array.isArray(content)) continue;
		for (const [block, piece] of content.entries()) {
			if (property(piece, "tool_use_id") === toolCallId) return last;
			if (canCarryMarker(piece)) last = { message, block };
		}
	}
	return undefined;
}
