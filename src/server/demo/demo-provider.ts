import { randomBytes, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ModelRuntime } from "@earendil-works/pi-coding-agent";
import type { PromptTokens } from "../../core/bill.ts";
import { DEMO_MODEL } from "../../core/demo-model.ts";
import { describeError, errnoOf } from "../../core/errno.ts";
import { property } from "../../core/property.ts";
import { estimateTokens } from "../../core/tokens.ts";
import { CacheSimulator, requestOfPieces } from "../../economy/index.ts";
import { rulesFor } from "../../economy/rules.ts";
import { isStub } from "../../pruning/index.ts";
import { collapsed } from "../../text/one-line.ts";
import { readPayload } from "../../wire/index.ts";
import type { ServerOptions } from "../options.ts";

export { DEMO_MODEL };

export type Models = Awaited<ReturnType<typeof openModels>>;

/** Opens the user's models or the demo's. Never both: real work must not use the script. */
export async function openModels(options: Pick<ServerOptions, "agentDir" | "demo" | "warn">) {
	const { agentDir, demo, warn } = options;
	if (demo === "always") return await openDemo();
	const authPath = join(agentDir, "auth.json");
	const modelsPath = join(agentDir, "models.json");
	const modelRuntime = await ModelRuntime.create({ authPath, modelsPath });
	const problem = (await faultIn(authPath)) ?? modelRuntime.getError();
	if (problem !== undefined) warn(`some of pi's models cannot be used: ${collapsed(problem)}`);
	const isUsable =
		demo === "never" || problem !== undefined || (await modelRuntime.getAvailable()).length > 0;
	return isUsable ? { modelRuntime, isDemo: false, close: async () => {} } : await openDemo();
}

/** Checks pi's key file, because pi treats a broken one as empty. */
async function faultIn(path: string): Promise<string | undefined> {
	try {
		JSON.parse(await readFile(path, "utf8"));
		return undefined;
	} catch (error) {
		// Leaves out the parser's message, which would quote the file's content.
		return errnoOf(error) === "ENOENT" ? undefined : `${path} cannot be read as JSON`;
	}
}

/** Writes nothing to disk, so the demo also starts on a full disk. */
async function openDemo() {
	const provider = await startDemoProvider();
	try {
		const modelRuntime = await ModelRuntime.create({
			credentials: NO_CREDENTIALS,
			modelsPath: null,
			refreshOnCreate: false,
		});
		modelRuntime.registerProvider(DEMO_MODEL.provider, provider.config);
		return { modelRuntime, isDemo: true, close: () => provider.close() };
	} catch (error) {
		await provider.close();
		throw error;
	}
}

/** The demo must not see the user's keys. */
const NO_CREDENTIALS: NonNullable<
	NonNullable<Parameters<typeof ModelRuntime.create>[0]>["credentials"]
> = {
	read: async () => undefined,
	list: async () => [],
	modify: (_provider, change) => change(undefined),
	delete: async () => {},
};

const MAX_BODY_BYTES = 8 * 1024 * 1024;

