import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
	FREE_MODEL,
	type LoopbackAnthropic,
	type LoopbackReply,
	modelsJson,
	startLoopbackAnthropic,
} from "./loopback-anthropic.ts";

let loop: LoopbackAnthropic;
let now = 0;

beforeEach(async () => {
	now = 5_000;
	loop = await startLoopbackAnthropic({ now: () => now, cache: { minTokens: 10 } });
});
afterEach(() => loop.close());

type Event = { type: string; [field: string]: unknown };
type Json = Record<string, unknown>;

const hello = { model: "m", stream: true, messages: [{ role: "user", content: "hello" }] };

function post(body: unknown, init: RequestInit = {}): Promise<Response> {
	const raw = typeof body === "string" ? body : JSON.stringify(body);
	return fetch(`${loop.url}/v1/messages?beta=true`, { method: "POST", body: raw, ...init });
}

async function events(response: Response): Promise<Event[]> {
	const frames = (await response.text()).split("\n\n").filter((frame) => frame !== "");
	return frames.map((frame) => {
		const [, name, data] = /^event: (\w+)\ndata: (.*)$/.exec(frame) ?? [];
		const event: Event = JSON.parse(data ?? "null");
		expect(event.type).toBe(name);
		return event;
	});
}

/** The text of an answer, joined from its deltas. */
async function said(response: Response): Promise<string> {
	const deltas = (await events(response)).map(
		({ delta }) => delta as { text?: string } | undefined,
	);
	return deltas.map((delta) => delta?.text ?? "").join("");
}

async function refusal(messages: unknown, more: Json = {}): Promise<string> {
	const response = await post({ ...hello, messages, ...more });
	const { error } = (await response.json()) as { error: { type: string; message: string } };
	expect([response.status, error.type]).toEqual([400, "invalid_request_error"]);
	return error.message;
}

