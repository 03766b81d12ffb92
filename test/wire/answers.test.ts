import { describe, expect, test } from "vitest";
import { AnswerReader, type Format, formatOf, type WireAnswer } from "../../src/wire/index.ts";

function read(path: string, answer: object | readonly object[]): WireAnswer {
	const isStream = Array.isArray(answer);
	const type = isStream ? "text/event-stream" : "application/json";
	const reader = new AnswerReader(formatOf(path) as Format, type);
	const data = isStream
		? answer.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("")
		: JSON.stringify(answer);
	reader.push(Buffer.from(data));
	return reader.end(true);
}

const prompt = (input: number, read: number, write: number) => ({
	input_tokens: input,
	cache_read_input_tokens: read,
	cache_creation_input_tokens: write,
});
const tokens = (input: number, read: number, write: number) => ({
	...{ input, read, write, writeOneHour: 0 },
});
const message = (usage: object, rest: object = {}) =>
	read("/v1/messages", { type: "message", id: "msg_1", model: "claude-opus-5", usage, ...rest });

describe("an answer for which the provider called the model several times", () => {
	const iterations = [
		{ type: "message", ...prompt(10, 1000, 200), output_tokens: 5 },
		{ type: "message", ...prompt(20, 1200, 300), output_tokens: 6 },
	];

	test("is billed for all calls, and has the prompts of the first and the last one", () => {
		const answer = message({ ...prompt(30, 2200, 500), output_tokens: 11, iterations });
		expect(answer.usage).toMatchObject({ ...tokens(30, 2200, 500), output: 11 });
		expect(answer.rounds).toEqual({ first: tokens(10, 1000, 200), last: tokens(20, 1200, 300) });
		expect(answer.isCompacted).toBeUndefined();
	});

	test("is billed for a compaction too, which is not in the provider's sums", () => {
		const compaction = { type: "compaction", ...prompt(5, 90_000, 100), output_tokens: 900 };
		const answer = message({
			...prompt(10, 1000, 200),
			output_tokens: 5,
			iterations: [compaction, iterations[0]],
		});
		expect(answer.usage).toMatchObject({ ...tokens(15, 91_000, 300), output: 905 });
		expect(answer.rounds).toEqual({ first: tokens(10, 1000, 200), last: tokens(10, 1000, 200) });
		expect(answer.isCompacted).toBe(true);
	});

	test("is billed for a compaction after which it stopped", () => {
		const compaction = { type: "compaction", ...prompt(5, 90_000, 100), output_tokens: 900 };
		const answer = message({ ...prompt(0, 0, 0), output_tokens: 0, iterations: [compaction] });
		expect(answer.usage).toMatchObject({ ...tokens(5, 90_000, 100), output: 900 });
		expect([answer.rounds, answer.isCompacted]).toEqual([undefined, true]);
	});

	test("is like any other if there was one call", () => {
		const answer = message({ ...prompt(10, 1000, 200), iterations: [iterations[0]] });
		expect(answer.rounds).toBeUndefined();
		expect(answer.usage).toMatchObject(tokens(10, 1000, 200));
	});
});

test("tokens that the provider cleared are counted, in a stream and in a document", () => {
	const context_management = {
		applied_edits: [
			{ type: "clear_thinking_20251015", cleared_thinking_turns: 1, cleared_input_tokens: 500 },
			{ type: "clear_tool_uses_20250919", cleared_tool_uses: 8, cleared_input_tokens: 50_000 },
		],
	};
	expect(message(prompt(1, 2, 3), { context_management }).cleared).toBe(50_500);
	const usage = prompt(1, 2, 3);
	const events = [
		{ type: "message_start", message: { type: "message", usage } },
		{ type: "message_delta", usage: { output_tokens: 1 }, context_management },
		{ type: "message_stop" },
	];
	expect(read("/v1/messages", events)).toMatchObject({ end: "complete", cleared: 50_500 });
	expect(message(usage, { context_management: { applied_edits: [] } }).cleared).toBeUndefined();
	expect(
		message(usage, { context_management: { applied_edits: [null, 7] } }).cleared,
	).toBeUndefined();
});

test("the tier that answered is named, a speed before a tier", () => {
	expect(message({ ...prompt(1, 2, 3), service_tier: "standard" }).tier).toBe("standard");
	const fast = { ...prompt(1, 2, 3), service_tier: "standard", speed: "fast" };
	expect(message(fast).tier).toBe("fast");
	const responses = { object: "response", id: "r", service_tier: "priority" };
	expect(read("/v1/responses", responses).tier).toBe("priority");
	const chunks = [{ id: "c", service_tier: "flex", choices: [] }];
	expect(read("/v1/chat/completions", chunks).tier).toBe("flex");
});

test("a compaction that Codex asks for is billed like a response", () => {
	const usage = { input_tokens: 900, output_tokens: 50 };
	const answer = read("/backend-api/codex/responses/compact", {
		...{ id: "resp_2", object: "response.compaction", usage },
		output: [{ type: "compaction", encrypted_content: "secret" }],
	});
	expect(answer).toMatchObject({ end: "complete", id: "resp_2", usage: { input: 900 } });
	expect(JSON.stringify(answer)).not.toContain("secret");
});
