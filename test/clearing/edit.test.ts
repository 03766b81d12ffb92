import { describe, expect, test } from "vitest";
import { callsIn, clearedIn, withClearing } from "../../src/clearing/index.ts";

const call = (id: string) => ({ type: "tool_use", id, name: "read", input: {} });
const result = (id: string) => ({ type: "tool_result", tool_use_id: id, content: `text of ${id}` });
const MARKER = { type: "ephemeral" };

/** Each answer makes these calls. */
function payloadOf(...answers: readonly string[][]) {
	return {
		model: "claude-opus-5-5",
		system: [{ type: "text", text: "You are an agent.", cache_control: MARKER }],
		messages: [
			{ role: "user", content: [{ type: "text", text: "go" }] },
			...answers.flatMap((ids) => [
				{ role: "assistant", content: ids.map(call) },
				{ role: "user", content: ids.map(result) },
			]),
		],
	};
}

describe("a request that asks for clearing", () => {
	test("keeps all calls but the first ones, whatever their number", () => {
		const payload = payloadOf(["a"], ["b", "c"], ["d"]);
		expect(withClearing(payload, 3)).toEqual({
			...payload,
			betas: ["context-management-2025-06-27"],
			context_management: {
				edits: [
					{
						type: "clear_tool_uses_20250919",
						trigger: { type: "tool_uses", value: 1 },
						keep: { type: "tool_uses", value: 1 },
					},
				],
			},
			messages: payload.messages.map((message, at) =>
				at === 5 ? { ...message, content: [{ ...call("d"), cache_control: MARKER }] } : message,
			),
		});
	});

	test("has the agent's edits of thinking first, and its betas", () => {
		const thinking = { type: "clear_thinking_20251015", keep: "all" };
		const payload = {
			...payloadOf(["a"], ["b"]),
			betas: ["one"],
			context_management: { edits: [thinking] },
		};
		const sent = withClearing(payload, 1) as typeof payload;
		expect(sent.betas).toEqual(["one", "context-management-2025-06-27"]);
		expect(sent.context_management.edits).toMatchObject([thinking, { keep: { value: 1 } }]);
	});

	test("has only a marker more while nothing is cleared", () => {
		const payload = payloadOf(["a"]);
		const sent = withClearing(payload, 0) as typeof payload;
		expect(Object.keys(sent)).toEqual(Object.keys(payload));
		expect(sent.messages[1]?.content).toEqual([{ ...call("a"), cache_control: MARKER }]);
		expect(withClearing({ ...payload, system: "no markers" }, 0)).toBeUndefined();
	});
});

describe("a request is left alone", () => {
	const own = { edits: [{ type: "clear_tool_uses_20250919" }] };
	test.each([
		["edited", { ...payloadOf(["a"]), context_management: own }],
		["edited", { ...payloadOf(["a"]), context_management: { edits: [{ type: "compact" }] } }],
		["edited", { ...payloadOf(["a"]), context_management: { edits: "?" } }],
		["unreadable", { contents: [] }],
		["unreadable", undefined],
		["unpaired", { messages: [{ role: "assistant", content: [call("a")] }] }],
		["unpaired", payloadOf(["a"], ["a"])],
		[
			"unknown-calls",
			{ messages: [{ role: "assistant", content: [{ type: "server_tool_use" }] }] },
		],
	])("as %s", (why, payload) => {
		expect(callsIn(payload)).toBe(why);
		expect(withClearing(payload, 1)).toBeUndefined();
	});

	test("if more is to be cleared than there is", () => {
		expect(withClearing(payloadOf(["a"]), 2)).toBeUndefined();
	});
});

test("the provider's count is found in both kinds of events", () => {
	const context_management = {
		applied_edits: [
			{ type: "clear_thinking_20251015", cleared_thinking_turns: 9 },
			{ type: "clear_tool_uses_20250919", cleared_tool_uses: 4, cleared_input_tokens: 900 },
		],
	};
	expect(clearedIn({ type: "message_delta", context_management })).toBe(4);
	expect(clearedIn({ type: "message_start", message: { context_management } })).toBe(4);
	expect(clearedIn({ type: "message_delta", context_management: { applied_edits: [] } })).toBe(0);
	expect(clearedIn({ type: "ping" })).toBeUndefined();
});
