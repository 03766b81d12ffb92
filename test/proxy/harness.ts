import { createHash } from "node:crypto";
import { once } from "node:events";
import {
	createServer,
	request as httpRequest,
	type IncomingMessage,
	type RequestOptions,
	type Server,
	type ServerResponse,
} from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { type ProxyOptions, startProxy, upstreamsFrom } from "../../src/proxy/index.ts";
import type { Exchange } from "../../src/wire/exchange.ts";
import { atEnd } from "../support/temp.ts";

/** An HTTP server on a free port of loopback. It ends with the test. */
export async function startUpstream(
	handle: (request: IncomingMessage, response: ServerResponse) => unknown,
): Promise<{ server: Server; url: string }> {
	const server = createServer((request, response) => void handle(request, response));
	server.listen(0, "127.0.0.1");
	await once(server, "listening");
	atEnd(() => {
		server.close();
		server.closeAllConnections();
	});
	return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

/** A proxy whose upstream `test` is at `url`, with the exchanges that it hands over. */
export async function startTestProxy(url: string, options: Partial<ProxyOptions> = {}) {
	const exchanges: Exchange[] = [];
	const proxy = await startProxy({
		port: 0,
		upstreams: upstreamsFrom({ test: url }),
		onExchange: (exchange) => exchanges.push(exchange),
		...options,
		limits: { drainMs: 0, ...options.limits },
	});
	atEnd(() => proxy.close());
	return { proxy, port: proxy.port, exchanges };
}

export interface Answer {
	readonly status: number;
	readonly message: string;
	readonly rawHeaders: readonly string[];
	readonly headers: IncomingMessage["headers"];
	readonly body: Buffer;
	readonly trailers: NodeJS.Dict<string>;
	/** Whether the connection was cut before the end of the answer. */
	readonly isCut: boolean;
}

export interface Question extends RequestOptions {
	readonly body?: Uint8Array | string;
	/** Sent in pieces of this size, without a length. */
	readonly chunkBytes?: number;
}

/** Sends a request, and returns the whole answer, or what there is of it. */
export async function ask(
	port: number,
	path: string,
	{ body, chunkBytes, ...options }: Question = {},
): Promise<Answer> {
	const request = httpRequest({ host: "127.0.0.1", port, path, agent: false, ...options });
	const answered = once(request, "response") as Promise<[IncomingMessage]>;
	if (body !== undefined && chunkBytes !== undefined) {
		const bytes = Buffer.from(body);
		for (let at = 0; at < bytes.length; at += chunkBytes) {
			request.write(bytes.subarray(at, at + chunkBytes));
		}
		request.end();
	} else request.end(body);
	const [response] = await answered;
	return readAnswer(response);
}

export async function readAnswer(response: IncomingMessage): Promise<Answer> {
	const chunks: Buffer[] = [];
	let isCut = false;
	try {
		for await (const chunk of response) chunks.push(chunk);
	} catch {
		isCut = true;
	}
	return {
		status: response.statusCode ?? 0,
		message: response.statusMessage ?? "",
		rawHeaders: response.rawHeaders,
		headers: response.headers,
		body: Buffer.concat(chunks),
		trailers: response.trailers,
		isCut,
	};
}

export async function bodyOf(request: IncomingMessage): Promise<Buffer> {
	const chunks: Buffer[] = [];
	for await (const chunk of request) chunks.push(chunk);
	return Buffer.concat(chunks);
}

/** A connection for requests that no client library would send. */
export async function rawConnection(port: number): Promise<Socket> {
	const socket = connect(port, "127.0.0.1");
	atEnd(() => socket.destroy());
	await once(socket, "connect");
	return socket;
}

/** Sends bytes and returns everything that comes until the connection ends. */
export async function askRaw(port: number, text: string): Promise<string> {
	const socket = await rawConnection(port);
	socket.write(text, "latin1");
	let answer = "";
	socket.on("error", () => {});
	socket.on("data", (chunk) => {
		answer += chunk.toString("latin1");
	});
	await once(socket, "close");
	return answer;
}

export function sha256(bytes: Uint8Array | undefined): string {
	return createHash("sha256")
		.update(bytes ?? "none")
		.digest("hex");
}
