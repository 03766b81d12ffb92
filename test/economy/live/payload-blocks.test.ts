import { expect, test } from "vitest";
import { isSamePiece, piecesIn, settingsIn } from "../../../src/economy/live/payload-blocks.ts";
import { withAnchor, withTtl } from "../../../src/economy/live/set-ttls.ts";
import { readPayload } from "../../../src/wire/index.ts";

const MARKED = { cache_control: { type: "ephemeral" } };
const text = (words: string, more: object = {}) => ({ type: "text", text: words, ...more });
const PAYLOAD = {
	max_tokens: 100,
	tools: [{ name: "a" }, { name: "later", defer_loading: true }, { name: "b", ...MARKED }],
	system: [text("rules", MARKED)],
	messages: [
		{ role: "user", content: "plain" },
		{ role: "assistant", content: [text("one"), { type: "tool_use", id: "t", input: { x: [1] } }] },
		{ role: "user", content: [{ type: "tool_result", tool_use_id: "t", content: "r", ...MARKED }] },
	],
};

test("a payload has the same pieces as on the wire, in the same order", () => {
	const shape = ({ part, breakpoint }: { part: string; breakpoint?: string }) => [part, breakpoint];
	expect(piecesIn(PAYLOAD).map(shape)).toEqual(readPayload(PAYLOAD)?.pieces.map(shape));
});

test("breakpoints, and a text in place of a list with that text, make no other piece", () => {
	const at = (block: unknown, role = "user") => ({ part: "messages" as const, role, block });
	expect(isSamePiece(at("plain"), at(text("plain", MARKED)))).toBe(true);
	expect(isSamePiece(at(text("plain")), at(text("other")))).toBe(false);
	expect(isSamePiece(at("plain"), at("plain", "assistant"))).toBe(false);
	expect(isSamePiece(at({ a: [1, 2] }), at({ a: [1] }))).toBe(false);
	expect(isSamePiece(at({ a: 1 }), at({ b: 1 }))).toBe(false);
	expect(isSamePiece(at("plain"), undefined)).toBe(false);
});

test("settings other than a ping's may change what is cached", () => {
	expect(settingsIn({ ...PAYLOAD, max_tokens: 1, messages: [] })).toBe(settingsIn(PAYLOAD));
	expect(settingsIn({ ...PAYLOAD, thinking: { type: "enabled" } })).not.toBe(settingsIn(PAYLOAD));
	const picture = { role: "user", content: [{ type: "image", source: {} }] };
	expect(settingsIn({ ...PAYLOAD, messages: [picture] })).not.toBe(settingsIn(PAYLOAD));
});

test("a lifetime is set on all breakpoints, and nothing else changes", () => {
	const long = withTtl(PAYLOAD, "1h") as object;
	expect(JSON.stringify(long).match(/"ttl":"1h"/g)).toHaveLength(3);
	expect(withTtl(long, "1h")).toBeUndefined();
	expect(withTtl(long, "5m")).toEqual(PAYLOAD);
	expect(withTtl(PAYLOAD, "5m")).toBeUndefined();
});

test("an anchor is one more breakpoint; with four, that of the tools makes room", () => {
	const marks = (payload: object | undefined) =>
		payload && piecesIn(payload).flatMap(({ breakpoint }, at) => (breakpoint ? [at] : []));
	expect(marks(PAYLOAD)).toEqual([1, 2, 6]);
	expect(marks(withAnchor(PAYLOAD, 4))).toEqual([1, 2, 4, 6]);
	expect(withAnchor(PAYLOAD, 6)).toBe(PAYLOAD);
	// A plain text cannot carry one, and there is no block 9.
	expect(withAnchor(PAYLOAD, 3)).toBeUndefined();
	expect(withAnchor(PAYLOAD, 9)).toBeUndefined();
	const four = withAnchor(PAYLOAD, 4) as object;
	expect(marks(withAnchor(four, 5))).toEqual([2, 4, 5, 6]);
});
