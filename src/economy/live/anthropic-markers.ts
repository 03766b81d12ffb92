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

function listOf(value: unknown): unknown[] {
	return Array.isArray(value) ? value : [];
}
