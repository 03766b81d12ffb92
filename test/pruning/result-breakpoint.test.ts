import { expect, test } from "vitest";
import { withBreakpointBeforeResult } from "../../src/pruning/live.ts";

const marker = { type: "ephemeral" };
const text = (text: string, more: object = {}) => ({ type: "text", text, ...more });
const use = (id: string) => ({ type: "tool_use", id, name: "read", input: {} });
const result = (id: string, more: object = {}) => ({
	type: "tool_result",
	tool_use_id: id,
	content: "text",
	...more,
});

/** A request as pi marks it: tools, system prompt, and the last block. */
function requestOf(...messages: object[]) {
	return {
		model: "claude",
		tools: [{ name: "read" }, { name: "bash", cache_control: marker }],
		system: [text("prompt", { cache_control: marker })],
		messages,
	};
}

const session = requestOf(
	{ role: "user", content: [text("go")] },
	{ role: "assistant", content: [{ type: "thinking", thinking: "hm" }, use("t1"), use("t2")] },
	{ role: "user", content: [result("t1"), result("t2")] },
	{ role: "assistant", content: [text("now")] },
	{ role: "user", content: [text("and", { cache_control: marker })] },
);

const markers = (payload: unknown) => JSON.stringify(payload).split("cache_control").length - 1;

test("the marker stands on the last block before the result that goes next", () => {
	const marked = withBreakpointBeforeResult(session, "t1") as typeof session;
	expect(marked.messages[1]).toEqual({
		role: "assistant",
		content: [
			{ type: "thinking", thinking: "hm" },
			use("t1"),
			{ ...use("t2"), cache_control: marker },
		],
	});
	expect(markers(marked)).toBe(4);
	// Nothing else is another, and the request itself is not changed.
	expect(markers(session)).toBe(3);
	expect({ ...marked, messages: [] }).toEqual({ ...session, messages: [] });
	for (const at of [0, 2, 3, 4]) expect(marked.messages[at]).toBe(session.messages[at]);
	const second = withBreakpointBeforeResult(session, "t2") as typeof session;
	expect(JSON.stringify(second.messages[2])).toContain('"t1","content":"text","cache_control"');
});

test("it asks for the lifetime that the others ask for", () => {
	const hour = { type: "ephemeral", ttl: "1h" };
	const long = JSON.parse(
		JSON.stringify(session).replaceAll(JSON.stringify(marker), JSON.stringify(hour)),
	);
	expect(JSON.stringify(withBreakpointBeforeResult(long, "t1"))).toContain(
		`"input":{},"cache_control":${JSON.stringify(hour)}`,
	);
});

test("thinking and empty texts cannot carry it", () => {
	const request = requestOf(
		{ role: "user", content: [text("go")] },
		{ role: "assistant", content: [{ type: "thinking", thinking: "hm" }, text("")] },
		{ role: "user", content: [result("t1", { cache_control: marker })] },
	);
	const marked = withBreakpointBeforeResult(request, "t1") as typeof request;
	expect(marked.messages[0]).toEqual({
		role: "user",
		content: [text("go", { cache_control: marker })],
	});
});

test("a request stays as it is when it is full, not marked at all, without that result, or of another kind", () => {
	const full = { ...session, system: [text("a", { cache_control: marker }), ...session.system] };
	const { tools: _tools, system: _system, ...bare } = requestOf(...session.messages.slice(0, 4));
	const marked = withBreakpointBeforeResult(session, "t1");
	for (const payload of [full, bare, marked, {}, undefined, "text", { messages: "none" }]) {
		expect(withBreakpointBeforeResult(payload, "t1")).toBeUndefined();
	}
	expect(withBreakpointBeforeResult(session, "unknown")).toBeUndefined();
	const first = requestOf({ role: "user", content: [result("t1", { cache_control: marker })] });
	expect(withBreakpointBeforeResult(first, "t1")).toBeUndefined();
});
