import type { Format } from "../../src/wire/index.ts";

/** A conversation as one format writes it. Texts begin with `secret`, so that a leak shows. */
export interface WireSample {
	readonly format: Format["name"];
	readonly path: string;
	/** The body of the request with the first `turns` turns; a turn is a user message, a call, its result and an answer. */
	body(turns: number, changes?: SampleChanges): Record<string, unknown>;
	/** An answer as a stream of events, and as one document, with the same bill. */
	readonly events: readonly string[];
	readonly document: unknown;
	readonly usage: Record<string, number>;
	/** An event that reports an error in the middle of a stream, and the error's name. */
	readonly failure: { readonly event: string; readonly name: string };
}

export interface SampleChanges {
	readonly system?: string;
	readonly tools?: readonly string[];
	/** Text of the first user message. */
	readonly first?: string;
	/** Places markers as the agent would after so many turns. */
	readonly marked?: boolean;
}

const path = "/w/app/secret-free.ts";
const turnsOf = <T>(turns: number, make: (turn: number) => T[]): T[] =>
	Array.from({ length: turns }, (_, turn) => make(turn)).flat();
const prompt = (turn: number, { first }: SampleChanges) =>
	turn === 0 ? (first ?? "secret question 0") : `secret question ${turn}`;
const toolNames = ({ tools }: SampleChanges) => tools ?? ["read", "bash"];
const sse = (type: string, data: object) =>
	`event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;

const anthropic: WireSample = {
	format: "anthropic",
	path: "/v1/messages",
	body(turns, changes = {}) {
		const { system = "secret system", marked = true } = changes;
		const marker = marked ? { cache_control: { type: "ephemeral" } } : {};
		const messages = turnsOf(turns, (turn): { role: string; content: unknown }[] => [
			{ role: "user", content: prompt(turn, changes) },
			{
				role: "assistant",
				content: [
					{ type: "thinking", thinking: "", signature: `secret-signature-${turn}` },
					{ type: "tool_use", id: `toolu_${turn}`, name: "read", input: { file_path: path } },
				],
			},
			{
				role: "user",
				content: [
					{ type: "tool_result", tool_use_id: `toolu_${turn}`, content: `secret text ${turn}` },
				],
			},
			{ role: "assistant", content: [{ type: "text", text: `secret answer ${turn}` }] },
		]);
		// The last message is a list with a marker; in the next request it is a plain string.
		messages.push({
			role: "user",
			content: [{ type: "text", text: prompt(turns, changes), ...marker }],
		});
		return {
			model: "claude-opus-5",
			messages,
			system: [
				{ type: "text", text: `x-anthropic-billing-header: cch=${turns};` },
				{ type: "text", text: system, ...marker },
			],
			tools: toolNames(changes).map((name) => ({ name, description: "secret", input_schema: {} })),
			thinking: { type: "adaptive" },
			output_config: { effort: "high" },
			stream: true,
		};
	},
	events: [
		sse("message_start", {
			message: {
				id: "msg_1",
				type: "message",
				model: "claude-opus-5",
				content: [],
				usage: {
					input_tokens: 3,
					cache_creation_input_tokens: 1204,
					cache_read_input_tokens: 48210,
					cache_creation: { ephemeral_5m_input_tokens: 204, ephemeral_1h_input_tokens: 1000 },
					output_tokens: 1,
				},
				diagnostics: {
					cache_miss_reason: { type: "tools_changed", cache_missed_input_tokens: 77 },
				},
				input_transformations: [{ type: "thinking_dropped" }],
			},
		}),
		sse("ping", {}),
		sse("content_block_delta", {
			index: 0,
			delta: { type: "text_delta", text: 'secret "usage": {' },
		}),
		sse("message_delta", { delta: { stop_reason: "end_turn" }, usage: { output_tokens: 311 } }),
		sse("message_stop", {}),
	],
	document: {
		id: "msg_1",
		type: "message",
		model: "claude-opus-5",
		content: [{ type: "text", text: "secret" }],
		usage: {
			input_tokens: 3,
			cache_creation_input_tokens: 1204,
			cache_read_input_tokens: 48210,
			cache_creation: { ephemeral_5m_input_tokens: 204, ephemeral_1h_input_tokens: 1000 },
			output_tokens: 311,
		},
	},
	usage: { input: 3, read: 48210, write: 1204, writeOneHour: 1000, output: 311, reasoning: 0 },
	failure: {
		event: sse("error", { error: { type: "overloaded_error", message: "secret" } }),
		name: "overloaded_error",
	},
};

const responsesUsage = {
	input_tokens: 22059,
	input_tokens_details: {
		cached_tokens: 18304,
		cache_write_tokens: 3000,
		cache_write_tokens_details: { ttl_30m_tokens: 1000, ttl_12h_tokens: 2000 },
	},
	output_tokens: 346,
	output_tokens_details: { reasoning_tokens: 150 },
};

const responses: WireSample = {
	format: "responses",
	path: "/backend-api/codex/responses",
	body(turns, changes = {}) {
		const { system = "secret system" } = changes;
		const text = (type: string, text: string) => [{ type, text }];
		const input = turnsOf<object>(turns, (turn) => [
			{ type: "message", role: "user", content: text("input_text", prompt(turn, changes)) },
			{ type: "reasoning", summary: [], encrypted_content: `secret-${turn}` },
			{
				type: "function_call",
				name: "read",
				arguments: JSON.stringify({ path }),
				call_id: `call_${turn}`,
			},
			{ type: "function_call_output", call_id: `call_${turn}`, output: `secret text ${turn}` },
			{ type: "message", role: "assistant", content: text("output_text", `secret answer ${turn}`) },
		]);
		input.push({
			type: "message",
			role: "user",
			content: text("input_text", prompt(turns, changes)),
		});
		return {
			model: "gpt-5.6",
			stream: true,
			input,
			tools: toolNames(changes).map((name) => ({ type: "function", name, parameters: {} })),
			instructions: system,
			reasoning: { effort: "high" },
			prompt_cache_key: "thread-1",
			client_metadata: { [`random-${turns}`]: "1" },
		};
	},
	events: [
		sse("response.created", {
			response: { id: "resp_1", object: "response", model: "gpt-5.6", usage: null },
		}),
		sse("response.output_text.delta", { delta: "secret" }),
		sse("response.output_item.done", {
			item: {
				id: "x",
				type: "message",
				role: "assistant",
				content: [{ type: "output_text", text: "secret answer 0", annotations: [] }],
			},
		}),
		sse("response.completed", {
			response: { id: "resp_1", object: "response", model: "gpt-5.6", usage: responsesUsage },
		}),
	],
	document: {
		id: "resp_1",
		object: "response",
		model: "gpt-5.6",
		output: [],
		usage: responsesUsage,
	},
	usage: { input: 755, read: 18304, write: 3000, writeOneHour: 2000, output: 346, reasoning: 150 },
	failure: {
		event: sse("response.failed", { response: { id: "resp_1", error: { code: "server_error" } } }),
		name: "server_error",
	},
};

const chatUsage = {
	prompt_tokens: 1000,
	prompt_tokens_details: { cached_tokens: 768 },
	completion_tokens: 40,
	completion_tokens_details: { reasoning_tokens: 10 },
};
const chunk = (data: object | string) =>
	`data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`;

const chat: WireSample = {
	format: "chat",
	path: "/v1/chat/completions",
	body(turns, changes = {}) {
		const { system = "secret system" } = changes;
		const messages = turnsOf<object>(turns, (turn) => [
			{ role: "user", content: prompt(turn, changes) },
			{
				role: "assistant",
				content: null,
				reasoning_content: `secret thought ${turn}`,
				tool_calls: [
					{
						id: `call_${turn}`,
						type: "function",
						function: { name: "read", arguments: JSON.stringify({ path }) },
					},
				],
			},
			{ role: "tool", tool_call_id: `call_${turn}`, content: `secret text ${turn}` },
			{ role: "assistant", content: `secret answer ${turn}` },
		]);
		return {
			model: "glm-5.2",
			messages: [
				{ role: "system", content: system },
				...messages,
				{ role: "user", content: prompt(turns, changes) },
			],
			tools: toolNames(changes).map((name) => ({
				type: "function",
				function: { name, parameters: {} },
			})),
			stream_options: { include_usage: true },
		};
	},
	events: [
		chunk({
			id: "c1",
			object: "chat.completion.chunk",
			model: "glm-5.2",
			choices: [{ delta: { content: "secret" } }],
		}),
		chunk({
			id: "c1",
			object: "chat.completion.chunk",
			choices: [{ delta: { content: '"usage":{' } }],
			usage: null,
		}),
		chunk({ id: "c1", object: "chat.completion.chunk", choices: [], usage: chatUsage }),
		chunk("[DONE]"),
	],
	document: {
		id: "c1",
		object: "chat.completion",
		model: "glm-5.2",
		choices: [],
		usage: chatUsage,
	},
	usage: { input: 232, read: 768, write: 0, writeOneHour: 0, output: 40, reasoning: 10 },
	failure: {
		event: chunk({ error: { type: "rate_limit_error", message: "secret" } }),
		name: "rate_limit_error",
	},
};

const geminiUsage = {
	promptTokenCount: 5000,
	cachedContentTokenCount: 4096,
	candidatesTokenCount: 20,
	thoughtsTokenCount: 30,
	totalTokenCount: 5050,
};

const gemini: WireSample = {
	format: "gemini",
	path: "/v1beta/models/gemini-3.1-pro:streamGenerateContent",
	body(turns, changes = {}) {
		const { system = "secret system" } = changes;
		const contents = turnsOf<object>(turns, (turn) => [
			{ role: "user", parts: [{ text: prompt(turn, changes) }] },
			{
				role: "model",
				parts: [
					{
						functionCall: { id: `c${turn}`, name: "read", args: { absolute_path: path } },
						thoughtSignature: "secret",
					},
				],
			},
			{
				role: "user",
				parts: [
					{ functionResponse: { id: `c${turn}`, name: "read", response: { output: "secret" } } },
				],
			},
			{ role: "model", parts: [{ text: `secret answer ${turn}` }] },
		]);
		return {
			contents: [...contents, { role: "user", parts: [{ text: prompt(turns, changes) }] }],
			systemInstruction: { role: "user", parts: [{ text: system }] },
			tools: [
				{
					functionDeclarations: toolNames(changes).map((name) => ({ name, description: "secret" })),
				},
			],
			generationConfig: { thinkingConfig: { includeThoughts: true } },
		};
	},
	events: [
		chunk({
			responseId: "g1",
			modelVersion: "gemini-3.1-pro",
			candidates: [{ content: { parts: [{ text: "secret" }] } }],
			usageMetadata: { promptTokenCount: 5000 },
		}),
		chunk({ responseId: "g1", candidates: [{ finishReason: "STOP" }], usageMetadata: geminiUsage }),
	],
	document: {
		responseId: "g1",
		modelVersion: "gemini-3.1-pro",
		candidates: [{ finishReason: "STOP" }],
		usageMetadata: geminiUsage,
	},
	usage: { input: 904, read: 4096, write: 0, writeOneHour: 0, output: 50, reasoning: 30 },
	failure: {
		event: chunk({ error: { code: 503, status: "UNAVAILABLE", message: "secret" } }),
		name: "UNAVAILABLE",
	},
};

export const samples: readonly WireSample[] = [anthropic, responses, chat, gemini];
