import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import { type Access, SUBPROTOCOL } from "../../core/http-access.ts";
import type { Message } from "../engine/message.ts";
import type { ServerLimits } from "../limits.ts";
import type { Connection, Connections, Remote } from "./connections.ts";
import { writeParts } from "./outbox.ts";
import type { Encoded } from "./outbox-queue.ts";

interface WebSocketOptions {
	readonly access: Access;
	readonly connections: Promise<Connections>;
	readonly limits: ServerLimits;
	/** Ping interval, and how long a client may be silent after a ping. Defaults: 30 s and 10 s. */
	readonly pingMs?: number;
	readonly pongMs?: number;
}

/** Close codes of RFC 6455 and its registry. */
const CLOSE = { shutdown: 1001, refused: 1008, overload: 1013 } as const;
/** How long a client may take to answer a close frame. */
const CLOSE_MS = 2_000;
/** Size of the header and mask of a client's ping or pong. */
const CONTROL_BYTES = 6;
/** A client with more unsent bytes gets no pongs, because it does not read. */
const PONG_BYTES = 64 * 1024;

/** `heard`: number of bytes received before the last ping; -1 if the connection was not pinged. */
type Live = {
	readonly ws: WebSocket;
	readonly socket: Socket;
	readonly request: IncomingMessage;
	readonly connection: Connection;
	heard: number;
};
type Socket = Duplex & { bytesRead?: number };

export class WebSocketTransport {
	readonly #options: WebSocketOptions;
	readonly #live = new Set<Live>();
	readonly #server: WebSocketServer;
	readonly #pings: NodeJS.Timeout;

	constructor(options: WebSocketOptions) {
		this.#options = options;
		this.#server = new WebSocketServer({
			noServer: true,
			clientTracking: false,
			// Compression needs a window per connection and prevents shared frames.
			perMessageDeflate: false,
			maxPayload: options.limits.maxFrameBytes,
			autoPong: false,
			handleProtocols: (offered) => (offered.has(SUBPROTOCOL) ? SUBPROTOCOL : false),
		});
		this.#pings = setInterval(() => this.#ping(), options.pingMs ?? 30_000).unref();
	}

	async upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
		const { access } = this.#options;
		// The socket has no other error listener until it is a WebSocket.
		socket.on("error", () => socket.destroy());
		const admitted = access.admits(request.headers);
		if (!admitted.ok) return refuse(socket, "403 Forbidden", admitted.why);
		const turnAway = (code: number, status: string, why: string) => {
			if (!seesCloseCodes(request)) return refuse(socket, status, why);
			this.#server.handleUpgrade(request, socket, head, (ws) => {
				ws.on("error", () => ws.terminate());
				closeGently(ws, code, why);
			});
		};
		const principal = access.principalOf(request.headers);
		if (principal === undefined) {
			return turnAway(CLOSE.refused, UNAUTHORIZED, "a valid token is needed");
		}
		const connections = await this.#options.connections.catch(() => undefined);
		if (!connections) return refuse(socket, UNAVAILABLE, "the server could not start");
		if (socket.destroyed) return;
		const why = connections.refusal(principal);
		if (why !== undefined) return turnAway(CLOSE.overload, UNAVAILABLE, why);
		this.#server.handleUpgrade(request, socket, head, (ws) =>
			this.#accept(ws, socket, request, connections.open(principal, remoteOf(ws, socket))),
		);
	}

	/** Closes connections whose token no longer counts. */
	recheck(): void {
		const { access } = this.#options;
		for (const { ws, request, connection } of this.#live) {
			if (access.principalOf(request.headers) === connection.principal) continue;
			closeGently(ws, CLOSE.refused, "the token was revoked");
		}
	}

	/** Terminates the connections that are still open after `Connections.close`. */
	close(): void {
		clearInterval(this.#pings);
		for (const { ws } of this.#live) ws.terminate();
	}

	#accept(ws: WebSocket, socket: Socket, request: IncomingMessage, connection: Connection): void {
		const entry: Live = { ws, socket, request, connection, heard: -1 };
		this.#live.add(entry);
		let unfinished = 0;
		ws.on("message", (data: Buffer, isBinary) => {
			unfinished = 0;
			connection.holdUnfinished(0);
			connection.receive(isBinary ? data : data.toString("utf8"));
		});
		// Runs before the listener of `ws`, where a frame that ends in this chunk resets the count. The rest
		// of the chunk, which is small, is then not counted.
		socket.prependListener("data", (chunk: Buffer) => {
			unfinished += chunk.length;
			connection.holdUnfinished(unfinished);
		});
		// Control frames may arrive within a message. They are not kept, so they do not count.
		const subtractControl = (data: Buffer) => {
			unfinished = Math.max(0, unfinished - data.length - CONTROL_BYTES);
		};
		ws.on("pong", subtractControl);
		ws.on("ping", (data) => {
			subtractControl(data);
			if (socket.writableLength < PONG_BYTES) ws.pong(data);
		});
		// `ws` itself sends a close code with the cause.
		ws.on("error", () => setTimeout(() => ws.terminate(), CLOSE_MS).unref());
		ws.on("close", () => {
			this.#live.delete(entry);
			connection.end();
		});
	}

	#ping(): void {
		for (const entry of this.#live) {
			// A ping would queue behind pending output. For clients with such output, the outbox detects stalls.
			const isIdle = entry.connection.outbox.pending === 0;
			entry.heard = isIdle ? (entry.socket.bytesRead ?? 0) : -1;
			if (isIdle) entry.ws.ping();
		}
		setTimeout(() => this.#terminateSilent(), this.#options.pongMs ?? 10_000).unref();
	}

	#terminateSilent(): void {
		for (const { ws, socket, connection, heard } of this.#live) {
			if (connection.outbox.pending === 0 && socket.bytesRead === heard) ws.terminate();
		}
	}
}

