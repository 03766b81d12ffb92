import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { WebSocket, WebSocketServer } from "ws";
import { errnoOf } from "../core/errno.ts";
import { getOrAdd } from "../core/get-or-add.ts";
import type { Exchange } from "../wire/exchange.ts";
import type { CopyLimits } from "./body-copy.ts";
import { endToEnd, OF_REQUEST, pairs, publicHeaders } from "./headers.ts";
import { sendRawRefusal } from "./refusal.ts";
import type { Route } from "./route.ts";
import { Turns } from "./turns.ts";

interface WebSocketJoinOptions extends CopyLimits {
	readonly request: IncomingMessage;
	readonly socket: Duplex;
	/** What the client sent after the head of its request. */
	readonly head: Buffer;
	readonly route: Route;
	onExchange(exchange: Exchange): void;
}

/** A message is held as a whole before it is sent on. */
const MAX_MESSAGE_BYTES = 128 * 1024 * 1024;
const HANDSHAKE_MS = 60_000;
/** A client sends nothing before it has the answer to its handshake. */
const MAX_EARLY_BYTES = 64 * 1024;
/** Above it the other side is not read. */
const HIGH_WATER_BYTES = 1024 * 1024;
/** How long a side may take to answer a close frame. */
const CLOSE_MS = 2_000;
const GOING_AWAY = 1001;

/** `Host` and the handshake belong to one connection; each side has its own. */
const OF_HANDSHAKE = new Set([
	...OF_REQUEST,
	"sec-websocket-accept",
	"sec-websocket-extensions",
	"sec-websocket-key",
	"sec-websocket-protocol",
	"sec-websocket-version",
]);

/** A WebSocket of a client and one to its upstream. Messages pass unchanged in both directions. */
export class WebSocketJoin {
	readonly #options: WebSocketJoinOptions;
	readonly #ended = Promise.withResolvers<void>();
	readonly #turns: Turns;
	readonly #upstream: WebSocket;
	#client: WebSocket | undefined;
	#answer: IncomingMessage | undefined;
	bytesSent = 0;
	bytesReceived = 0;

