import { property } from "../../core/property.ts";

/** Maximum number of breakpoints per request in Anthropic's API. */
export const MAX_BREAKPOINTS = 4;

/** Returns all `cache_control` values in order: tools, system prompt, messages. */
export function breakpointsIn(payload: unknown): unknown[] {
	const messages = listOf(property(payload, "messages"));
	return [
		property(payload, "tools"),
		property(payload, "system"),
		...messages.map((message) => property(message, "content")),
	]
		.flatMap(listOf)
		.map((block) => property(block, "cache_control"))
		.filter((control) => control !== undefined && control !== null);
}

/** Thinking and empty texts cannot carry a breakpoint. */
export function canCarryBreakpoint(block: unknown): boolean {
	const type = property(block, "type");
	if (type === "text") return property(block, "text") !== "";
	return type === "tool_use" || type === "tool_result" || type === "image";
}

/** Returns a copy with one more breakpoint; `undefined` if there are none or 4, or the block is missing. */
export function withExtraBreakpoint(
	payload: unknown,
	placeIn: (messages: readonly unknown[]) => { message: number; block: number } | undefined,
): object | undefined {
	const messages = property(payload, "messages");
	if (!Array.isArray(messages)) return undefined;
	const breakpoints = breakpointsIn(payload);
	if (breakpoints.length === 0 || breakpoints.length >= MAX_BREAKPOINTS) return undefined;
	const place = placeIn(messages);
	if (!place) return undefined;
	const { message, block } = place;
	const content = messages[message].content as object[];
	const unmarked = content[block] as object;
	if ("cache_control" in unmarked || !canCarryBreakpoint(unmarked)) return undefined;
	// The last breakpoint is at the request's end, so its lifetime is allowed anywhere before it.
	const marked = { ...unmarked, cache_control: breakpoints.at(-1) };
	const changed = { ...messages[message], content: content.with(block, marked) };
	return { ...(payload as object), messages: messages.with(message, changed) };
}

function listOf(value: unknown): unknown[] {
	if (value === undefined || value === null) return [];
	return Array.isArray(value) ? value : [value];
}
