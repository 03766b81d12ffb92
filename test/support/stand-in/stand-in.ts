/**
 * A provider for tests with real agents: one server on loopback that speaks the wires of all vendors, follows a script,
 * bills by a prompt cache of its own, and records every request.
 */
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { brotliDecompressSync, gunzipSync, gzipSync, zstdDecompressSync } from "node:zlib";
import { type WebSocket, WebSocketServer } from "ws";
import { loopbackTokens } from "../loopback-cache.ts";
import { anthropicWire } from "./anthropic.ts";
import { chatWire } from "./chat.ts";
import { geminiWire } from "./gemini.ts";
import { responsesWire } from "./responses.ts";
import {
	canAct,
	type Fault,
	type Reply,
	replyTo,
	type Step,
	type Turn,
	valueFor,
} from "./script.ts";
import {
	type Answer,
	type Asked,
	type Billed,
	type Body,
	Refusal,
	type StreamEvent,
	type Wire,
} from "./wire.ts";

/** One request as it arrived. A frame of a WebSocket that asks for an answer is one, too. */
export interface StandInRequest {
	readonly transport: "http" | "websocket";
	readonly method: string;
	/** With its query. */
	readonly path: string;
	/** Names and values as sent, in order. */
	readonly headers: readonly (readonly [name: string, value: string])[];
	/** The bytes on the wire, still encoded. */
	readonly body: Buffer;
	readonly sha256: string;
	/** Whether it followed the script. Title, routing and account requests do not. */
	isScripted: boolean;
	status: number;
	/** Of the answer's body as sent; of all frames for a WebSocket. */
	answerSha256: string;
	/** The frames of an answer over a WebSocket. */
	frames?: readonly string[];
	/** Absent if no model answered. */
	usage?: Billed;
}

export interface StandInOptions {
	/** Clock in milliseconds, for lifetimes in the cache. */
	readonly now?: () => number;
	/** False: answers 426 to a WebSocket, so that Codex uses HTTP. */
	readonly websocket?: boolean;
}

/** What to send back for one request. */
type Decision =
	| { readonly kind: "answer"; readonly answer: Answer; readonly turn: Turn; readonly isCut?: true }
	| {
			readonly kind: "refusal";
			readonly status: number;
			readonly message: string;
			readonly fault?: Fault;
	  };

const SIDE_ANSWER = "Notes and lines";

export class StandIn {
	readonly requests: StandInRequest[] = [];
	readonly #wires: readonly Wire[];
	readonly #steps: Step[] = [];
	readonly #server: Server;
	readonly #sockets = new WebSocketServer({ noServer: true, perMessageDeflate: true });
	readonly #takesWebSockets: boolean;
	#answers = 0;