	/** Throws if the client's subprotocols are malformed. */
	constructor(options: WebSocketJoinOptions) {
		this.#options = options;
		const { request, route, onExchange } = options;
		const about = {
			upstream: route.upstream.name,
			method: request.method ?? "GET",
			path: route.path,
			requestHeaders: publicHeaders(request.rawHeaders),
		};
		this.#turns = new Turns({ ...options, about, onExchange });
		const address = route.upstream.origin.replace(/^http/, "ws");
		this.#upstream = new WebSocket(address, subprotocols(request), {
			// As part of the address the target would be encoded again.
			finishRequest(handshake) {
				handshake.path = route.target;
				handshake.end();
			},
			headers: headersFor(request),
			perMessageDeflate: this.#isCompressed,
			maxPayload: MAX_MESSAGE_BYTES,
			handshakeTimeout: HANDSHAKE_MS,
			followRedirects: false,
		});
	}

	/** Resolves when both sides are closed and all exchanges are handed over. */
	async run(): Promise<void> {
		const upstream = this.#upstream;
		const early = this.#watchClient();
		upstream.on("upgrade", (answer) => {
			this.#answer = answer;
		});
		upstream.on("open", () => this.#accept(early()));
		upstream.on("unexpected-response", (_request, answer) => this.#passOn(answer));
		upstream.on("error", (error) => this.#fail(error));
		await this.#ended.promise;
		await this.#turns.settled();
	}

	abort(): void {
		this.#turns.end("client-gone");
		this.#client?.terminate();
		this.#abandon();
		this.#options.socket.destroy();
	}

	/** Closes both sides, after the answer in flight if there is one. */
	drain(): void {
		this.#turns.whenIdle(() => {
			close(this.#upstream, GOING_AWAY);
			if (this.#client) close(this.#client, GOING_AWAY, "the proxy stops");
			else this.#options.socket.destroy();
		});
	}

	get #isCompressed(): boolean {
		const offered = this.#options.request.headers["sec-websocket-extensions"] ?? "";
		return /\bpermessage-deflate\b/.test(offered);
	}

	/** Without a reader the end of the client is not seen. Returns a function that ends the watch. */
	#watchClient(): () => Buffer {
		const { socket, head } = this.#options;
		let early = head;
		const keep = (chunk: Buffer) => {
			early = Buffer.concat([early, chunk]);
			if (early.length > MAX_EARLY_BYTES) socket.destroy();
		};
		const destroy = () => void socket.destroy();
		socket.on("data", keep);
		socket.on("end", destroy);
		socket.on("close", () => {
			if (!this.#client) this.#abandon();
		});
		return () => {
			socket.pause();
			socket.off("data", keep);
			socket.off("end", destroy);
			return early;
		};
	}

	/** `early`: what the client sent before it had the answer to its handshake. */
	#accept(early: Buffer): void {
		const { request, socket } = this.#options;
		const { protocol } = this.#upstream;
		const server = new WebSocketServer({
			noServer: true,
			clientTracking: false,
			perMessageDeflate: this.#isCompressed,
			maxPayload: MAX_MESSAGE_BYTES,
			handleProtocols: () => protocol || false,
		});
		const own = endToEnd(this.#answer?.rawHeaders ?? [], OF_HANDSHAKE);
		server.on("headers", (lines) => {
			for (const [name, value] of pairs(own)) lines.push(`${name}: ${value}`);
		});
		// It calls back at once. If it refuses the handshake, it ends the socket.
		server.handleUpgrade(request, socket, early, (client) => this.#connect(client));
		socket.resume();
	}

	#connect(client: WebSocket): void {
		this.#client = client;
		const upstream = this.#upstream;
		relay(client, upstream, (data, isBinary) => {
			this.bytesSent += data.length;
			if (!isBinary) this.#turns.sent(data);
		});
		relay(upstream, client, (data, isBinary) => {
			this.bytesReceived += data.length;
			if (!isBinary) this.#turns.received(data);
		});
		const isOver = () =>
			client.readyState === WebSocket.CLOSED && upstream.readyState === WebSocket.CLOSED;
		const end = (how: Exchange["end"]) => {
			this.#turns.end(how);
			if (isOver()) this.#ended.resolve();
		};
		client.on("close", () => end("client-gone"));
		upstream.on("close", () => end("upstream-cut"));
	}

	/** The client is gone before it has a WebSocket. */
	#abandon(): void {
		this.#upstream.terminate();
		this.#ended.resolve();
	}

	/** A refusal of the upstream reaches the client as it is. */
	#passOn(answer: IncomingMessage): void {
		const { socket } = this.#options;
		const { statusCode: status = 0, statusMessage: message = "", rawHeaders } = answer;
		const lines = [...pairs(endToEnd(rawHeaders))].map(([name, value]) => `${name}: ${value}\r\n`);
		const head = `HTTP/1.1 ${status} ${message}\r\n${lines.join("")}Connection: close\r\n\r\n`;
		socket.write(head, "latin1");
		answer.on("data", (chunk: Buffer) => {
			this.bytesReceived += chunk.length;
		});
		answer.on("error", () => socket.destroy());
		answer.pipe(socket);
		socket.on("finish", () => socket.destroy());
		socket.on("close", () => {
			answer.destroy();
			this.#turns.refused(status, answer.complete);
		});
	}

	#fail(error: Error): void {
		// After the handshake "close" follows, and its code is passed on.
		if (this.#client || this.#options.socket.destroyed) return;
		const { route, socket } = this.#options;
		const message = `${route.upstream.name} cannot be reached (${errnoOf(error) ?? "no WebSocket"})`;
		this.#turns.refused();
		sendRawRefusal(
			socket,
			{ status: 502, reason: "upstream-failed", message },
			route.upstream.name,
		);
	}
}

function relay(
	from: WebSocket,
	to: WebSocket,
	observe: (data: Buffer, isBinary: boolean) => void,
): void {
	from.on("message", (data: Buffer, isBinary) => {
		if (to.readyState !== WebSocket.OPEN) return;
		to.send(data, { binary: isBinary }, () => {
			if (from.isPaused && to.bufferedAmount < HIGH_WATER_BYTES) from.resume();
		});
		if (to.bufferedAmount >= HIGH_WATER_BYTES) from.pause();
		observe(data, isBinary);
	});
	from.on("error", () => {}); // "close" follows
	from.on("close", (code, reason) => close(to, code, reason));
}

/** Codes that stand for "no code" and "no close frame"; neither can be sent. */
const NO_CODE = 1005;
const CUT = 1006;

function close(socket: WebSocket, code: number, reason: Buffer | string = ""): void {
	if (socket.readyState === WebSocket.CLOSED) return;
	// While paused, `ws` would not read the answer to its close frame.
	if (socket.isPaused) socket.resume();
	try {
		if (code === CUT) socket.terminate();
		else if (code === NO_CODE) socket.close();
		else socket.close(code, reason);
	} catch {
		socket.terminate(); // a code that cannot be sent
	}
	setTimeout(() => socket.terminate(), CLOSE_MS).unref();
}

function subprotocols({ headers }: IncomingMessage): string[] {
	const offered = headers["sec-websocket-protocol"];
	return offered === undefined ? [] : offered.split(",").map((name) => name.trim());
}

function headersFor({ rawHeaders }: IncomingMessage): Record<string, string[]> {
	const headers = new Map<string, string[]>();
	for (const [name, value] of pairs(endToEnd(rawHeaders, OF_HANDSHAKE))) {
		getOrAdd(headers, name, () => []).push(value);
	}
	return Object.fromEntries(headers);
}