describe("answers", () => {
	test("a text message streams as the API's events, in order", async () => {
		loop.script(["some text"]);
		const response = await post(hello);
		expect(response.headers.get("content-type")).toBe("text/event-stream");
		const got = await events(response);
		expect(got.map(({ type }) => type)).toEqual([
			"message_start",
			"content_block_start",
			"content_block_delta",
			"content_block_delta",
			"content_block_delta",
			"content_block_stop",
			"message_delta",
			"message_stop",
		]);
		expect(got.at(-2)).toMatchObject({ delta: { stop_reason: "end_turn" } });
	});

	test("a text arrives whole, with no character split between deltas", async () => {
		loop.script(["Grüße 👋👋👋 an alle", "👋"]);
		expect(await said(await post(hello))).toBe("Grüße 👋👋👋 an alle");
		expect(await said(await post(hello))).toBe("👋");
	});

	test("thinking and several tool calls keep their order, ids, inputs and signature", async () => {
		const input = { path: "ä.txt", limit: 5 };
		loop.script([
			{
				content: [
					{ type: "thinking", thinking: "let me see", signature: "sig==" },
					{ type: "tool_use", id: "t1", name: "read", input },
					{ type: "tool_use", id: "t2", name: "ls", input: {} },
				],
			},
		]);
		const got = await events(await post(hello));
		expect(
			got.filter(({ type }) => type === "content_block_start").map((e) => e.content_block),
		).toEqual([
			{ type: "thinking", thinking: "", signature: "" },
			{ type: "tool_use", id: "t1", name: "read", input: {} },
			{ type: "tool_use", id: "t2", name: "ls", input: {} },
		]);
		const joined = (index: number, field: string) =>
			got
				.filter((event) => event.index === index && event.type === "content_block_delta")
				.map(({ delta }) => (delta as Json)[field] ?? "")
				.join("");
		expect(joined(0, "thinking")).toBe("let me see");
		expect(joined(0, "signature")).toBe("sig==");
		expect(JSON.parse(joined(1, "partial_json"))).toEqual(input);
		expect(JSON.parse(joined(2, "partial_json"))).toEqual({});
		expect(got.at(-2)).toMatchObject({ delta: { stop_reason: "tool_use" } });
	});

	test("a stop reason can be scripted", async () => {
		loop.script([{ content: [{ type: "text", text: "cut" }], stopReason: "max_tokens" }]);
		expect((await events(await post(hello))).at(-2)).toMatchObject({
			delta: { stop_reason: "max_tokens" },
		});
	});

	test("a function makes the reply from the request", async () => {
		loop.script([(body) => `you use ${body.model}`]);
		expect(await said(await post(hello))).toBe("you use m");
	});

	test("a scripted error has the API's shape and is not billed", async () => {
		loop.script([{ error: { status: 529, type: "overloaded_error", message: "Overloaded" } }]);
		const response = await post(hello);
		expect(response.status).toBe(529);
		expect(await response.json()).toEqual({
			type: "error",
			error: { type: "overloaded_error", message: "Overloaded" },
		});
		expect(loop.requests[0]).not.toHaveProperty("usage");
	});

	test("an empty script and a throwing one answer 500 and say so", async () => {
		const empty = await post(hello);
		expect([empty.status, await empty.text()]).toEqual([
			500,
			expect.stringContaining("no scripted reply left for request 1"),
		]);
		loop.script([
			() => {
				throw new Error("not this one");
			},
		]);
		const thrown = await post(hello);
		expect([thrown.status, await thrown.text()]).toEqual([
			500,
			expect.stringContaining("not this one"),
		]);
	});

	test("a delayed reply waits, and closing does not wait for it", async () => {
		loop.script([
			{ content: [], delayMs: 30 },
			{ content: [], delayMs: 60_000 },
		]);
		const start = performance.now();
		await events(await post(hello));
		expect(performance.now() - start).toBeGreaterThan(25);
		const cut = expect(post(hello)).rejects.toThrow();
		await expect.poll(() => loop.requests.length).toBe(2);
		await loop.close();
		await cut;
	});

	test.each<[string, LoopbackReply, string[]]>([
		["at once", { hang: true }, ["message_start"]],
		[
			"after its content",
			{ hang: true, content: [{ type: "text", text: "p" }] },
			["message_start", "content_block_start", "content_block_delta", "content_block_stop"],
		],
	])(
		"a hanging reply starts, goes silent %s and lets the client leave",
		async (_, reply, types) => {
			loop.script([reply]);
			const leave = new AbortController();
			const response = await post(hello, { signal: leave.signal });
			const reader = response.body?.getReader();
			let text = "";
			while (text.split("\n\n").length <= types.length) {
				text += new TextDecoder().decode((await reader?.read())?.value);
			}
			expect(text.match(/(?<=event: )\w+/g)).toEqual(types);
			const rest = reader?.read();
			leave.abort();
			await expect(rest).rejects.toThrow("aborted");
		},
	);
});

describe("records", () => {
	test("the exact bytes, the parsed body, headers, arrival and usage", async () => {
		loop.script(["ok"]);
		const raw = `{ "stream":true, "model":"m",\n"messages":[{"role":"user","content":"\\u00e4ö"}] }`;
		await events(await post(raw, { headers: { "x-api-key": "k" } }));
		const [request] = loop.requests;
		expect(request?.raw).toBe(raw);
		expect(request?.body.messages).toEqual([{ role: "user", content: "äö" }]);
		expect(request?.headers["x-api-key"]).toBe("k");
		expect(request?.at).toBe(5_000);
		// user {"type":"text","text":"äö"}: 34 bytes; [{"type":"text","text":"ok"}]: 29 bytes
		expect(request?.usage).toEqual({
			input: 9,
			output: 8,
			cacheRead: 0,
			cacheWrite: 0,
			cacheWrite1h: 0,
		});
	});

	test("usage goes out under the API's names and follows the injected clock", async () => {
		loop.script(["a", "b", "c"]);
		const content = [
			// user {"type":"text","text":"…"}: 30 + 90 bytes, 30 tokens
			{ type: "text", text: "x".repeat(90), cache_control: { type: "ephemeral", ttl: "1h" } },
			{ type: "text", text: "y".repeat(10), cache_control: { type: "ephemeral" } },
			{ type: "text", text: "z" },
		];
		const body = { ...hello, messages: [{ role: "user", content }] };
		const usage = async () => {
			const [start] = await events(await post(body));
			return (start?.message as { usage?: unknown } | undefined)?.usage;
		};
		const billed = (read: number, fiveMinutes: number, hour: number) => ({
			input_tokens: 8,
			cache_read_input_tokens: read,
			cache_creation_input_tokens: fiveMinutes + hour,
			cache_creation: {
				ephemeral_5m_input_tokens: fiveMinutes,
				ephemeral_1h_input_tokens: hour,
			},
			output_tokens: 1,
		});
		expect(await usage()).toEqual(billed(0, 10, 30));
		expect(await usage()).toEqual(billed(40, 0, 0));
		now += 300_000;
		expect(await usage()).toEqual(billed(30, 10, 0));
	});

	test("a refused request is recorded and takes no scripted reply", async () => {
		loop.script(["kept"]);
		await refusal([]);
		expect(await said(await post(hello))).toBe("kept");
		expect(loop.requests).toHaveLength(2);
	});
});

