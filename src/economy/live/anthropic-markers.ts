import { property } from "../../core/property.ts";

/** The limit of Anthropic's API for one request. */
export const MAX_MARKERS = 4;

/** All cache markers in order: tools, system prompt, messages. */
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

/** Thinking and empty texts cannot carry a marker. */
export function canCarryMarker(block: unknown): boolean {
	const type = property(block, "type");
	if (type === "text") return property(block, "text") !== "";
	return type === "tool_use" || type === "tool_result" || type === "image";
}

export interface BlockPlace {
	readonly message: number;
	readonly block: number;
}

/** A copy with one more marker; `undefined` if the request has none, is full or lacks the block. */
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
	// The last marker is on the request's end: its lifetime is allowed.
	const marked = { ...unmarked, cache_control: markers.at(-1) };
	const changed = { ...messages[message], content: content.with(block, marked) };
	return { ...(payload as object), messages: messages.with(message, changed) };
}

function listOf(value: unknown): unknown[] {
	return Array.isArray(value) ? value : [];
}
