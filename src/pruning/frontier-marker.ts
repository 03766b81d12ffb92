import { property } from "../core/property.ts";
import { canCarryMarker, MAX_MARKERS, markersIn } from "../economy/index.ts";

/**
 * Puts a standing cache marker right before the first result that a later pruning will replace, if the limit leaves
 * one: that pruning then makes the provider write from there on, and not from the start. Returns a changed copy of the
 * request, or `undefined` where it is to stay as it is: another provider's, without that result, or full.
 */
export function withFrontierMarker(payload: unknown, firstToGo: string): object | undefined {
	const messages = property(payload, "messages");
	if (!Array.isArray(messages)) return undefined;
	const markers = markersIn(payload);
	const place = blockBefore(messages, firstToGo);
	if (!place || markers.length === 0 || markers.length >= MAX_MARKERS) return undefined;
	const { message, block } = place;
	const content = messages[message].content as object[];
	if ("cache_control" in (content[block] as object)) return undefined;
	// The last one is on the request's end: whatever lifetime it asks for, so may we.
	const marked = { ...content[block], cache_control: markers.at(-1) };
	const changed = { ...messages[message], content: content.with(block, marked) };
	return { ...(payload as object), messages: messages.with(message, changed) };
}

/** The last block before a call's result that can carry a marker: thinking cannot, nor can an empty text. */
function blockBefore(
	messages: readonly unknown[],
	callId: string,
): { message: number; block: number } | undefined {
	let last: { message: number; block: number } | undefined;
	for (const [message, { content }] of (messages as { content?: unknown }[]).entries()) {
		if (!Array.isArray(content)) continue;
		for (const [block, piece] of content.entries()) {
			if (property(piece, "tool_use_id") === callId) return last;
			if (canCarryMarker(piece)) last = { message, block };
		}
	}
	return undefined;
}
