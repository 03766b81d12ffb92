import { property } from "../../core/property.ts";

/** Markers that a request of Anthropic's API may carry. */
export const MAX_MARKERS = 4;

/** All cache markers of such a request, in order: on tools, system prompt and messages. */
export function markersIn(payload: unknown): unknown[] {
	const messages = listOf(property(payload, "messages"));
	return [
		property(payload, "tools"),
		property(payload, "system"),
		...messages.map((message) => property(message, "content")),
	]
		.flatMap(listOf)
		.map((block) => property(block, "cache_control"))
		.filter((marker) => marker !== undefined && marker !== null);
}

/** Whether a block of a message may carry a marker: thinking cannot, nor can an empty text. */
export function canCarryMarker(block: unknown): boolean {
	const type = property(block, "type");
	if (type === "text") return property(block, "text") !== "";
	return type === "tool_use" || type === "tool_result" || type === "image";
}

/** Where a block stands in a request: the number of its message, and its own within that. */
export interface BlockPlace {
	readonly message: number;
	readonly block: number;
}

/**
 * Puts one more marker on a block of a message, where the limit leaves one. Returns a changed copy of the request, or
 * `undefined` where it stays as it is: another provider's, without markers, full, or without that place.
 */
export function withExtraMarker(
	payload: unknown,
	placeIn: (messages: readonly unknown[]) => BlockPlace | undefined,
): object | undefined {
	const messages = property(payload, "messages");
	if (!Array.isArray(messages)) return undefined;
	const markers = markersIn(payload);
	if (markers.length === 0 || markers.length >= MAX_MARKERS) return undefined;
	const place = placeIn(messages);
	if (!place) return undefined;
	const { message, block } = place;
	const content = messages[message].content as object[];
	const unmarked = content[block] as object;
	if ("cache_control" in unmarked || !canCarryMarker(unmarked)) return undefined;
	// The last one is on the request's end: whatever lifetime it asks for, so may we.
	const marked = { ...unmarked, cache_control: markers.at(-1) };
	const changed = { ...messages[message], content: content.with(block, marked) };
	return { ...(payload as object), messages: messages.with(message, changed) };
}

function listOf(value: unknown): unknown[] {
	return Array.isArray(value) ? value : [];
}
