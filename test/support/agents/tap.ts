import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { connect, createServer, type Server, type Socket } from "node:net";
import { sha256 } from "../stand-in/stand-in.ts";

/** A request and its answer as they passed a tap. */
export interface TappedExchange {
	readonly method: string;
	readonly path: string;
	readonly headers: readonly (readonly [name: string, value: string])[];
	readonly sha256: string;
	readonly status: number;
	readonly answerSha256: string;
}

interface Connection {
	readonly up: Buffer[];
	readonly down: Buffer[];
}

/**
 * Records the bytes between an agent and what it talks to. They pass as they are, but for the port in `Host`: a server
 * that checks it would refuse the tap's.
 */
export class Tap {
	readonly #server: Server;
	readonly #connections: Connection[] = [];
	readonly #sockets = new Set<Socket>();

	private constructor(port: number) {
		this.#server = createServer({ allowHalfOpen: true }, (client) => this.#pass(client, port));
	}

	/** `base` is the URL that the agent would get without the tap. */
	static async start(base: string): Promise<{ tap: Tap; base: string }> {
		const url = new URL(base);
		const tap = new Tap(Number(url.port));
		tap.#server.listen(0, "127.0.0.1");
		await once(tap.#server, "listening");
		url.port = String((tap.#server.address() as AddressInfo).port);
		return { tap, base: url.href.replace(/\/$/, "") };
	}

	/** Without what follows an upgrade: frames are compressed for one hop only. */
	get exchanges(): TappedExchange[] {
		return this.#connections.flatMap(exchangesOf);
	}

	close(): void {
		this.#server.close();
		for (const socket of this.#sockets) socket.destroy();
	}

	#pass(client: Socket, port: number): void {
		const connection: Connection = { up: [], down: [] };
		this.#connections.push(connection);
		const server = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
		client.on("data", (chunk) => {
			connection.up.push(chunk);
			server.write(withPort(chunk, port));
		});
		server.on("data", (chunk) => {
			connection.down.push(chunk);
			client.write(chunk);
		});
		for (const [from, to] of [
			[client, server],
			[server, client],
		] as const) {
			this.#sockets.add(from);
			from.on("end", () => to.end());
			from.on("error", () => to.destroy());
			from.on("close", () => to.destroySoon());
		}
	}
}

function withPort(chunk: Buffer, port: number): Buffer {
	const head = /^[A-Z]+ \S+ HTTP\/1\.1\r\n/;
	const text = chunk.toString("latin1");
	if (!head.test(text)) return chunk;
	const changed = text.replace(/(\r\nhost: 127\.0\.0\.1:)\d+/i, (_, name) => `${name}${port}`);
	return Buffer.from(changed, "latin1");
}

function exchangesOf({ up, down }: Connection): TappedExchange[] {
	const requests = messagesIn(Buffer.concat(up), []);
	const methods = requests.map(({ start }) => start.split(" ")[0] ?? "");
	const answers = messagesIn(Buffer.concat(down), methods);
	return answers.flatMap(({ start, body }, at) => {
		const request = requests[at];
		const status = Number(start.split(" ")[1]);
		if (!request || status === 101) return [];
		const [method = "", path = ""] = request.start.split(" ");
		const hashes = { sha256: sha256(request.body), answerSha256: sha256(body) };
		return [{ method, path, headers: request.headers, status, ...hashes }];
	});
}

interface Message {
	readonly start: string;
	readonly headers: readonly (readonly [name: string, value: string])[];
	readonly body: Buffer;
}

/** The HTTP messages of one direction. `methods` are those of the requests that answers belong to. */
function messagesIn(bytes: Buffer, methods: readonly string[]): Message[] {
	const messages: Message[] = [];
	let rest = bytes;
	for (let end = rest.indexOf("\r\n\r\n"); end >= 0; end = rest.indexOf("\r\n\r\n")) {
		const [start = "", ...lines] = rest.toString("latin1", 0, end).split("\r\n");
		if (!start.includes("HTTP/1.1")) break; // frames of a WebSocket
		const headers = lines.map((line) => {
			const colon = line.indexOf(":");
			return [line.slice(0, colon), line.slice(colon + 1).trim()] as const;
		});
		const isHead = methods[messages.length] === "HEAD";
		const { body, length } = bodyIn(rest.subarray(end + 4), start, isHead ? [] : headers);
		messages.push({ start, headers, body });
		rest = rest.subarray(end + 4 + length);
	}
	return messages;
}

/** `length` is that on the wire. A body that was cut is as long as it came. */
function bodyIn(
	rest: Buffer,
	start: string,
	headers: Message["headers"],
): { body: Buffer; length: number } {
	const header = (name: string) => headers.find(([one]) => one.toLowerCase() === name)?.[1];
	if (header("transfer-encoding") === "chunked") return chunkedIn(rest);
	const length = header("content-length");
	if (length !== undefined)
		return { body: rest.subarray(0, Number(length)), length: Number(length) };
	// Ends with the connection; requests and refusals without a length have no body.
	const isOpen = start.startsWith("HTTP/1.1 200") && headers.length > 0;
	return isOpen ? { body: rest, length: rest.length } : { body: Buffer.alloc(0), length: 0 };
}

function chunkedIn(rest: Buffer): { body: Buffer; length: number } {
	const chunks: Buffer[] = [];
	let at = 0;
	for (;;) {
		const end = rest.indexOf("\r\n", at);
		const size = end < 0 ? 0 : Number.parseInt(rest.toString("latin1", at, end), 16);
		if (end < 0 || size === 0) {
			const close = rest.indexOf("\r\n\r\n", at);
			return { body: Buffer.concat(chunks), length: close < 0 ? rest.length : close + 4 };
		}
		chunks.push(rest.subarray(end + 2, end + 2 + size));
		at = end + 2 + size + 2;
	}
}