/** Serves a scripted model on loopback: the part of Anthropic's API that pi uses, with a simulated cache. */
export async function startDemoProvider({ wordsPerSecond = 60 } = {}) {
	const key = randomBytes(24).toString("base64url");
	const cache = new CacheSimulator({ ...rulesFor(DEMO_MODEL), minimumTokens: 1024 });

	async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
		if (!isSame(String(request.headers["x-api-key"]), key)) return fail(response, 401, "wrong key");
		const body = await bodyOf(request);
		const messages = property(body, "messages");
		if (!Array.isArray(messages)) return fail(response, 400, "messages must be a list");
		const tools = property(body, "tools");
		// pi asks without tools for a summary, and refuses one that calls any.
		const next = Array.isArray(tools) && tools.length > 0 ? demoAnswer(messages) : SUMMARY;
		response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
		for (const event of eventsOf(next, billed(body))) {
			if (property(event.delta, "type") === "text_delta") await sleep(1000 / wordsPerSecond);
			if (response.destroyed) return; // pi aborted the request
			response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
		}
		response.end();
	}

	function billed(body: unknown): PromptTokens {
		const { blocks, breakpoints } = requestOfPieces(
			readPayload(body)?.pieces ?? [],
			estimateTokens,
		);
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
	const config = {
		baseUrl: `http://127.0.0.1:${port}`,
		api: DEMO_MODEL.api,
		apiKey: key,
		models: [
			{
				id: DEMO_MODEL.id,
				name: "Demo: a script, not an AI",
				reasoning: false,
				input: ["text" as const],
				contextWindow: DEMO_MODEL.contextWindow,
				maxTokens: 4096,
				cost: DEMO_MODEL.cost,
			},
		],
	};
	return {
		config,
		async close() {
			server.close();
			server.closeAllConnections();
			await once(server, "close").catch(() => undefined);
		},
	};
}

function* eventsOf(
	{ text, calls }: DemoAnswer,
	bill: PromptTokens,
): Iterable<{ type: string; [field: string]: unknown }> {
	const id = randomBytes(8).toString("hex");
	yield {
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
	};
	yield { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } };
	for (const word of text.match(/\s*\S+/g) ?? []) {
		const delta = { type: "text_delta", text: word };
		yield { type: "content_block_delta", index: 0, delta };
	}
	yield { type: "content_block_stop", index: 0 };
	for (const [at, { name, input }] of calls.entries()) {
		const index = at + 1;
		const block = { type: "tool_use", id: `toolu_${id}_${index}`, name, input: {} };
		yield { type: "content_block_start", index, content_block: block };
		const delta = { type: "input_json_delta", partial_json: JSON.stringify(input) };
		yield { type: "content_block_delta", index, delta };
		yield { type: "content_block_stop", index };
	}
	yield {
		type: "message_delta",
		delta: { stop_reason: calls.length > 0 ? "tool_use" : "end_turn", stop_sequence: null },
		usage: { output_tokens: estimateTokens(text.length + JSON.stringify(calls).length) },
	};
	yield { type: "message_stop" };
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
	const chunks: Buffer[] = [];
	let bytes = 0;
	for await (const chunk of request as AsyncIterable<Buffer>) {
		bytes += chunk.length;
		if (bytes > MAX_BODY_BYTES) throw new Error("the request is too large");
		chunks.push(chunk);
	}
	try {
		return JSON.parse(Buffer.concat(chunks).toString("utf8"));
	} catch {
		throw new Error("the request is not JSON");
	}
}

function isSame(given: string, key: string): boolean {
	return given.length === key.length && timingSafeEqual(Buffer.from(given), Buffer.from(key));
}

function fail(response: ServerResponse, status: number, message: string): void {
	response.writeHead(status, { "content-type": "application/json" });
	const error = { type: "invalid_request_error", message };
	response.end(JSON.stringify({ type: "error", error }));
}

interface DemoCall {
	readonly name: string;
	readonly input: Record<string, unknown>;
}

interface DemoAnswer {
	readonly text: string;
	readonly calls: readonly DemoCall[];
}

/** The answer depends only on the conversation, so a session can be forked, resumed and replayed. */
export function demoAnswer(messages: readonly unknown[]): DemoAnswer {
	const prompts = messages.flatMap((message, at) => (isPrompt(message) ? [at] : []));
	const script = SCRIPTS[Math.min(Math.max(prompts.length, 1), SCRIPTS.length) - 1] ?? [];
	const answers = messages
		.slice(prompts.at(-1) ?? 0)
		.filter((message) => property(message, "role") === "assistant").length;
	const next = script[answers] ?? step("That is all I know: I am a script.");
	return next.text === PRUNED && !messages.some(hasStub) ? step(NOT_PRUNED) : next;
}

const reads = (...paths: string[]): DemoCall[] =>
	paths.map((path) => ({ name: "read", input: { path } }));
