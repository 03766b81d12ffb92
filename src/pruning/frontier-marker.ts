import { property } from "../core/property.ts";

/** Markers that a request of Anthropic's API may carry. */
const MAX_MARKERS = 4;

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
	const marked = { ...content[block], cache_control: markers.at(-1) };
	const changed = { ...messages[message], content: content.with(block, marked) };
	return { ...(payload as object), messages: messages.with(message, changed) };
}

/** All markers of a request, in order. The last one is on its tail: whatever lifetime it asks for, so may we. */
function markersIn(payload: unknown): unknown[] {
	const { tools, system, messages } = payload as Record<string, unknown>;
	const blocks = [
		tools,
		system,
		...listOf(messages).map((message) => property(message, "content")),
	];
	return blocks
		.flatMap(listOf)
		.map((block) => property(block, "cache_control"))
		.filter((marker) => marker !== undefined && marker !== null);
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

function canCarryMarker(piece: unknown): boolean {
	const type = property(piece, "type");
	if (type === "text") return property(piece, "text") !== "";
	return type === "tool_use" || type === "tool_result" || type === "image";
}

function listOf(value: unknown): unknown[] {
	return Array.isArray(value) ? value : [];
}
