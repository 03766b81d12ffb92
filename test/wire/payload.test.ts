import { describe, expect, test } from "vitest";
import { requestOfPieces } from "../../src/economy/index.ts";
import { type Piece, readPayload } from "../../src/wire/index.ts";

const payloadBlocks = (payload: unknown) => readPayload(payload)?.pieces ?? [];

const marker = { type: "ephemeral" };
const anthropic = {
	model: "claude",
	tools: [{ name: "read" }, { name: "ls", cache_control: marker }],
	system: [{ type: "text", text: "rules", cache_control: { ...marker, ttl: "1h" } }],
	messages: [
		{ role: "user", content: "hello" },
		{ role: "assistant", content: [{ type: "tool_use", id: "t1", name: "read", input: {} }] },
		{
			role: "user",
			content: [{ type: "tool_result", tool_use_id: "t1", content: "x", cache_control: marker }],
		},
	],
};

const shape = (payload: unknown) =>
	payloadBlocks(payload).map(({ part, label, breakpoint: ttl }) => [part, label, ttl]);

describe("a request taken apart", () => {
	test("has tools, system and messages in this order, with the markers behind them", () => {
		expect(shape(anthropic)).toEqual([
			["tools", "tool read", undefined],
			["tools", "tool ls", "5m"],
			["system", "system prompt", "1h"],
			["messages", "user message 1", undefined],
			["messages", "call of read in assistant message 2", undefined],
			["messages", "result of t1 in user message 3", "5m"],
		]);
	});

	test("may be of another provider", () => {
		const openai = {
			tools: [{ type: "function", function: { name: "read" } }],
			messages: [
				{ role: "system", content: "rules" },
				{ role: "user", content: "hello" },
			],
		};
		expect(shape(openai)).toEqual([
			["tools", "tool read", undefined],
			["messages", "system message 1", undefined],
			["messages", "user message 2", undefined],
		]);
		const responses = {
			instructions: "rules",
			input: [{ type: "function_call_output", call_id: "c", output: "x" }],
		};
		expect(shape(responses)).toEqual([
			["system", "system prompt", undefined],
			["messages", "result of c in item 1", undefined],
		]);
		const gemini = {
			systemInstruction: { parts: [{ text: "rules" }] },
			contents: [{ role: "user", parts: [{ text: "a" }, { text: "b" }] }],
		};
		expect(shape(gemini).map(([part]) => part)).toEqual(["system", "messages", "messages"]);
	});

	test("has no pieces when it is nothing we know", () => {
		for (const payload of [undefined, null, 7, "text", [], {}]) {
			expect(payloadBlocks(payload)).toEqual([]);
		}
		expect(shape({ tools: "none", messages: [null, 7, { role: 3 }] })).toEqual([
			["tools", "tool without a name", undefined],
			["messages", "other message 1", undefined],
			["messages", "other message 2", undefined],
			["messages", "other message 3", undefined],
		]);
	});

	test("shows names of strangers without control characters, and not for ever", () => {
		const [tool] = payloadBlocks({ tools: [{ name: `\u001b[31m${"x".repeat(200)}` }] });
		expect(tool?.label).toBe(`tool ??31m${"x".repeat(55)}`);
	});
});

describe("two pieces", () => {
	const piece = (message: object) => payloadBlocks({ messages: [message] })[0] as Piece;
	const isSamePiece = (one: Piece, other: Piece) => one.hash === other.hash;

	test("are the same wherever a marker stands, and in either form of a text", () => {
		const text = { type: "text", text: "a" };
		const plain = piece({ role: "user", content: "a" });
		expect(isSamePiece(plain, piece({ role: "user", content: [text] }))).toBe(true);
		const marked = piece({ role: "user", content: [{ ...text, cache_control: marker }] });
		expect(isSamePiece(plain, marked)).toBe(true);
	});

	test("differ by text, speaker and the order of keys", () => {
		const plain = piece({ role: "user", content: "a" });
		expect(isSamePiece(plain, piece({ role: "user", content: "b" }))).toBe(false);
		expect(isSamePiece(plain, piece({ role: "assistant", content: "a" }))).toBe(false);
		const turned = piece({ role: "user", content: [{ text: "a", type: "text" }] });
		expect(isSamePiece(plain, turned)).toBe(false);
	});
});

test("pieces become blocks of the simulator, with a breakpoint behind each marker", () => {
	const { blocks, breakpoints } = requestOfPieces(payloadBlocks(anthropic), (bytes) => bytes);
	expect(breakpoints).toEqual([
		{ after: 1, ttl: "5m" },
		{ after: 2, ttl: "1h" },
		{ after: 5, ttl: "5m" },
	]);
	const plain = requestOfPieces(payloadBlocks({ tools: [{ name: "ls" }] }), (bytes) => bytes);
	expect(plain.blocks[0]).toMatchObject({ part: "tools", label: "tool ls", tokens: 13 });
	expect(blocks[1]?.hash).toBe(plain.blocks[0]?.hash);
	expect(blocks.map(({ run }) => run)).toEqual([...Array(4), "calls", "results"]);
});
