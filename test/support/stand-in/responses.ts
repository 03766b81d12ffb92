import { PrefixBill } from "./prefix-bill.ts";
import {
	type Answer,
	type Body,
	inParts,
	Refusal,
	records,
	type StreamEvent,
	type Wire,
} from "./wire.ts";

/** OpenAI's Responses API. Stores what it answered, so that a request can continue from it. */
export function responsesWire(now: () => number): Wire {
	const bill = new PrefixBill("openai", now);
	/** By response id: the input and the output items. */
	const stored = new Map<string, readonly unknown[]>();
	const inputOf = (body: Body): readonly unknown[] => {
		const own = Array.isArray(body.input) ? body.input : [body.input];
		const previous = body.previous_response_id;
		if (previous === undefined || previous === null) return own;
		const before = stored.get(String(previous));
		if (!before) throw new Refusal(400, `Previous response with id '${previous}' not found.`);
		return [...before, ...own];
	};
	const keep = (answer: Answer) =>
		stored.set(idOf(answer), [...inputOf(answer.body), ...outputOf(answer)]);
	return {
		matches: (path) => path.endsWith("/responses"),
		read: (body) => ({
			model: String(body.model),
			tools: toolNames([body, ...records(inputOf(body))]),
			isStream: body.stream === true,
			schema: Object(Object(body.text).format).schema,
		}),
		bill: (body, { model }) =>
			bill.bill(model, {
				tools: records(body.tools),
				system: body.instructions === undefined ? [] : [body.instructions],
				messages: inputOf(body),
			}),
		ping: ": keepalive\n\n",
		events(answer) {
			keep(answer);
			const response = responseOf(answer);
			const open = { ...response, status: "in_progress", output: [], usage: null };
			return numbered([
				{ type: "response.created", response: open },
				{ type: "response.in_progress", response: open },
				...outputOf(answer).flatMap(itemEvents),
				{ type: "response.completed", response },
			]);
		},
		document(answer) {
			keep(answer);
			return responseOf(answer);
		},
		error: (status, message) => ({
			error: { message, type: errorType(status), param: null, code: errorCode(status) },
		}),
	};
}

/** Newer models get their tools as an item of the input, and tools may be grouped in namespaces. */
function toolNames(holders: readonly Body[]): string[] {
	return holders
		.flatMap(({ tools }) => records(tools))
		.flatMap((tool) =>
			tool.type === "namespace" ? toolNames([tool]) : [String(tool.name ?? tool.type)],
		);
}

export function errorType(status: number): string {
	if (status === 429) return "rate_limit_error";
	return status >= 500 ? "server_error" : "invalid_request_error";
}

function errorCode(status: number): string | null {
	return status === 429 ? "rate_limit_exceeded" : null;
}

type Item = { type: string; [field: string]: unknown };
type Event = { type: string; [field: string]: unknown };

function idOf({ number }: Answer): string {
	return `resp_standin${number}`;
}

function responseOf(answer: Answer) {
	const { model, usage } = answer;
	return {
		id: idOf(answer),
		object: "response",
		created_at: 1_790_000_000,
		status: "completed",
		model,
		output: outputOf(answer),
		usage: {
			input_tokens: usage.input + usage.read + usage.write,
			input_tokens_details: { cached_tokens: usage.read, cache_write_tokens: usage.write },
			output_tokens: usage.output,
			output_tokens_details: { reasoning_tokens: 0 },
			total_tokens: usage.input + usage.read + usage.write + usage.output,
		},
	};
}

function outputOf({ number, body, reply }: Answer): Item[] {
	if (!reply) return [];
	const wantsReasoning = String(body.include).includes("reasoning.encrypted_content");
	const encrypted_content = `gAAAA-standin-${number}`;
	const reasoning: Item[] = wantsReasoning
		? [{ type: "reasoning", id: `rs_standin${number}`, summary: [], encrypted_content }]
		: [];
	if ("text" in reply) {
		const content = [{ type: "output_text", text: reply.text, annotations: [] }];
		const message = { type: "message", id: `msg_standin${number}`, role: "assistant", content };
		return [...reasoning, { ...message, status: "completed" }];
	}
	const { name, input } = reply.call;
	// A tool of an MCP server is named within the server's namespace.
	const [, namespace, own] = /^(mcp__[^_]+)__(.+)$/.exec(name) ?? [];
	const named = own === undefined ? { name } : { name: own, namespace };
	const call = { ...named, call_id: `call_standin${number}`, status: "completed" };
	const item =
		typeof input === "string"
			? { type: "custom_tool_call", id: `ctc_standin${number}`, ...call, input }
			: {
					type: "function_call",
					id: `fc_standin${number}`,
					...call,
					arguments: JSON.stringify(input),
				};
	return [...reasoning, item];
}

function itemEvents(item: Item, output_index: number): Event[] {
	const place = { output_index, item_id: item.id };
	const done = { type: "response.output_item.done", output_index, item };
	const added = { type: "response.output_item.added", output_index };
	if (item.type === "message") {
		const [{ text = "" } = {}] = records(item.content);
		const deltas = inParts(String(text)).map((delta) => ({
			type: "response.output_text.delta",
			...place,
			content_index: 0,
			delta,
		}));
		return [{ ...added, item: { ...item, content: [] } }, ...deltas, done];
	}
	if (item.type === "function_call") {
		const deltas = inParts(String(item.arguments)).map((delta) => ({
			type: "response.function_call_arguments.delta",
			...place,
			delta,
		}));
		return [{ ...added, item: { ...item, arguments: "" } }, ...deltas, done];
	}
	return [{ ...added, item }, done];
}

function numbered(events: readonly Event[]): StreamEvent[] {
	return events.map((event, sequence_number) => ({
		event: event.type,
		data: { ...event, sequence_number },
	}));
}
