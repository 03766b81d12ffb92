import { describe, expect, test } from "vitest";
import { withBreakpointOnBlock } from "../../src/workset/request.ts";

const MARKER = { type: "ephemeral", ttl: "1h" };

const request = (more: object[] = []) => ({
	system: [{ type: "text", text: "system", cache_control: MARKER }],
	messages: [
		{ role: "user", content: [{ type: "text", text: "go" }] },
		{ role: "assistant", content: [{ type: "thinking", thinking: "hm", signature: "s" }] },
		{ role: "user", content: [{ type: "tool_result", tool_use_id: "call-1", content: "result" }] },
		{ role: "user", content: [{ type: "text", text: "slot" }, ...more] },
		{ role: "user", content: [{ type: "text", text: "end", cache_control: MARKER }] },
	],
});

describe("the marker before the frontier", () => {
	test.each([
		[{ text: "slot" }, 3],
		[{ toolCallId: "call-1" }, 2],
	])("stands on the block of that name, as the last marker is: %j", (name, message) => {
		const before = request();
		const marked = withBreakpointOnBlock(before, name) as ReturnType<typeof request>;
		const [block] = request().messages[message]?.content ?? [];
		const content = [{ ...block, cache_control: MARKER }];
		expect(marked.messages).toEqual(before.messages.with(message, { role: "user", content }));
		expect(before).toEqual(request());
	});

	test.each([
		["no such block", request(), { text: "other" }],
		["it has one already", request(), { text: "end" }],
		["an empty text cannot carry one", request([{ type: "text", text: "" }]), { text: "" }],
		["the limit is reached", limited(), { text: "slot" }],
		["the request has none at all", { messages: request().messages.slice(0, 4) }, { text: "slot" }],
		["it is another provider's", { input: [] }, { text: "slot" }],
		["it is nothing", undefined, { text: "slot" }],
	])("leaves a request alone where %s", (_why, payload, name) => {
		expect(withBreakpointOnBlock(payload, name)).toBeUndefined();
	});
});

function limited(): object {
	const marked = (text: string) => ({ type: "text", text, cache_control: MARKER });
	return request([marked("one"), marked("two")]);
}
