import { hashBytes } from "../../src/core/hash.ts";
import type { Exchange } from "../../src/wire/exchange.ts";
import { formatOf, type Piece, readRequest } from "../../src/wire/index.ts";

type Message = { role: string; content: unknown };

/** What an agent would send to Anthropic. Texts begin with `secret`, so that a leak shows. */
export interface Prompt {
	readonly model?: string;
	readonly tools?: readonly string[];
	readonly system?: string;
	readonly messages: readonly Message[];
	readonly effort?: string;
	readonly toolChoice?: object;
	/** For markers on the system prompt and the last message; without it, there are none. */
	readonly ttl?: "5m" | "1h";
}

export const TOOLS = ["Read", "Bash"];
const MINUTE = 60_000;

/** A text of about `tokens` tokens. */
export const secret = (name: string, tokens = 1000) =>
	`secret ${name} ${"lorem ".repeat(Math.ceil((tokens * 4) / 6))}`;

export const says = (name: string, tokens?: number): Message => ({
	role: "user",
	content: [{ type: "text", text: secret(name, tokens) }],
});

/** The model answers. */
export const reply = (name: string, tokens?: number): Message => ({
	role: "assistant",
	content: [{ type: "text", text: secret(`answer ${name}`, tokens) }],
});

/** The model reads a file and gets a result. */
export const step = (
	name: string,
	tokens?: number,
	path = `/w/secret-free/${name}.ts`,
): Message[] => [
	{
		role: "assistant",
		content: [{ type: "tool_use", id: `toolu_${name}`, name: "Read", input: { file_path: path } }],
	},
	{
		role: "user",
		content: [
			{
				type: "tool_result",
				tool_use_id: `toolu_${name}`,
				content: secret(`result ${name}`, tokens),
			},
		],
	},
];

export const image = (name: string): Message => ({
	role: "user",
	content: [{ type: "image", source: { type: "base64", data: secret(name, 2000) } }],
});

export function bodyOf({
	model = "claude-opus-5",
	tools = TOOLS,
	system = "main",
	...rest
}: Prompt) {
	const { ttl, toolChoice, messages } = rest;
	const marker = ttl && { cache_control: { type: "ephemeral", ttl } };
	const marked = messages.map((message, at) => {
		const isLast = at === messages.length - 1 && Array.isArray(message.content);
		if (!marker || !isLast) return message;
		const blocks = message.content as object[];
		return { ...message, content: blocks.with(-1, { ...blocks.at(-1), ...marker }) };
	});
	return {
		model,
		messages: marked,
		system: [{ type: "text", text: secret(`system ${system}`, 2000), ...marker }],
		tools: tools.map((name) => ({ name, description: secret(`tool ${name}`, 1000) })),
		...(toolChoice && { tool_choice: toolChoice }),
		output_config: { effort: rest.effort ?? "high" },
		stream: true,
	};
}

export interface Usage {
	readonly input: number;
	readonly read: number;
	readonly write: number;
	/** The part of `write` that is cached for an hour. */
	readonly hour?: number;
	readonly output: number;
}

/**
 * A provider with a cache like Anthropic's: an entry at the end of the system prompt and of each
 * request, for five minutes or an hour after its last use. Effort, the choice of a tool and images
 * count for messages, the model for all.
 */
export class StandIn {
	readonly bills: Usage[] = [];
	/** For each request, the tokens of its longest start that was sent before and is not read now. */
	readonly paidAgain: number[] = [];
	nowMs = Date.UTC(2026, 10, 16, 12);
	readonly #entries = new Map<string, number>();
	readonly #sent = new Set<string>();

	/** Waits a second, unless `pauseMs` says otherwise, and answers. */
	exchange(prompt: Prompt, changes: Partial<Exchange> & { pauseMs?: number } = {}): Exchange {
		const { pauseMs = 1000, ...rest } = changes;
		this.nowMs += pauseMs;
		const requestBody = new Uint8Array(Buffer.from(JSON.stringify(bodyOf(prompt))));
		const usage = this.#bill(requestBody, prompt);
		this.bills.push(usage);
		const exchange = {
			...{ startedMs: this.nowMs, firstByteMs: this.nowMs + 200, endedMs: this.nowMs + 400 },
			...{ upstream: "anthropic", method: "POST", path: "/v1/messages", status: 200 },
			requestHeaders: { "user-agent": "claude-cli/2.1.325", "x-claude-code-session-id": "s1" },
			requestBody,
			...{ answerType: "text/event-stream; charset=utf-8", answerBody: streamOf(usage) },
			end: "complete",
		} as const;
		return { ...exchange, ...rest };
	}

	#bill(body: Uint8Array, { ttl = "5m" }: Prompt): Usage {
		const path = "/v1/messages";
		const format = formatOf(path);
		const request = format && readRequest(format, body, path);
		if (!request) throw new Error("the stand-in got no request");
		const { effort, toolChoice, images } = request.settings;
		const chain = chainOf(request.pieces, request.model, `${effort} ${toolChoice} ${images}`);
		const last = chain.length - 1;
		const system = request.pieces.findLastIndex(({ part }) => part === "system");
		const alive = chain.findLastIndex(({ key }) => (this.#entries.get(key) ?? 0) > this.nowMs);
		const read = chain[alive]?.tokens ?? 0;
		const total = chain[last]?.tokens ?? 0;
		const sent = chain.findLast(({ key }) => this.#sent.has(key))?.tokens ?? 0;
		this.paidAgain.push(Math.max(0, sent - read));
		for (const { key } of chain) this.#sent.add(key);
		for (const at of [system, last, alive]) {
			const entry = chain[at];
			const lifeMs = (ttl === "1h" ? 60 : 5) * MINUTE;
			if (entry) this.#entries.set(entry.key, this.nowMs + lifeMs);
		}
		const write = total - read;
		return { input: 3, read, write, hour: ttl === "1h" ? write : 0, output: 50 };
	}
}

function chainOf(pieces: readonly Piece[], model: string, settings: string) {
	let key = model;
	let tokens = 0;
	return pieces.map(({ part, hash, range }) => {
		key = hashBytes(`${key} ${hash} ${part === "messages" ? settings : ""}`);
		tokens += Math.ceil((range.end - range.start) / 4);
		return { key, tokens };
	});
}

export function streamOf({ input, read, write, hour = 0, output }: Usage): Uint8Array {
	const usage = {
		input_tokens: input,
		cache_read_input_tokens: read,
		cache_creation_input_tokens: write,
		...(hour > 0 && { cache_creation: { ephemeral_1h_input_tokens: hour } }),
		output_tokens: 1,
	};
	const events = [
		{
			type: "message_start",
			message: { id: "msg", type: "message", model: "claude-opus-5", usage },
		},
		{ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "secret answer" } },
		{ type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: output } },
		{ type: "message_stop" },
	];
	const text = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
	return new Uint8Array(Buffer.from(text.join("")));
}
