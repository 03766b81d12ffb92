/**
 * A provider for tests: an HTTP server on 127.0.0.1 that speaks Anthropic's messages API well enough
 * for pi, answers from a script, refuses what the real API refuses, and bills with its own prompt cache.
 */
import { once } from "node:events";
import {
	createServer,
	type IncomingHttpHeaders,
	type IncomingMessage,
	type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { recordRequest } from "./golden.ts";
import { createLoopbackBinding, type LoopbackTransformation } from "./loopback-binding.ts";
import {
	createLoopbackCache,
	invalidRequest,
	LoopbackApiError,
	type LoopbackBody,
	type LoopbackCacheOptions,
	type LoopbackPromptUsage,
	loopbackTokens,
} from "./loopback-cache.ts";
import { type AppliedEdit, CLEARING_BETA, clearToolUses } from "./loopback-clearing.ts";
import { validateBody } from "./loopback-validate.ts";

/** One block of a scripted assistant message, in the shape the API sends it. */
export type LoopbackReplyBlock =
	| { type: "text"; text: string }
	| { type: "thinking"; thinking: string; signature: string }
	| { type: "tool_use"; id: string; name: string; input: Record<string, unknown> };

/**
 * A scripted reply. A string is a message of that text. `hang` sends the stream's start (and `content`,
 * if given) and then nothing until the client goes away. `error` is sent as the API sends errors and
 * touches no cache entry. `delayMs` waits before the first byte.
 */
export type LoopbackReply =
	| string
	| {
			content: LoopbackReplyBlock[];
			/** Default: "tool_use" when a block is one, else "end_turn". */
			stopReason?: string;
			hang?: boolean;
			delayMs?: number;
	  }
	| { hang: true; delayMs?: number }
	| { error: { status: number; type: string; message: string }; delayMs?: number };

/** A reply, or a function that makes one from the request it answers. */
export type LoopbackScriptStep = LoopbackReply | ((body: LoopbackBody) => LoopbackReply);

/** One request as it arrived, refused ones included. */
export type LoopbackRequest = {
	/** The exact bytes of the body, as UTF-8. */
	raw: string;
	body: LoopbackBody;
	headers: IncomingHttpHeaders;
	/** The injected clock's time of arrival. */
	at: number;
	/** Its bill, under pi's names; absent when the answer was an error. */
	usage?: LoopbackUsage;
	/** Thinking that the provider left out. */
	transformations?: readonly LoopbackTransformation[];
	/** What the provider cleared because the request asked for it. */
	applied?: readonly AppliedEdit[];
	/** Signatures of the dropped thinking whose prefix has changed since it was made. */
	misplaced?: readonly string[];
	/** Signatures of the thinking in the answer. */
	signatures?: readonly string[];
};

export type LoopbackUsage = LoopbackPromptUsage & { output: number };

export type LoopbackAnthropic = {
	/** Base URL without a path, for `modelsJson`. */
	url: string;
	requests: readonly LoopbackRequest[];
	/** Appends steps; each accepted request takes one. With none left the answer is status 500. */
	script(steps: LoopbackScriptStep[]): void;
	/** Removes and returns the steps that no request has taken. */
	clearScript(): void;
	/** Ends hanging answers too. May be called twice. */
	close(): Promise<void>;
};

export type LoopbackOptions = {
	/** Clock in milliseconds, for arrival times and TTLs. Default `Date.now`. */
	now?: () => number;
	cache?: LoopbackCacheOptions;
	/** Every answer begins with thinking, whether the script has it or not. Default: as scripted. */
	thinks?: boolean;
};

/** Starts a server on a free port. Close it when the test ends. */
export async function startLoopbackAnthropic(
	options: LoopbackOptions = {},
): Promise<LoopbackAnthropic> {
	const { now = Date.now } = options;
	const cache = createLoopbackCache({ ...options.cache, now });
	const binding = createLoopbackBinding();
	const requests: LoopbackRequest[] = [];
	const steps: LoopbackScriptStep[] = [];

	/** Everything between the last byte of a request and the first of its answer, in one tick. */
	function decide(raw: string, headers: IncomingHttpHeaders): Answer {
		const body = parse(raw);
		const request: LoopbackRequest = { raw, body: body as LoopbackBody, headers, at: now() };
		requests.push(request);
		recordRequest(raw);
		validateBody(body);
		checkBeta(body, headers);
		// The check of thinking compares what was sent, so clearing comes after it.
		const { seen: accepted, transformations, misplaced } = binding.accept(body);
		const { seen, applied } = clearToolUses(accepted);
		const reply = nextReply(body);
		if ("error" in reply) {
			const { status, type, message } = reply.error;
			return { delayMs: reply.delayMs, error: new LoopbackApiError(status, type, message) };
		}
		const content = signed("content" in reply ? reply.content : [], body);
		const usage = { ...cache.bill(seen), output: loopbackTokens(JSON.stringify(content)) };
		request.usage = usage;
		request.transformations = transformations;
		request.applied = applied;
		request.misplaced = misplaced;
		request.signatures = content.flatMap((block) =>
			"signature" in block ? [block.signature] : [],
		);
		const calls = content.some((block) => block.type === "tool_use");
		const stopReason =
			("stopReason" in reply && reply.stopReason) || (calls ? "tool_use" : "end_turn");
		const id = `msg_loop_${requests.length}`;
		return {
			delayMs: reply.delayMs,
			events: eventsOf({
				id,
				model: body.model,
				content,
				usage,
				stopReason,
				...{ transformations, applied },
				hang: reply.hang,
			}),
			hang: reply.hang === true,
		};
	}

	/** The answer with its thinking bound to the request. */
	function signed(content: LoopbackReplyBlock[], body: LoopbackBody): LoopbackReplyBlock[] {
		const thinks = content.some(({ type }) => type === "thinking");
		for (const block of content) {
			if (block.type === "thinking") binding.sign(body, block.signature);
		}
		if (thinks || !options.thinks || content.length === 0) return content;
		return [
			{ type: "thinking", thinking: "Let me think.", signature: binding.sign(body) },
			...content,
		];
	}

	function nextReply(body: LoopbackBody): Exclude<LoopbackReply, string> {
		const step = steps.shift();
		if (step === undefined)
			throw scriptFault(`no scripted reply left for request ${requests.length}`);
		try {
			const reply = typeof step === "function" ? step(body) : step;
			return typeof reply === "string" ? { content: [{ type: "text", text: reply }] } : reply;
		} catch (error) {
			throw scriptFault(`a scripted reply threw: ${error}`);
		}
	}

	async function handle(req: IncomingMessage, res: ServerResponse): Promise<void> {
		const { pathname } = new URL(req.url ?? "/", "http://loopback");
		if (req.method !== "POST" || pathname !== "/v1/messages") {
			throw new LoopbackApiError(404, "not_found_error", `no route ${req.method} ${pathname}`);
		}
		if (requests.length >= MAX_REQUESTS) throw scriptFault(`more than ${MAX_REQUESTS} requests`);
		const raw = await readBody(req);
		const answer = decide(raw, req.headers);
		if (answer.delayMs) await sleepUnlessClosed(answer.delayMs, res);
		if ("error" in answer) throw answer.error;
		res.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
		for (const event of answer.events) {
			res.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
		}
		if (!answer.hang) res.end();
	}

	const server = createServer((req, res) => {
		handle(req, res).catch((error: unknown) => sendError(res, error));
	});
	server.listen(0, "127.0.0.1");
	await once(server, "listening");
	const { port } = server.address() as AddressInfo;

	return {
		url: `http://127.0.0.1:${port}`,
		requests,
		script: (more) => void steps.push(...more),
		clearScript: () => void steps.splice(0),
		async close() {
			if (!server.listening) return;
			const closed = once(server, "close");
			server.close();
			server.closeAllConnections();
			await closed;
		},
	};
}

/** Fields of pi's model entry that a test may override; `compat` is pi's, field by field. */
export type LoopbackModel = {
	/** Default: "claude-loop", which binds thinking as all new models do. */
	id?: string;
	contextWindow?: number;
	maxTokens?: number;
	reasoning?: boolean;
	input?: ("text" | "image")[];
	/** Dollars per million tokens. Pi's default is 0 for all. */
	cost?: { input: number; output: number; cacheRead: number; cacheWrite: number };
	compat?: Record<string, unknown>;
};

/** A model that does not bind thinking. */
export const FREE_MODEL = "claude-opus-4-5";

/** Content of a `models.json` that gives pi the provider "loop" with its models. */
export function modelsJson(url: string, model: LoopbackModel = {}): string {
	const entry = { id: LOOPBACK_MODEL, contextWindow: 200_000, maxTokens: 4096, ...model };
	// A second one, to switch to.
	const other = { ...entry, id: entry.id === FREE_MODEL ? LOOPBACK_MODEL : FREE_MODEL };
	const loop = { baseUrl: url, api: "anthropic-messages", apiKey: "k", models: [entry, other] };
	return JSON.stringify({ providers: { loop } });
}

/** The id of the model unless the test names one. */
export const LOOPBACK_MODEL = "claude-loop";

/** The real API's limit on a request. */
const MAX_BODY_BYTES = 32 * 1024 * 1024;
const MAX_REQUESTS = 10_000;

type Answer = { delayMs: number | undefined } & (
	| { error: LoopbackApiError }
	| { events: Event[]; hang: boolean }
);

type Event = { type: string; [field: string]: unknown };

/** A field and its beta travel together, or the request is refused. */
function checkBeta({ context_management }: LoopbackBody, headers: IncomingHttpHeaders): void {
	if (context_management === undefined) return;
	if (String(headers["anthropic-beta"]).includes(CLEARING_BETA)) return;
	throw invalidRequest("context_management: Extra inputs are not permitted");
}

async function readBody(req: IncomingMessage): Promise<string> {
	const chunks: Buffer[] = [];
	let bytes = 0;
	for await (const chunk of req as AsyncIterable<Buffer>) {
		bytes += chunk.length;
		// Read on to the end of what is too long: a client still sending would not see the answer.
		if (bytes <= MAX_BODY_BYTES) chunks.push(chunk);
	}
	if (bytes > MAX_BODY_BYTES) {
		throw new LoopbackApiError(413, "request_too_large", `${bytes} bytes; the limit is 32 MB`);
	}
	return Buffer.concat(chunks).toString("utf8");
}

function parse(raw: string): unknown {
	try {
		return JSON.parse(raw);
	} catch (error) {
		throw invalidRequest(`The request body is not valid JSON: ${error}`);
	}
}

/**
 * A mistake of the test, not of the request. "quota exceeded" is wording that pi does not retry;
 * any other status 500 costs 14 seconds of back-off before the test fails.
 */
function scriptFault(message: string): LoopbackApiError {
	return new LoopbackApiError(500, "api_error", `${message} (script quota exceeded)`);
}

function sendError(res: ServerResponse, error: unknown): void {
	if (res.headersSent) return void res.destroy();
	const known = error instanceof LoopbackApiError;
	const { status, type, message } = known ? error : scriptFault(`loopback failed: ${error}`);
	res.writeHead(status, { "content-type": "application/json" });
	res.end(JSON.stringify({ type: "error", error: { type, message } }));
}

async function sleepUnlessClosed(ms: number, res: ServerResponse): Promise<void> {
	const closed = new AbortController();
	res.once("close", () => closed.abort());
	// Rejected only because the client disconnected; later writes are discarded.
	await sleep(ms, undefined, { signal: closed.signal }).catch(() => undefined);
}

type Message = {
	id: string;
	model: string;
	content: LoopbackReplyBlock[];
	usage: LoopbackUsage;
	stopReason: string;
	transformations: readonly LoopbackTransformation[];
	applied: readonly AppliedEdit[];
	hang: boolean | undefined;
};

function eventsOf(answer: Message): Event[] {
	const { id, model, content, usage, stopReason, transformations, applied, hang } = answer;
	const head = {
		id,
		type: "message",
		role: "assistant",
		model,
		content: [],
		stop_reason: null,
		stop_sequence: null,
		usage: {
			input_tokens: usage.input,
			cache_read_input_tokens: usage.cacheRead,
			cache_creation_input_tokens: usage.cacheWrite,
			cache_creation: {
				ephemeral_5m_input_tokens: usage.cacheWrite - usage.cacheWrite1h,
				ephemeral_1h_input_tokens: usage.cacheWrite1h,
			},
			output_tokens: 1,
		},
		...(transformations.length > 0 && { input_transformations: transformations }),
	};
	const tail: Event[] = [
		{
			type: "message_delta",
			delta: { stop_reason: stopReason, stop_sequence: null },
			usage: { output_tokens: usage.output },
			...(applied.length > 0 && { context_management: { applied_edits: applied } }),
		},
		{ type: "message_stop" },
	];
	return [
		{ type: "message_start", message: head },
		...content.flatMap(blockEvents),
		...(hang ? [] : tail),
	];
}

function blockEvents(block: LoopbackReplyBlock, index: number): Event[] {
	const { start, deltas } = streamed(block);
	return [
		{ type: "content_block_start", index, content_block: start },
		...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
		{ type: "content_block_stop", index },
	];
}

/** A block as it opens, empty, and the deltas that fill it. */
function streamed(block: LoopbackReplyBlock): { start: Event; deltas: Event[] } {
	if (block.type === "text") {
		const deltas = pieces(block.text).map((text) => ({ type: "text_delta", text }));
		return { start: { type: "text", text: "" }, deltas };
	}
	if (block.type === "thinking") {
		const { thinking, signature } = block;
		const deltas = pieces(thinking).map((part) => ({ type: "thinking_delta", thinking: part }));
		return {
			start: { type: "thinking", thinking: "", signature: "" },
			deltas: [...deltas, { type: "signature_delta", signature }],
		};
	}
	const deltas = pieces(JSON.stringify(block.input)).map((part) => ({
		type: "input_json_delta",
		partial_json: part,
	}));
	return { start: { ...block, input: {} }, deltas };
}

/** Up to three parts of about equal length, so that clients must join them; no character is split. */
function pieces(text: string): string[] {
	const characters = Array.from(text);
	const size = Math.ceil(characters.length / 3);
	return [0, size, 2 * size]
		.map((from) => characters.slice(from, from + size).join(""))
		.filter((piece) => piece !== "");
}