const UNAUTHORIZED = "401 Unauthorized";
const UNAVAILABLE = "503 Service Unavailable";

/** True for browsers and our client: they hide the status of a refused upgrade, but show a close code. */
function seesCloseCodes({ headers }: IncomingMessage): boolean {
	if (headers.origin !== undefined) return true;
	// Our client library offers this subprotocol.
	const offered = headers["sec-websocket-protocol"] ?? "";
	return offered.split(",").some((name) => name.trim() === SUBPROTOCOL);
}

// Bypassing `ws` to write to its socket is safe: without compression, `ws` writes a frame in one call,
// and it sends only control frames, which may come between any two of our frames.
function remoteOf(ws: WebSocket, socket: Duplex): Remote {
	return {
		encode: textFrame,
		write(parts, done) {
			// No data may follow a close frame.
			if (ws.readyState === ws.OPEN) writeParts(socket, parts, done);
		},
		pause(isPaused) {
			if (isPaused) ws.pause();
			else ws.resume();
		},
		close: (cause, why) => closeGently(ws, CLOSE[cause], why),
		terminate(why) {
			ws.close(CLOSE.overload, why);
			ws.terminate();
		},
	};
}

function closeGently(ws: WebSocket, code: number, why: string): void {
	// While paused, `ws` would not read the answer to its close frame.
	if (ws.isPaused) ws.resume();
	ws.close(code, why);
	setTimeout(() => ws.terminate(), CLOSE_MS).unref();
}

function refuse(socket: Duplex, status: string, why: string): void {
	const body = `${why}\n`;
	const head = [
		`HTTP/1.1 ${status}`,
		"Connection: close",
		"Content-Type: text/plain; charset=utf-8",
		`Content-Length: ${Buffer.byteLength(body)}`,
		...(status === UNAUTHORIZED ? ["WWW-Authenticate: Bearer"] : []),
	];
	socket.end(`${head.join("\r\n")}\r\n\r\n${body}`);
	socket.once("finish", () => socket.destroy());
}

const END = Buffer.from("}");

/** An unmasked text frame (RFC 6455 §5.2). Cached, because `ws` would encode it for each client. */
export function textFrame(message: Message): Encoded {
	const { shared } = message;
	if (shared !== undefined) {
		const { bytes } = shared.written;
		return [frame(shared.head, bytes.length + END.length), bytes, END];
	}
	message.framed ??= [frame(message.json())];
	return message.framed;
}

/** `follow`: number of payload bytes that come after `text`. */
function frame(text: string, follow = 0): Uint8Array {
	const own = Buffer.byteLength(text);
	const length = own + follow;
	const header = length < 126 ? 2 : length < 65_536 ? 4 : 10;
	const bytes = Buffer.allocUnsafe(header + own);
	bytes[0] = 0x81; // FIN, text opcode
	if (header === 2) {
		bytes[1] = length;
	} else if (header === 4) {
		bytes[1] = 126;
		bytes.writeUInt16BE(length, 2);
	} else {
		bytes[1] = 127;
		bytes.writeBigUInt64BE(BigInt(length), 2);
	}
	// Equal counts of bytes and characters mean ASCII, which latin1 copies faster.
	bytes.write(text, header, length === text.length ? "latin1" : "utf8");
	return bytes;
}
