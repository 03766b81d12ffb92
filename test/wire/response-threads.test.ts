import { expect, test } from "vitest";
import {
	AnswerReader,
	type Format,
	formatOf,
	ResponseThreads,
	readRequest,
	type WireAnswer,
	type WireRequest,
} from "../../src/wire/index.ts";

const responses = formatOf("/v1/responses") as Format;
const requestOf = (body: object) =>
	readRequest(responses, Buffer.from(JSON.stringify({ model: "gpt-5.6", ...body }))) as WireRequest;
const hashes = ({ pieces }: WireRequest) => pieces.map(({ hash }) => hash);

const tools = [{ type: "function", name: "shell" }];
const user = (text: string) => ({ role: "user", content: [{ type: "input_text", text }] });
const call = { type: "function_call", name: "shell", arguments: "{}", call_id: "c1" };
const output = { type: "function_call_output", call_id: "c1", output: "files" };

/** As the frames of a WebSocket: the server adds ids and states that never come back. */
function answerWith(id: string, ...items: object[]): WireAnswer {
	const reader = new AnswerReader(responses, undefined);
	for (const item of items) {
		const done = { ...item, id: "item_1", status: "completed" };
		reader.addData(JSON.stringify({ type: "response.output_item.done", item: done }));
	}
	reader.addData(JSON.stringify({ type: "response.completed", response: { id } }));
	return reader.end(true);
}

test("a request with only the new items is joined with the response that it continues", () => {
	const threads = new ResponseThreads();
	const first = threads.join(requestOf({ tools, input: [user("a")] })) as WireRequest;
	threads.add(first, answerWith("resp_1", call));
	const delta = requestOf({ tools, input: [output], previous_response_id: "resp_1" });
	const joined = threads.join(delta) as WireRequest;
	const full = requestOf({ tools, input: [user("a"), call, output] });
	expect(hashes(joined)).toEqual(hashes(full));

	threads.add(joined, answerWith("resp_2"));
	const next = threads.join(
		requestOf({ tools, input: [user("b")], previous_response_id: "resp_2" }),
	);
	expect(hashes(next as WireRequest)).toEqual(
		hashes(requestOf({ tools, input: [user("a"), call, output, user("b")] })),
	);
});

test("a request that continues an unseen response stays unknown", () => {
	const delta = requestOf({ input: [output], previous_response_id: "resp_0" });
	expect(new ResponseThreads().join(delta)).toBeUndefined();
});

test("old responses are evicted if all have too many pieces, but never the latest", () => {
	const threads = new ResponseThreads();
	const small = requestOf({ input: [user("a")] });
	const large = (count: number) => ({ ...small, pieces: Array(count).fill(small.pieces[0]) });
	for (const id of ["resp_1", "resp_2", "resp_3"]) threads.add(large(20_000), answerWith(id));
	const isKnown = (id: string) =>
		threads.join(requestOf({ previous_response_id: id, input: [] })) !== undefined;
	expect(["resp_1", "resp_2", "resp_3"].map(isKnown)).toEqual([false, true, true]);
	threads.add(large(60_000), answerWith("resp_4"));
	expect(["resp_2", "resp_3", "resp_4"].map(isKnown)).toEqual([false, false, true]);
});

test("old responses are evicted", () => {
	const threads = new ResponseThreads();
	for (let at = 0; at < 300; at++) threads.add(requestOf({ input: [] }), answerWith(`resp_${at}`));
	const continuing = (id: string) =>
		threads.join(requestOf({ previous_response_id: id, input: [] }));
	expect(continuing("resp_0")).toBeUndefined();
	expect(continuing("resp_299")).toBeDefined();
});