	private constructor({ now = Date.now, websocket = true }: StandInOptions) {
		this.#wires = [anthropicWire(now), responsesWire(now), chatWire(now), geminiWire(now)];
		this.#takesWebSockets = websocket;
		this.#server = createServer((req, res) => {
			this.#handle(req, res).catch((error: unknown) => res.destroy(error as Error));
		});
		this.#server.on("upgrade", (req, socket, head) => this.#upgrade(req, socket, head));
	}

	/** Listens on a free port of 127.0.0.1. */
	static async start(options: StandInOptions = {}): Promise<StandIn> {
		const standIn = new StandIn(options);
		standIn.#server.listen(0, "127.0.0.1");
		await once(standIn.#server, "listening");
		return standIn;
	}

	/** Without a path. */
	get url(): string {
		return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
	}

	/** The steps that no request has taken. */
	get rest(): readonly Step[] {
		return this.#steps;
	}

	/** Each request that offers tools takes one step. Without one it is refused. */
	script(steps: readonly Step[]): void {
		this.#steps.push(...steps);
	}

	async close(): Promise<void> {
		for (const client of this.#sockets.clients) client.terminate();
		const closed = once(this.#server, "close");
		this.#server.close();
		this.#server.closeAllConnections();
		await closed;
	}

	async #handle(req: IncomingMessage, res: ServerResponse): Promise<void> {
		const body = Buffer.concat(await req.toArray());
		const request = this.#record(req, "http", body);
		const path = pathOf(request.path);
		const wire = this.#wires.find((one) => req.method === "POST" && one.matches(path));
		if (!wire) {
			send(res, request, this.#countRefusal(path, body) ?? sideAnswer(path, body));
			return;
		}
		const decision = this.#decide(wire, decoded(body, req.headers["content-encoding"]), request);
		const isGzip = /\bgzip\b/.test(String(req.headers["accept-encoding"]));
		if (decision.kind === "refusal") send(res, request, refusalOf(wire, decision, isGzip));
		else if (decision.isCut) sendCut(res, request, sseOf(wire.events(decision.answer)));
		else send(res, request, answerOf(wire, decision, isGzip));
	}

	/** Counting tokens runs the same check of thinking as asking the model. */
	#countRefusal(path: string, body: Buffer): HttpAnswer | undefined {
		const asked = path.replace(/\/count_tokens$/, "");
		const wire = asked === path ? undefined : this.#wires.find((one) => one.matches(asked));
		try {
			wire?.checkCount?.(JSON.parse(body.toString("utf8")));
			return undefined;
		} catch (error) {
			if (!(error instanceof Refusal) || !wire) throw error;
			const { status, message } = error;
			return refusalOf(wire, { kind: "refusal", status, message }, false);
		}
	}

	#upgrade(req: IncomingMessage, socket: Duplex, head: Buffer): void {
		if (!this.#takesWebSockets || !pathOf(req.url ?? "").endsWith("/responses")) {
			const request = this.#record(req, "http", Buffer.alloc(0));
			request.status = 426;
			socket.end("HTTP/1.1 426 Upgrade Required\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
			return;
		}
		this.#sockets.handleUpgrade(req, socket, head, (client) => {
			client.on("message", (data: Buffer) => this.#answerFrame(req, client, data));
		});
	}

	#answerFrame(req: IncomingMessage, client: WebSocket, data: Buffer): void {
		const wire = this.#wires.find((one) => one.matches(pathOf(req.url ?? ""))) as Wire;
		const request = this.#record(req, "websocket", data);
		const decision = this.#decide(wire, data, request);
		const frames =
			decision.kind === "refusal"
				? [
						{
							type: "error",
							status: decision.status,
							...Object(wire.error(decision.status, decision.message)),
						},
					]
				: wire.events(decision.answer).map((event) => event.data);
		const isCut = decision.kind === "answer" && decision.isCut;
		const sent = (isCut ? frames.slice(0, 2) : frames).map((frame) => JSON.stringify(frame));
		// Frames are compressed one after the other: with the last one, all are sent.
		const cut = () => isCut && client.terminate();
		for (const [at, frame] of sent.entries()) {
			client.send(frame, at === sent.length - 1 ? cut : undefined);
		}
		request.status = decision.kind === "refusal" ? decision.status : 200;
		request.frames = sent;
		request.answerSha256 = sha256(sent.join(""));
	}

	#record(
		{ method = "", url = "", rawHeaders }: IncomingMessage,
		transport: StandInRequest["transport"],
		body: Buffer,
	): StandInRequest {
		const headers = rawHeaders.flatMap((name, at) =>
			at % 2 === 0 ? [[name, rawHeaders[at + 1] ?? ""] as const] : [],
		);
		const request: StandInRequest = {
			...{ transport, method, path: url, headers, body, sha256: sha256(body) },
			...{ isScripted: false, status: 0, answerSha256: sha256("") },
		};
		this.requests.push(request);
		return request;
	}

	#decide(wire: Wire, raw: Buffer, request: StandInRequest): Decision {
		try {
			const body = JSON.parse(raw.toString("utf8")) as Body;
			const asked = wire.read(body, pathOf(request.path));
			const isWarmUp = body.generate === false;
			request.isScripted = canAct(asked.tools) && !isWarmUp;
			const step = request.isScripted ? this.#nextStep() : { say: sideText(asked) };
			if ("status" in step) {
				return { kind: "refusal", status: step.status, message: "As scripted.", fault: step };
			}
			const isCut = "cut" in step;
			const turn = isCut ? { say: SIDE_ANSWER } : step;
			const reply = isWarmUp ? undefined : replyTo(turn, asked.tools);
			const answer = this.#answer(wire, { body, asked, reply });
			request.usage = answer.usage;
			return { kind: "answer", answer, turn, ...(isCut && { isCut }) };
		} catch (error) {
			const status = error instanceof Refusal ? error.status : 400;
			return { kind: "refusal", status, message: String(error) };
		}
	}

	#nextStep(): Step {
		const step = this.#steps.shift();
		if (!step) throw new Refusal(400, `no step is left for request ${this.requests.length}`);
		return step;
	}

	#answer(
		wire: Wire,
		{ body, asked, reply }: { body: Body; asked: Asked; reply: Reply | undefined },
	): Answer {
		const usage = {
			...wire.bill(body, asked),
			output: reply ? loopbackTokens(JSON.stringify(reply)) : 0,
		};
		const { model, isStream } = asked;
		return { number: ++this.#answers, model, isStream, body, reply, usage };
	}
}