describe("requests the API refuses", () => {
	const use = (...ids: string[]) => ({
		role: "assistant",
		content: ids.map((id) => ({ type: "tool_use", id, name: "read", input: {} })),
	});
	const result = (...ids: string[]) => ({
		role: "user",
		content: ids.map((id) => ({ type: "tool_result", tool_use_id: id, content: "" })),
	});
	const user = { role: "user", content: "hi" };
	const text = (value: string, more: Json = {}) => ({ type: "text", text: value, ...more });

	test("a paired conversation with empty tool results and system messages is accepted", async () => {
		loop.script(["ok"]);
		const system = { role: "system", content: [text("from now on …")] };
		const effort = { role: "system", content: [], output_config: { effort: "low" } };
		const messages = [user, use("a", "b"), result("b", "a"), system, use("c"), result("c"), effort];
		expect((await post({ ...hello, messages })).status).toBe(200);
	});

	test.each<[string, unknown[], string]>([
		["a tool call without any answer", [user, use("a")], "`tool_use` ids were found without"],
		["one of two calls unanswered", [user, use("a", "b"), result("a")], "immediately after: b"],
		["an answer one message late", [user, use("a"), user, result("a")], "immediately after: a"],
		["an answer to no call", [user, result("a")], "unexpected `tool_use_id`"],
		["an answer given twice", [user, use("a"), result("a", "a")], "single result"],
		["a call id used twice", [user, use("a"), result("a"), use("a"), result("a")], "unique: a"],
		["a malformed call id", [user, use("a/1"), result("a/1")], '"a/1" is malformed'],
		[
			"text before the answers",
			[user, use("a"), { role: "user", content: [text("so"), ...result("a").content] }],
			"must come first",
		],
		["an unknown role", [{ role: "tool", content: "x" }], 'unknown role "tool"'],
		["a message without content", [{ role: "user" }], "messages.0.content"],
		["an empty content list", [{ role: "user", content: [] }], "non-empty content"],
		["an empty system message", [user, { role: "system", content: [] }], "non-empty content"],
		["an empty string", [{ role: "user", content: "" }], "must be non-empty"],
		["an empty text block", [{ role: "user", content: [text("")] }], "must be non-empty"],
		["blank text", [{ role: "user", content: [text(" \n")] }], "non-whitespace"],
		[
			"empty text in a tool result",
			[
				user,
				use("a"),
				{
					role: "user",
					content: [{ type: "tool_result", tool_use_id: "a", content: [text("")] }],
				},
			],
			"messages.2.content.0.content.0: text content blocks must be non-empty",
		],
		[
			"a marker on empty text",
			[{ role: "user", content: [text("", { cache_control: { type: "ephemeral" } })] }],
			"cache_control cannot be set for empty text blocks",
		],
		[
			"a marker on thinking",
			[
				user,
				{
					role: "assistant",
					content: [
						{
							type: "thinking",
							thinking: "t",
							signature: "s",
							cache_control: { type: "ephemeral" },
						},
					],
				},
			],
			"cannot be set for thinking",
		],
		[
			"thinking without a signature",
			[user, { role: "assistant", content: [{ type: "thinking", thinking: "t" }] }],
			"signature",
		],
		[
			"five markers",
			[
				{
					role: "user",
					content: Array(5).fill(text("m", { cache_control: { type: "ephemeral" } })),
				},
			],
			"maximum of 4 blocks",
		],
	])("%s", async (_, messages, message) => {
		expect(await refusal(messages)).toContain(message);
	});

	test("fields the server cannot do without", async () => {
		expect(await refusal([user], { stream: false })).toContain("stream");
		expect(await refusal([user], { model: undefined })).toContain("model");
		expect(await refusal([user], { system: [text("")] })).toContain("system.0");
		const deferred = [{ name: "t", defer_loading: true, cache_control: { type: "ephemeral" } }];
		expect(await refusal([user], { tools: deferred })).toContain("deferred");
		expect((await post("{")).status).toBe(400);
		expect((await fetch(`${loop.url}/v1/models`)).status).toBe(404);
	});

	test("a body over 32 MB", { tags: "slow" }, async () => {
		const response = await post({ ...hello, metadata: "x".repeat(32 * 1024 * 1024) });
		expect(response.status).toBe(413);
		expect(loop.requests).toHaveLength(0);
	});
});