const step = (text: string, ...calls: DemoCall[]): DemoAnswer => ({ text, calls });

const SUMMARY = step(
	"The demo's script stands in for a summary: what was said before is left out.",
);

const FIRST: readonly DemoAnswer[] = [
	step(
		"I am a scripted demo, not an AI: my words are fixed, but the tools are real and work on a sample project that was made for this session. The handbook says orders of 50.00 get a discount, the code seems to disagree. Where is it computed?",
		{ name: "kota_search", input: { query: "discountOf" } },
	),
	step(
		"Found it. I read the file and what it depends on.",
		...reads("src/discount.ts", "src/cart.ts"),
	),
	step(
		"Let me see what the handbook says. It is a PDF, so it comes in pages.",
		...reads("docs/handbook.pdf"),
	),
	step("The comparison has to include the limit itself.", {
		name: "edit",
		input: {
			path: "src/discount.ts",
			edits: [{ oldText: "total > DISCOUNT_FROM", newText: "total >= DISCOUNT_FROM" }],
		},
	}),
	step(
		"Now I read both files again. The read cache sends only what changed since I last saw them.",
		...reads("src/discount.ts", "src/cart.ts"),
	),
	step("Who else would notice?", {
		name: "kota_impact",
		input: { files_to_modify: ["src/discount.ts"] },
	}),
	step(
		"Done: orders of exactly 50.00 get the discount now.\n\nLook at the **Context** and **Cost** views: what I was shown, what was not sent twice, and what it would have cost otherwise. Then send me another message, whatever it says, and I will read a lot of logs, so that old output has to go.",
	),
];

const WORKSET =
	"One system is yours to start: say `/workset add src/discount.ts`, and every request of my next answer shows that file as it is then.";
const PRUNED = `Every 37th order was slow. Soon pi would have had to compact this conversation, so old output was replaced by stubs that lead back to the full text: see the stubs in the **Context** view.\n\n${WORKSET}`;
const NOT_PRUNED = `Every 37th order was slow. Nothing had to go: the window still has room, see the **Context** view. When it is nearly full, stubs take the place of old output.\n\n${WORKSET}`;

const SECOND: readonly DemoAnswer[] = [
	step("Logs next: a day at a time.", ...reads("logs/day-1.log", "logs/day-2.log")),
	step("Nothing unusual so far.", ...reads("logs/day-3.log", "logs/day-4.log")),
	step("Two more.", ...reads("logs/day-5.log", "logs/day-6.log")),
	step(
		"The last three again, side by side.",
		...reads("logs/day-4.log", "logs/day-5.log", "logs/day-6.log"),
	),
	step("Once more, to be sure.", ...reads("logs/day-5.log", "logs/day-6.log")),
	step("And the code that writes them.", ...reads("src/order.ts", "src/discount.ts")),
	step(PRUNED),
];

const LATER: readonly DemoAnswer[] = [
	step("Let me look at the code once more.", ...reads("src/discount.ts", "src/order.ts")),
	step("Nothing has changed since I last looked. That is all I know: I am a script."),
];

const SCRIPTS = [FIRST, SECOND, LATER];

/** False for tool results and text that extensions insert. */
function isPrompt(message: unknown): boolean {
	if (property(message, "role") !== "user") return false;
	return blocksOf(message).every(
		(block) => property(block, "type") !== "tool_result" && !textIn(block).startsWith(INSERTED),
	);
}

const INSERTED = "<working-file ";

function hasStub(message: unknown): boolean {
	const results = blocksOf(message).filter((block) => property(block, "content") !== undefined);
	return results.some((result) => blocksOf(result).some((block) => isStub(textIn(block))));
}

function blocksOf(message: unknown): unknown[] {
	const content = property(message, "content");
	return Array.isArray(content) ? content : [{ type: "text", text: content }];
}

function textIn(block: unknown): string {
	return String(property(block, "text"));
}