function sideText({ schema }: Asked): string {
	return schema === undefined ? SIDE_ANSWER : JSON.stringify(valueFor(schema));
}

export function sha256(bytes: Buffer | string): string {
	return createHash("sha256").update(bytes).digest("hex");
}

function pathOf(url: string): string {
	return url.replace(/\?.*$/, "");
}

function decoded(body: Buffer, encoding: string | undefined): Buffer {
	if (encoding === "gzip") return gunzipSync(body);
	if (encoding === "br") return brotliDecompressSync(body);
	return encoding === "zstd" ? zstdDecompressSync(body) : body;
}

interface HttpAnswer {
	readonly status: number;
	readonly headers: Readonly<Record<string, string>>;
	readonly body: string | Buffer;
}

/** Token counts are answered; lists of models, telemetry and the like do not exist here. */
function sideAnswer(path: string, body: Buffer): HttpAnswer {
	const tokens = loopbackTokens(body.toString("utf8"));
	const count = /[:/]count_?tokens$/i.test(path);
	const content = count
		? { input_tokens: tokens, totalTokens: tokens }
		: { error: { type: "not_found_error", code: 404, status: "NOT_FOUND", message: path } };
	return {
		status: count ? 200 : 404,
		headers: { "content-type": "application/json" },
		body: JSON.stringify(content),
	};
}

function refusalOf(
	wire: Wire,
	{ status, message, fault }: Extract<Decision, { kind: "refusal" }>,
	isGzip: boolean,
): HttpAnswer {
	const { retryAfter, gzip } = { retryAfter: undefined, gzip: false, ...fault };
	const answer = {
		status,
		headers: {
			"content-type": "application/json",
			...(retryAfter !== undefined && { "retry-after": String(retryAfter) }),
		},
		body: JSON.stringify(wire.error(status, message)),
	};
	return gzip && isGzip ? compressed(answer) : answer;
}

function answerOf(
	wire: Wire,
	{ answer, turn }: Extract<Decision, { kind: "answer" }>,
	isGzip: boolean,
): HttpAnswer {
	const pings = Array.from({ length: turn.pings ?? 0 }, () => wire.ping ?? "");
	const whole: HttpAnswer = answer.isStream
		? {
				status: 200,
				headers: { "content-type": "text/event-stream; charset=utf-8" },
				body: sseOf(wire.events(answer), pings).join(""),
			}
		: {
				status: 200,
				headers: { "content-type": "application/json" },
				body: JSON.stringify(wire.document(answer)),
			};
	return turn.gzip && isGzip ? compressed(whole) : whole;
}

function compressed({ status, headers, body }: HttpAnswer): HttpAnswer {
	return { status, headers: { ...headers, "content-encoding": "gzip" }, body: gzipSync(body) };
}

/** With pings after the first event. Events without a name are data alone. */
function sseOf(events: readonly StreamEvent[], pings: readonly string[] = []): string[] {
	const [first = "", ...others] = events.map(({ event, data }) => {
		const text = typeof data === "string" ? data : JSON.stringify(data);
		return `${event ? `event: ${event}\n` : ""}data: ${text}\n\n`;
	});
	return [first, ...pings, ...others];
}

function send(res: ServerResponse, request: StandInRequest, { status, headers, body }: HttpAnswer) {
	const isHead = request.method === "HEAD";
	request.status = status;
	request.answerSha256 = sha256(isHead ? "" : body);
	res.writeHead(status, headers);
	res.end(isHead ? undefined : body);
}

/** The first half of the events, then a connection that ends without the end of the body. */
function sendCut(res: ServerResponse, request: StandInRequest, events: readonly string[]): void {
	const half = events.slice(0, Math.ceil(events.length / 2)).join("");
	request.status = 200;
	request.answerSha256 = sha256(half);
	res.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" });
	res.write(half, () => res.destroy());
}
