import { createLoopbackBinding } from "../loopback-binding.ts";
import { createLoopbackCache, LoopbackApiError, type LoopbackBody } from "../loopback-cache.ts";
import { clearToolUses } from "../loopback-clearing.ts";
import {
	type Answer,
	type Body,
	inParts,
	Refusal,
	records,
	type StreamEvent,
	type Wire,
} from "./wire.ts";

const ERROR_TYPES: Readonly<Record<number, string>> = {
	400: "invalid_request_error",
	401: "authentication_error",
	404: "not_found_error",
	429: "rate_limit_error",
	529: "overloaded_error",
};

/** Anthropic's Messages API. Every answer begins with thinking if the request allows it. */
export function anthropicWire(now: () => number): Wire {
	const cache = createLoopbackCache({ now });
	const binding = createLoopbackBinding();
	return {
		matches: (path) => path === "/v1/messages",
		read: ({ model, tools, stream, output_config }) => ({
			model: String(model),
			tools: records(tools).map(({ name, type }) => String(name ?? type)),
			isStream: stream === true,
			schema: Object(Object(output_config).format).schema,
		}),
		bill(body) {
			const { input, cacheRead, cacheWrite, cacheWrite1h } = refusing(() =>
				cache.bill(clearToolUses(binding.accept(withoutAttribution(body)).seen).seen),
			);
			return { input, read: cacheRead, write: cacheWrite, writeOneHour: cacheWrite1h };
		},
		checkCount(body) {
			refusing(() => binding.accept(withoutAttribution(body)));
		},
		ping: 'event: ping\ndata: {"type":"ping"}\n\n',
		events(answer) {
			const message = messageOf(answer);
			const blocks = contentOf(answer, binding);
			return [
				named({ type: "message_start", message }),
				named({ type: "ping" }),
				...blocks.flatMap(blockEvents),
				named({
					type: "message_delta",
					delta: { stop_reason: stopReason(answer), stop_sequence: null },
					usage: { output_tokens: answer.usage.output },
					...editsIn(answer.body),
				}),
				named({ type: "message_stop" }),
			];
		},
		document(answer) {
			const content = contentOf(answer, binding);
			const message = messageOf(answer);
			const usage = { ...message.usage, output_tokens: answer.usage.output };
			return {
				...message,
				content,
				stop_reason: stopReason(answer),
				usage,
				...editsIn(answer.body),
			};
		},
		error: (status, message) => ({
			type: "error",
			error: { type: ERROR_TYPES[status] ?? "api_error", message },
			request_id: null,
		}),
	};
}

/** The API takes Claude Code's billing line out of the prompt, by its position. */
function withoutAttribution(body: Body): LoopbackBody {
	const { system } = body;
	const [first] = records(system);
	const isLine = String(first?.text).startsWith("x-anthropic-billing-header:");
	return { ...body, ...(isLine && { system: records(system).slice(1) }) } as LoopbackBody;
}

/** The report about cleared results. Dropped thinking does not change it. */
function editsIn(body: Body) {
	const { applied } = clearToolUses(withoutAttribution(body));
	return applied.length > 0 ? { context_management: { applied_edits: applied } } : {};
}

function stopReason({ reply }: Answer): string {
	return reply && "call" in reply ? "tool_use" : "end_turn";
}

function refusing<T>(act: () => T): T {
	try {
		return act();
	} catch (error) {
		if (error instanceof LoopbackApiError) throw new Refusal(error.status, error.message);
		throw error;
	}
}

function messageOf({ number, model, usage }: Answer) {
	return {
		id: `msg_standin${number}`,
		type: "message",
		role: "assistant",
		model,
		content: [] as Block[],
		stop_reason: null as string | null,
		stop_sequence: null,
		usage: {
			input_tokens: usage.input,
			cache_creation_input_tokens: usage.write,
			cache_read_input_tokens: usage.read,
			cache_creation: {
				ephemeral_5m_input_tokens: usage.write - usage.writeOneHour,
				ephemeral_1h_input_tokens: usage.writeOneHour,
			},
			output_tokens: 1,
			service_tier: "standard",
		},
	};
}

type Block = { type: string; [field: string]: unknown };

function contentOf(
	{ number, body, reply }: Answer,
	binding: ReturnType<typeof createLoopbackBinding>,
): Block[] {
	const thinking = Object(body.thinking).type;
	const thought: Block[] =
		thinking === "enabled" || thinking === "adaptive"
			? [
					{
						type: "thinking",
						thinking: "Let me look.",
						signature: binding.sign(withoutAttribution(body)),
					},
				]
			: [];
	if (!reply) return [];
	if ("text" in reply) return [...thought, { type: "text", text: reply.text }];
	return [...thought, { type: "tool_use", id: `toolu_standin${number}`, ...reply.call }];
}

function blockEvents(block: Block, index: number): StreamEvent[] {
	const { start, deltas } = opened(block);
	return [
		{ type: "content_block_start", index, content_block: start },
		...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
		{ type: "content_block_stop", index },
	].map(named);
}

/** A block as it opens, empty, and the deltas that fill it. */
function opened(block: Block): { start: Block; deltas: object[] } {
	if (block.type === "text") {
		const deltas = inParts(String(block.text)).map((text) => ({ type: "text_delta", text }));
		return { start: { ...block, text: "" }, deltas };
	}
	if (block.type === "thinking") {
		const thoughts = inParts(String(block.thinking));
		return {
			start: { ...block, thinking: "", signature: "" },
			deltas: [
				...thoughts.map((thinking) => ({ type: "thinking_delta", thinking })),
				{ type: "signature_delta", signature: block.signature },
			],
		};
	}
	const parts = inParts(JSON.stringify(block.input));
	return {
		start: { ...block, input: {} },
		deltas: parts.map((partial_json) => ({ type: "input_json_delta", partial_json })),
	};
}

function named(data: { type: string; [field: string]: unknown }): StreamEvent {
	return { event: data.type, data };
}
