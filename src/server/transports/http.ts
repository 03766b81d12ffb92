import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo, Server as NetServer } from "node:net";
import type { Duplex } from "node:stream";
import { describeError, errnoOf } from "../../core/errno.ts";
import type { Access } from "../../core/http-access.ts";
import type { Page } from "./page.ts";
import { answerUpload, type ReplayUpload } from "./replay-upload.ts";

export interface HttpOptions {
	readonly port: number;
	readonly host: string;
	readonly tls?: { cert: string; key: string };
	readonly access: Access;
	readiness(): { ok: true } | { ok: false; why: string };
	/** `undefined` while the server starts. */
	metrics(): string | undefined;
	/** `undefined` while the server starts. */
	replays(): { readonly ofUpload: ReplayUpload } | undefined;
	readonly page: Page;
	upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
	readonly maxConnections: number;
	/** Timeout for each of these: TLS handshake, headers, a body that is not used. Default: 10 s. */
	readonly headersMs?: number;
	/** Timeout for sending and replaying a session file. Default: 5 min. */
	readonly uploadMs?: number;
}

/** Room for requests that are not WebSockets, beyond `maxConnections`. */
const SPARE_CONNECTIONS = 100;

/** Throws a one-line error if it cannot listen. */
export async function listenHttp(options: HttpOptions) {
	const { port, host, tls, headersMs = 10_000, uploadMs = 300_000 } = options;
	const settings = {
		headersTimeout: headersMs,
		requestTimeout: Math.max(headersMs, uploadMs),
		connectionsCheckingInterval: Math.min(1_000, headersMs),
		keepAliveTimeout: 5_000,
		maxHeaderSize: 16 * 1024,
	};
	const handle = (request: IncomingMessage, response: ServerResponse) =>
		void answer(request, response, { ...options, headersMs, uploadMs }).catch(() =>
			response.destroy(),
		);
	const server: Server = tls
		? createTlsServer({ ...settings, ...tls, handshakeTimeout: headersMs }, handle)
		: createServer(settings, handle);
	server.maxConnections = options.maxConnections + SPARE_CONNECTIONS;
	server.on("upgrade", options.upgrade);
	await listen(server, port, host);
	const { port: given } = server.address() as AddressInfo;
	return { port: given, ...stoppable(server, () => server.closeAllConnections()) };
}

export function stoppable(server: NetServer, endAll: () => void) {
	return {
		/** Over HTTP, also ends idle keep-alive connections. */
		stopListening: () => void server.close(),
		async close(): Promise<void> {
			// `server.close` calls back with an error if the server is already closed.
			const closed = new Promise<unknown>((resolve) => server.close(resolve));
			endAll();
			await closed;
		},
	};
}

function createTlsServer(...[settings, handle]: Parameters<typeof createSecureServer>): Server {
	try {
		return createSecureServer(settings, handle);
	} catch (error) {
		throw new Error(
			`--tls-cert and --tls-key need a certificate and its key in PEM format (${describeError(error)})`,
			{ cause: error },
		);
	}
}

async function answer(
	request: IncomingMessage,
	response: ServerResponse,
	options: HttpOptions & { headersMs: number; uploadMs: number },
): Promise<void> {
	const { access, readiness, metrics, page } = options;
	const send = (status: number, text: string, headers: Record<string, string> = {}) => {
		response.writeHead(status, {
			"Cache-Control": "no-store",
			"X-Content-Type-Options": "nosniff",
			"Content-Length": Buffer.byteLength(text),
			"Content-Type": "text/plain; charset=utf-8",
			...headers,
		});
		response.end(request.method === "HEAD" ? undefined : text);
	};
	const stopLimit = limitBody(request, options.headersMs);
	const admitted = access.admits(request.headers);
	if (!admitted.ok) return send(403, `${admitted.why}\n`);
	const [path] = (request.url ?? "/").split(/[?#]/, 1);
	const isUpload = path === "/replay";
	if (isUpload && request.method !== "POST") {
		return send(405, "only POST is allowed\n", { Allow: "POST" });
	}
	if (!isUpload && request.method !== "GET" && request.method !== "HEAD") {
		return send(405, "only GET and HEAD are allowed\n", { Allow: "GET, HEAD" });
	}
	const principal = access.principalOf(request.headers);
	const unauthorized = () =>
		send(401, "a valid token is needed\n", { "WWW-Authenticate": "Bearer" });
	switch (path) {
		case "/healthz":
			return send(200, "ok\n");
		case "/readyz": {
			const state = readiness();
			return state.ok ? send(200, "ready\n") : send(503, `${state.why}\n`);
		}
		case "/metrics": {
			if (principal === undefined) return unauthorized();
			const text = metrics();
			if (text === undefined) return send(503, "the server is starting\n");
			return send(200, text, { "Content-Type": "text/plain; version=0.0.4; charset=utf-8" });
		}
		case "/replay": {
			if (principal === undefined) return unauthorized();
			const replays = options.replays();
			if (!replays) return send(503, "the server is starting\n");
			stopLimit();
			const upload = { principal, replays, maxMs: options.uploadMs };
			const { status, text } = await answerUpload(request, response, upload);
			return send(status, text, { "Content-Type": "application/json; charset=utf-8" });
		}
	}
	if (!(await page(request, response))) send(404, "not found\n");
}

/** Ends a connection whose body takes too long. Returns a function that lifts the limit. */
function limitBody(request: IncomingMessage, ms: number): () => void {
	const timer = setTimeout(() => request.complete || request.destroy(), ms).unref();
	const stop = () => clearTimeout(timer);
	request.once("close", stop);
	return stop;
}

function listen(server: Server, port: number, host: string): Promise<void> {
	return new Promise((resolve, reject) => {
		server.once("error", (error) => reject(new Error(reason(error, port, host), { cause: error })));
		server.listen({ port, host }, resolve);
	});
}

function reason(error: Error, port: number, host: string): string {
	switch (errnoOf(error)) {
		case "EADDRINUSE":
			return `port ${port} on ${host} is in use; stop the program that uses it, or choose another port with --port`;
		case "EACCES":
			return `this user has no permission to open port ${port}; choose a port above 1023 with --port`;
		case "EADDRNOTAVAIL":
		case "ENOTFOUND":
			return `${host} is not an address of this machine; choose another with --host`;
		default:
			return `cannot listen on ${host}:${port}: ${error.message}`;
	}
}
