import { randomUUID } from "node:crypto";
import { once } from "node:events";
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { createMcpServer, type McpOptions } from "./mcp-server.ts";
import type { McpTransport } from "./peer.ts";

export interface HttpOptions extends McpOptions {
	/** 0: any free port of 127.0.0.1. */
	readonly port: number;
	/** Why a request is refused before anything is read; `undefined` if it is not. */
	refuse(headers: IncomingHttpHeaders): Refusal | undefined;
	readonly limits?: Partial<HttpLimits>;
}

interface Refusal {
	readonly status: number;
	readonly why: string;
}

interface HttpLimits {
	readonly maxBodyBytes: number;
	readonly maxSessions: number;
	/** A session unused for this long is closed when another needs its place. */
	readonly idleMs: number;
}

const DEFAULT_LIMITS: HttpLimits = {
	maxBodyBytes: 1024 * 1024,
	maxSessions: 64,
	idleMs: 10 * 60_000,
};

const PATH = "/mcp";
const MAX_HEADER_BYTES = 32 * 1024;

interface Session {
	readonly transport: StreamableHTTPServerTransport;
	close(): Promise<void>;
	usedMs: number;
}

/** Serves any number of clients over streamable HTTP, each in a session of its own. */
export async function serveHttp(options: HttpOptions) {
	const sessions = new Sessions(options);
	// A client at standard input and output does without this module, which takes as long to load as all of ours.
	const { createServer } = await import("node:http");
	const server = createServer({ maxHeaderSize: MAX_HEADER_BYTES }, (req, res) => {
		sessions.handle(req, res).catch(() => res.destroy());
	});
	server.listen(options.port, "127.0.0.1");
	await once(server, "listening");
	const { port } = server.address() as AddressInfo;
	return {
		url: `http://127.0.0.1:${port}${PATH}`,
		async close() {
			const closed = once(server, "close");
			server.close();
			await sessions.close();
			server.closeAllConnections();
			await closed;
		},
	};
}

class Sessions {
	readonly #options: HttpOptions;
	readonly #limits: HttpLimits;
	/** The latest used last. */
	readonly #byId = new Map<string, Session>();

	constructor(options: HttpOptions) {
		this.#options = options;
		this.#limits = { ...DEFAULT_LIMITS, ...options.limits };
	}

	async handle(req: IncomingMessage, res: ServerResponse): Promise<void> {
		const refusal = this.#options.refuse(req.headers);
		if (refusal) return refuse(res, refusal.status, refusal.why);
		if (pathOf(req.url) !== PATH) return refuse(res, 404, `the tools are at ${PATH}`);
		let body: unknown;
		if (req.method === "POST") {
			const text = await readText(req, this.#limits.maxBodyBytes);
			if (text === undefined) return refuse(res, 413, "the request is too large");
			try {
				body = JSON.parse(text);
			} catch {
				return refuse(res, 400, "the request is not JSON");
			}
		}
		const id = req.headers["mcp-session-id"];
		const session = id === undefined ? await this.#begin() : this.#known(String(id));
		if (session === "full") return refuse(res, 503, "too many sessions: try again later");
		if (!session) return refuse(res, 404, "there is no such session: initialize a new one");
		await session.transport.handleRequest(req, res, body);
		// What began with anything but an initialization has no id, so nothing can continue it.
		if (session.transport.sessionId === undefined) await session.close();
	}

	async close(): Promise<void> {
		await Promise.all(Array.from(this.#byId.values(), (session) => session.close()));
	}

	#known(id: string): Session | undefined {
		const session = this.#byId.get(id);
		if (!session) return undefined;
		session.usedMs = Date.now();
		this.#byId.delete(id);
		this.#byId.set(id, session);
		return session;
	}

	async #begin(): Promise<Session | "full"> {
		const { maxSessions, idleMs } = this.#limits;
		const [oldest] = this.#byId.values();
		if (oldest && this.#byId.size >= maxSessions) {
			if (Date.now() - oldest.usedMs < idleMs) return "full";
			await oldest.close();
		}
		// A client at standard input and output does without this code.
		const sdk = await import("@modelcontextprotocol/sdk/server/streamableHttp.js");
		const server = createMcpServer(this.#options);
		const transport = new sdk.StreamableHTTPServerTransport({
			sessionIdGenerator: randomUUID,
			onsessioninitialized: (id) => {
				this.#byId.set(id, session);
			},
			onsessionclosed: (id) => {
				this.#byId.delete(id);
			},
		});
		const session: Session = {
			transport,
			usedMs: Date.now(),
			close: async () => {
				if (transport.sessionId !== undefined) this.#byId.delete(transport.sessionId);
				await server.close();
			},
		};
		await server.connect(transport as McpTransport);
		return session;
	}
}

/** Some paths, such as `//`, are no part of an address. */
function pathOf(url = ""): string | undefined {
	return URL.parse(url, "http://localhost")?.pathname;
}

async function readText(req: IncomingMessage, maxBytes: number): Promise<string | undefined> {
	const chunks: Buffer[] = [];
	let bytes = 0;
	for await (const chunk of req as AsyncIterable<Buffer>) {
		bytes += chunk.length;
		if (bytes > maxBytes) return undefined;
		chunks.push(chunk);
	}
	return Buffer.concat(chunks).toString();
}

function refuse(res: ServerResponse, status: number, message: string): void {
	const error = { jsonrpc: "2.0", id: null, error: { code: -32_000, message } };
	// The rest of a body is not read.
	res.writeHead(status, { "content-type": "application/json", connection: "close" });
	res.end(JSON.stringify(error));
}
