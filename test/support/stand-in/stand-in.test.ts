import { once } from "node:events";
import { expect, test } from "vitest";
import { WebSocket } from "ws";
import { AnswerReader, type Format, formatOf, type WireAnswer } from "../../../src/wire/index.ts";
import { samples, type WireSample } from "../../wire/samples.ts";
import { atEnd } from "../temp.ts";
import type { Step } from "./script.ts";
import { StandIn, type StandInOptions, sha256 } from "./stand-in.ts";

async function standInWith(steps: readonly Step[], options?: StandInOptions): Promise<StandIn> {
	const standIn = await StandIn.start(options);
	atEnd(() => standIn.close());
	standIn.script(steps);
	return standIn;
}

const MODELS = { anthropic: "claude-opus-5", responses: "gpt-5.6", chat: "gpt-5.6", gemini: "" };
/** A prompt that is long enough to be cached by every vendor. */
const LONG = "secret ".repeat(4000);

function bodyOf({ format, body }: WireSample, turns: number): string {
	const model = MODELS[format];
	const sent = body(turns, { system: LONG });
	const text = JSON.stringify({ ...sent, ...(model && { model }), stream: true });
	// The sample's calls carry signatures of another provider.
	return text.replaceAll('"thinking":"","signature"', '"thinking":"","data"');
}

/** What a client makes of the answer. */
async function ask({ url }: StandIn, sample: WireSample, turns: number) {
	const answer = await fetch(`${url}${sample.path}`, {
		method: "POST",
		body: bodyOf(sample, turns),
		headers: { "content-type": "application/json" },
	});
	const reader = new AnswerReader(
		formatOf(sample.path) as Format,
		answer.headers.get("content-type") ?? undefined,
	);
	const chunks: Buffer[] = [];
	let isWhole = true;
	try {
		for await (const chunk of answer.body ?? []) chunks.push(Buffer.from(chunk as Uint8Array));
	} catch {
		isWhole = false;
	}
	for (const chunk of chunks) reader.push(chunk);
	return { status: answer.status, said: reader.end(isWhole), bytes: Buffer.concat(chunks) };
}

const wires = samples.map((sample) => ({
	...sample,
	path:
		sample.format === "gemini"
			? "/v1beta/models/gemini-3.8-flash:streamGenerateContent"
			: sample.path,
}));

test.each(wires)(
	"$format: the bill of each answer is what the stand-in has counted",
	async (sample) => {
		const { standIn, said } = await threeTurns(sample);
		expect(said.map(({ usage }) => usage)).toEqual(
			standIn.requests.map(({ usage }) => ({ ...usage, reasoning: 0 })),
		);
		expect(said.every(({ end }) => end === "complete")).toBe(true);
		const reads = standIn.requests.map(({ usage }) => usage?.read ?? 0);
		expect(reads[0]).toBe(0);
		expect(reads[1]).toBeGreaterThan(4096);
		expect(reads[2]).toBeGreaterThan(reads[1] ?? 0);
	},
);

async function threeTurns(sample: WireSample): Promise<{ standIn: StandIn; said: WireAnswer[] }> {
	const standIn = await standInWith([{ read: "/a" }, { shell: "ls" }, { say: "Done." }]);
	const said: WireAnswer[] = [];
	for (const turns of [0, 1, 2]) said.push((await ask(standIn, sample, turns)).said);
	return { standIn, said };
}

test.each(wires)("$format: requests and answers are recorded by their hash", async (sample) => {
	const standIn = await standInWith([{ say: "Done.", gzip: true, pings: 2 }]);
	const { status, said } = await ask(standIn, sample, 1);
	expect({ status, end: said.end }).toEqual({ status: 200, end: "complete" });
	expect(standIn.requests).toMatchObject([
		{ sha256: sha256(bodyOf(sample, 1)), path: sample.path, status: 200, isScripted: true },
	]);
});

test.each(wires)("$format: refusals have the vendor's shape, and cost nothing", async (sample) => {
	const standIn = await standInWith([{ status: 429, retryAfter: 1 }, { status: 529 }]);
	for (const status of [429, 529]) {
		const answer = await ask(standIn, sample, 1);
		expect(answer).toMatchObject({ status, said: { end: "error", error: expect.any(String) } });
		expect(sha256(answer.bytes)).toBe(standIn.requests.at(-1)?.answerSha256);
	}
	expect(standIn.requests.map(({ usage }) => usage)).toEqual([undefined, undefined]);
});

test.each(wires)("$format: a cut stream ends without its end", async (sample) => {
	const standIn = await standInWith([{ cut: true }]);
	expect((await ask(standIn, sample, 1)).said.end).toBe("cut");
});

test("what no model answers is not found, and is recorded", async () => {
	const standIn = await standInWith([]);
	const { status } = await fetch(`${standIn.url}/v1/models`);
	expect(status).toBe(404);
	expect(standIn.requests).toMatchObject([{ method: "GET", path: "/v1/models", status: 404 }]);
});

test("a WebSocket continues the response that a frame names, and warms up without a step", async () => {
	const standIn = await standInWith([{ say: "One." }, { say: "Two." }]);
	const socket = new WebSocket(`${standIn.url.replace("http", "ws")}/v1/responses`);
	atEnd(() => socket.terminate());
	await once(socket, "open");
	const head = { type: "response.create", model: "gpt-5.6", stream: true };
	const tools = [{ type: "function", name: "exec_command", parameters: {} }];
	const message = { type: "message", role: "user", content: LONG };
	const warm = await answerTo(socket, { ...head, tools, input: [message], generate: false });
	const first = await answerTo(socket, {
		...head,
		tools,
		input: [message],
		previous_response_id: warm.id,
	});
	const second = await answerTo(socket, {
		...head,
		tools,
		input: [],
		previous_response_id: first.id,
	});
	expect(standIn.requests.map(({ isScripted }) => isScripted)).toEqual([false, true, true]);
	expect(standIn.requests[2]?.usage?.read).toBeGreaterThan(standIn.requests[1]?.usage?.read ?? 0);
	expect(second.usage).toEqual({ ...standIn.requests[2]?.usage, reasoning: 0 });
	const lost = await answerTo(socket, {
		...head,
		tools,
		input: [],
		previous_response_id: "resp_x",
	});
	expect(lost).toMatchObject({ end: "error" });
});

test("a WebSocket is refused with 426 where the test says so", async () => {
	const standIn = await standInWith([], { websocket: false });
	const socket = new WebSocket(`${standIn.url.replace("http", "ws")}/v1/responses`);
	const [, answer] = await once(socket, "unexpected-response");
	expect(answer.statusCode).toBe(426);
	socket.on("error", () => undefined).terminate();
});

async function answerTo(socket: WebSocket, frame: object): Promise<WireAnswer> {
	const reader = new AnswerReader(formatOf("/v1/responses") as Format, undefined);
	const ended = new Promise<void>((resolve) => {
		const take = (data: Buffer) => {
			const text = data.toString("utf8");
			reader.addData(text);
			if (!/"type":"(response\.completed|error)"/.test(text)) return;
			socket.off("message", take);
			resolve();
		};
		socket.on("message", take);
	});
	socket.send(JSON.stringify(frame));
	await ended;
	return reader.end(true);
}