test("models.json names the provider and both models, with the fields a test overrides", () => {
	const fields = { contextWindow: 9, maxTokens: 4096, reasoning: true };
	expect(
		JSON.parse(modelsJson("http://127.0.0.1:1", { contextWindow: 9, reasoning: true })),
	).toEqual({
		providers: {
			loop: {
				baseUrl: "http://127.0.0.1:1",
				api: "anthropic-messages",
				apiKey: "k",
				models: [
					{ id: "claude-loop", ...fields },
					{ id: "claude-opus-4-5", ...fields },
				],
			},
		},
	});
});

describe("thinking that is bound to its prefix", () => {
	const user = { role: "user", content: "hello" };
	const answered = { role: "assistant", content: [] as unknown[] };
	const more = { role: "user", content: "and on" };

	/** Asks, and returns the answer's blocks as they go back. */
	async function think(messages: unknown[]): Promise<unknown[]> {
		loop.script([{ content: [THOUGHT, { type: "text", text: "ok" }] }]);
		expect((await post({ ...hello, messages })).status).toBe(200);
		return [THOUGHT, { type: "text", text: "ok" }];
	}

	const THOUGHT = { type: "thinking" as const, thinking: "hm", signature: "sig-1" };

	test.each<[string, (messages: unknown[]) => object]>([
		["a cache marker", ([, ...rest]) => ({ messages: [marked("hello"), ...rest] })],
		["another parameter", (messages) => ({ messages, max_tokens: 7 })],
	])("is valid with %s", async (_what, change) => {
		const content = await think([user]);
		loop.script(["fine"]);
		const next = [user, { ...answered, content }, more];
		expect((await post({ ...hello, ...change(next) })).status).toBe(200);
	});

	test.each<[string, (messages: unknown[]) => object]>([
		[
			"an earlier message",
			([, ...rest]) => ({ messages: [{ ...user, content: "other" }, ...rest] }),
		],
		["a message more", ([first, ...rest]) => ({ messages: [first, more, ...rest] })],
		["the system prompt", (messages) => ({ messages, system: "new rules" })],
		["the tools", (messages) => ({ messages, tools: [{ name: "new", input_schema: {} }] })],
	])(
		"is refused after a change of %s, or dropped if the request asks for it",
		async (_what, change) => {
			const content = await think([user]);
			const next = change([user, { ...answered, content }, more]);
			const refused = await post({ ...hello, ...next });
			expect(refused.status).toBe(400);
			expect(await refused.text()).toContain("bound to a different conversation");
			loop.script(["fine"]);
			const thinking = { block_binding: { prefix_mismatch_behavior: "drop_block" } };
			expect((await post({ ...hello, ...next, thinking })).status).toBe(200);
			expect(loop.requests.at(-1)?.transformations).toMatchObject([{ type: "thinking_dropped" }]);
		},
	);

	test("is not looked at on a model from before the check", async () => {
		const content = await think([user]);
		loop.script(["fine"]);
		const messages = [{ ...user, content: "other" }, { ...answered, content }, more];
		expect((await post({ ...hello, model: FREE_MODEL, messages })).status).toBe(200);
	});
});

function marked(text: string): object {
	const cache_control = { type: "ephemeral" };
	return { role: "user", content: [{ type: "text", text, cache_control }] };
}
