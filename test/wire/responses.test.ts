import { expect, test } from "vitest";
import {
	AnswerReader,
	type Format,
	formatOf,
	ResponseThreads,
	readRequest,
	type WireRequest,
} from "../../src/wire/index.ts";

const format = formatOf("/v1/responses") as Format;
const read = (body: object) =>
	readRequest(format, Buffer.from(JSON.stringify(body)), "/v1/responses") as WireRequest;

test("tools in the input are tools, and stay where they stand", () => {
	const exec = { type: "custom", name: "exec" };
	const tools = [{ type: "namespace", name: "functions", tools: [exec] }, { type: "web_search" }];
	const { pieces } = read({
		model: "gpt-6.1-sol",
		input: [
			{ type: "additional_tools", id: "at_1", role: "developer", tools },
			{ type: "message", role: "user", content: "secret" },
		],
	});
	expect(pieces).toMatchObject([
		{ part: "messages", kind: "tool", label: "tool functions", tool: "functions" },
		{ part: "messages", kind: "tool", label: "tool web_search" },
		{ part: "messages", kind: "user" },
	]);
});

test("an error that is the whole answer is named", () => {
	const reader = new AnswerReader(format, "application/json");
	const error = { message: "secret", type: "rate_limit_error", code: "rate_limit_exceeded" };
	reader.push(Buffer.from(JSON.stringify({ error })));
	expect(reader.end(true)).toMatchObject({ end: "error", error: "rate_limit_exceeded" });
});

test("a result whose call is in an earlier response has the call's tool and file", () => {
	const threads = new ResponseThreads();
	const reader = new AnswerReader(format, undefined);
	const call = {
		type: "function_call",
		call_id: "call_1",
		name: "read",
		arguments: '{"path":"/w/a.ts"}',
	};
	const output = { type: "response.output_item.done", item: call };
	reader.addData(JSON.stringify(output));
	reader.addData('{"type":"response.completed","response":{"id":"resp_1"}}');
	const first = read({ input: [{ type: "message", role: "user", content: "secret" }] });
	threads.add(first, reader.end(true));
	const next = threads.join(
		read({
			previous_response_id: "resp_1",
			input: [{ type: "function_call_output", call_id: "call_1", output: "secret" }],
		}),
	);
	expect(next?.pieces.at(-1)).toMatchObject({ kind: "result", tool: "read", path: "/w/a.ts" });
});
