import { randomBytes, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { ModelRuntime } from "@earendil-works/pi-coding-agent";
import { describeError } from "../../core/errno.ts";
import { hashBytes } from "../../core/hash.ts";
import { property } from "../../core/property.ts";
import { estimateTokens } from "../../core/tokens.ts";
import {
	type Billed,
	createCacheSimulator,
	payloadBlocks,
	rulesFor,
	simulated,
} from "../../economy/index.ts";
import { type DemoAnswer, demoAnswer } from "./demo-script.ts";

/** A provider on this machine with one model, which is a script. */
export interface DemoProvider {
	/** How pi's models know it. */
	readonly config: Parameters<ModelRuntime["registerProvider"]>[1];
	/** The content of a `models.json` that makes pi use it. */
	readonly modelsJson: string;
	close(): Promise<void>;
}

/** The names by which pi and people know the model. */
export const DEMO_MODEL = { provider: "strata-demo", id: "scripted" } as const;

/** Small, so that a short conversation fills it and pruning has something to do. */
const CONTEXT_WINDOW = 56_000;
/** Dollars for a million tokens: about what such models cost, so that the figures look familiar. */
const PRICES = { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 };
const MAX_BODY_BYTES = 8 * 1024 * 1024;

/**
 * Starts the provider: Anthropic's API on the loopback interface as far as pi uses it, with a prompt cache that follows
 * the published rules. So everything between pi's session and the wire is the real thing, and only the words are not.
 */
export async function startDemoProvider(
	options: { wordsPerSecond?: number } = {},
): Promise<DemoProvider> {
	const { wordsPerSecond = 60 } = options;
	const key = randomBytes(24).toString("base64url");
	const model = { ...DEMO_MODEL, api: "anthropic-messages", cost: PRICES };
	const cache = createCacheSimulator({ ...rulesFor(model), minimumTokens: 1024 });

	async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
		if (!isSame(String(request.headers["x-api-key"]), key)) return fail(response, 401, "wrong key");
		const body = parsed(await bodyOf(request));
		const messages = property(body, "messages");
		if (!Array.isArray(messages)) return fail(response, 400, "messages must be a list");
		const said = demoAnswer(messages);
		response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
		for (const { event, pauseMs } of eventsOf(said, billed(body), 1000 / wordsPerSecond)) {
			if (pauseMs > 0) await sleep(pauseMs);
			if (response.destroyed) return; // pi does not want to hear the rest
			response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
		}
		response.end();
	}

	function billed(body: unknown): Billed {
		const { blocks, breakpoints } = simulated(payloadBlocks(body), {
			hashOf: hashBytes,
			tokensOf: (text) => estimateTokens(text.length),
		});
		return cache.send({ atMs: Date.now(), blocks, breakpoints });
	}

	const server = createServer((request, response) => {
		answer(request, response).catch((error: unknown) => {
			if (response.headersSent) response.destroy();
			else fail(response, 400, describeError(error));
		});
	});
	server.listen(0, "127.0.0.1");
	await once(server, "listening");
	const { port } = server.address() as AddressInfo;
	server.unref();
	const config: DemoProvider["config"] = {
		baseUrl: `http://127.0.0.1:${port}`,
		api: "anthropic-messages",
		apiKey: key,
		models: [
			{
				id: DEMO_MODEL.id,
				name: "Demo: a script, not an AI",
				reasoning: false,
				input: ["text"],
				contextWindow: CONTEXT_WINDOW,
				maxTokens: 4096,
				cost: PRICES,
			},
		],
	};
	return {
		config,
		modelsJson: JSON.stringify({ providers: { [DEMO_MODEL.provider]: config } }),
		async close() {
			server.close();
			server.closeAllConnections();
			await once(server, "close").catch(() => undefined);
		},
	};
}

interface TimedEvent {
	readonly event: { readonly type: string; readonly [field: string]: unknown };
	/** What passes before it is sent. */
	readonly pauseMs: number;
}

/** The answer as the API streams it: the text word by word, each call at once. */
function* eventsOf(
	{ text, calls }: DemoAnswer,
	bill: Billed,
	wordMs: number,
): Iterable<TimedEvent> {
	const now = (event: TimedEvent["event"]): TimedEvent => ({ event, pauseMs: 0 });
	const id = randomBytes(8).toString("hex");
	const output = estimateTokens(text.length + JSON.stringify(calls).length);
	yield now({
		type: "message_start",
		message: {
			id: `msg_${id}`,
			type: "message",
			role: "assistant",
			model: DEMO_MODEL.id,
			content: [],
			stop_reason: null,
			stop_sequence: null,
			usage: {
				input_tokens: bill.input,
				cache_read_input_tokens: bill.read,
				cache_creation_input_tokens: bill.write,
				output_tokens: 1,
			},
		},
	});
	yield now({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } });
	for (const word of text.match(/\s*\S+/g) ?? []) {
		const delta = { type: "text_delta", text: word };
		yield { event: { type: "content_block_delta", index: 0, delta }, pauseMs: wordMs };
	}
	yield now({ type: "content_block_stop", index: 0 });
	for (const [at, { name, input }] of calls.entries()) {
		const index = at + 1;
		const block = { type: "tool_use", id: `toolu_${id}_${index}`, name, input: {} };
		yield now({ type: "content_block_start", index, content_block: block });
		const delta = { type: "input_json_delta", partial_json: JSON.stringify(input) };
		yield now({ type: "content_block_delta", index, delta });
		yield now({ type: "content_block_stop", index });
	}
	yield now({
		type: "message_delta",
		delta: { stop_reason: calls.length > 0 ? "tool_use" : "end_turn", stop_sequence: null },
		usage: { output_tokens: output },
	});
	yield now({ type: "message_stop" });
}

async function bodyOf(request: IncomingMessage): Promise<string> {
	const chunks: Buffer[] = [];
	let bytes = 0;
	for await (const chunk of request as AsyncIterable<Buffer>) {
		bytes += chunk.length;
		if (bytes > MAX_BODY_BYTES) throw new Error("the request is too large");
		chunks.push(chunk);
	}
	return Buffer.concat(chunks).toString("utf8");
}

function parsed(body: string): unknown {
	try {
		return JSON.parse(body);
	} catch {
		throw new Error("the request is not JSON");
	}
}

function isSame(given: string, key: string): boolean {
	return given.length === key.length && timingSafeEqual(Buffer.from(given), Buffer.from(key));
}

function fail(response: ServerResponse, status: number, message: string): void {
	response.writeHead(status, { "content-type": "application/json" });
	response.end(
		JSON.stringify({ type: "error", error: { type: "invalid_request_error", message } }),
	);
}
