import { PrefixBill } from "./prefix-bill.ts";
import { errorType } from "./responses.ts";
import { type Answer, inParts, records, type StreamEvent, type Wire } from "./wire.ts";

/** OpenAI's Chat Completions API. */
export function chatWire(now: () => number): Wire {
	const bill = new PrefixBill("openai", now);
	return {
		matches: (path) => path.endsWith("/chat/completions"),
		read: ({ model, tools, stream, response_format }) => ({
			model: String(model),
			tools: records(tools).map((tool) => String(Object(tool.function).name)),
			isStream: stream === true,
			schema: Object(Object(response_format).json_schema).schema,
		}),
		bill: (body, { model }) =>
			bill.bill(model, {
				tools: records(body.tools),
				system: [],
				messages: records(body.messages),
			}),
		ping: ": keepalive\n\n",
		events(answer) {
			const chunk = (delta: object, finish_reason: string | null = null): StreamEvent => ({
				data: {
					...headOf(answer, "chat.completion.chunk"),
					choices: [{ index: 0, delta, finish_reason }],
				},
			});
			const wantsUsage = Object(answer.body.stream_options).include_usage === true;
			return [
				chunk({ role: "assistant", content: "" }),
				...deltasOf(answer).map((delta) => chunk(delta)),
				chunk({}, finishOf(answer)),
				...(wantsUsage
					? [
							{
								data: {
									...headOf(answer, "chat.completion.chunk"),
									choices: [],
									usage: usageOf(answer),
								},
							},
						]
					: []),
				{ data: "[DONE]" },
			];
		},
		document(answer) {
			const { reply } = answer;
			const content = reply && "text" in reply ? reply.text : null;
			const calls = reply && "call" in reply ? [callOf(answer)] : undefined;
			const message = { role: "assistant", content, ...(calls && { tool_calls: calls }) };
			return {
				...headOf(answer, "chat.completion"),
				choices: [{ index: 0, message, finish_reason: finishOf(answer) }],
				usage: usageOf(answer),
			};
		},
		error: (status, message) => ({
			error: { message, type: errorType(status), param: null, code: null },
		}),
	};
}

function headOf({ number, model }: Answer, object: string) {
	return { id: `chatcmpl-standin${number}`, object, created: 1_790_000_000, model };
}

function finishOf({ reply }: Answer): string {
	return reply && "call" in reply ? "tool_calls" : "stop";
}

function callOf({ number, reply }: Answer) {
	const { name, input } = reply && "call" in reply ? reply.call : { name: "", input: {} };
	const id = `call_standin${number}`;
	return { id, type: "function", function: { name, arguments: JSON.stringify(input) } };
}

function deltasOf(answer: Answer): object[] {
	const { reply } = answer;
	if (!reply) return [];
	if ("text" in reply) return inParts(reply.text).map((content) => ({ content }));
	const call = callOf(answer);
	const open = { index: 0, ...call, function: { ...call.function, arguments: "" } };
	return [
		{ tool_calls: [open] },
		...inParts(call.function.arguments).map((part) => ({
			tool_calls: [{ index: 0, function: { arguments: part } }],
		})),
	];
}

function usageOf({ usage }: Answer) {
	const prompt_tokens = usage.input + usage.read + usage.write;
	return {
		prompt_tokens,
		completion_tokens: usage.output,
		total_tokens: prompt_tokens + usage.output,
		prompt_tokens_details: { cached_tokens: usage.read, cache_write_tokens: usage.write },
		completion_tokens_details: { reasoning_tokens: 0 },
	};
}
