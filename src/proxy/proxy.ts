import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import type { Dispatcher } from "undici";
// The entry point of undici would load 13 MB more.
import Agent from "undici/lib/dispatcher/agent.js";
import EnvHttpProxyAgent from "undici/lib/dispatcher/env-http-proxy-agent.js";
import { errnoOf } from "../core/errno.ts";
import { inTime } from "../core/in-time.ts";
import type { Exchange, RewritableRequest, Rewriting } from "../wire/exchange.ts";
import { CopyBudget } from "./body-copy.ts";
import { Forward } from "./forward.ts";
import { pairs } from "./headers.ts";
import { answerOwn, type OwnAnswer } from "./own-answer.ts";
import { namedIn, type Refusal, sendRawRefusal, sendRefusal } from "./refusal.ts";
import { type Route, routeOf } from "./route.ts";
import type { Upstreams } from "./upstreams.ts";
import { WebSocketJoin } from "./websocket.ts";

export interface ProxyOptions {
	/** 0: any free port. */
	readonly port: number;
	/** If set, it must be the first segment of every path. */
	readonly secret?: string;
	readonly upstreams: Upstreams;
	/** Called once for each request that was forwarded, after its end. */
	onExchange(exchange: Exchange): void;
	/**
	 * Called with each POST whose body has a known length within the limits, before it is forwarded.
	 * Without it, bodies are forwarded as they come.
	 */
	rewrite?(request: RewritableRequest): Rewriting;
	/** What the proxy answers itself, by path: a POST with JSON. */
	readonly own?: ReadonlyMap<string, OwnAnswer>;
	/** `refuse` answers 426: agents then use plain HTTP. Default: `join`. */
	readonly websocket?: "join" | "refuse";
	/** Where HTTP_PROXY, HTTPS_PROXY and NO_PROXY are looked up. Default: nowhere. */
	readonly env?: NodeJS.ProcessEnv;
	readonly limits?: Partial<ProxyLimits>;
}

interface ProxyLimits {
	/** Larger bodies pass, but exchanges do not hold them. */
	readonly maxBodyBytes: number;
	/** For the copies of all requests in flight. */
	readonly maxCopyBytes: number;
	readonly maxConnections: number;
	/** A model may be silent for minutes. */
	readonly idleMs: number;
	/** How long `close` waits for requests in flight. */
	readonly drainMs: number;
}

const MIB = 1024 * 1024;
const MINUTE_MS = 60_000;

const DEFAULT_LIMITS: ProxyLimits = {
	maxBodyBytes: 64 * MIB,
	maxCopyBytes: 256 * MIB,
	maxConnections: 512,
	idleMs: 10 * MINUTE_MS,
	drainMs: 10_000,
};

const MAX_HEADER_BYTES = 64 * 1024;
const CONNECT_MS = 30_000;
/** A request on a connection that the provider is closing fails, so idle ones are closed early. */
const KEEP_ALIVE_MS = MINUTE_MS;

/** A request or a WebSocket that has not ended. */
interface InFlight {
	readonly bytesSent: number;
	readonly bytesReceived: number;
	abort(): void;
	/** Ends as soon as possible without a loss. Without it, the end comes by itself. */
	drain?(): void;
}

/** Listens on loopback only. Throws a one-line error if it cannot. */
export async function startProxy(options: ProxyOptions): Promise<LocalProxy> {
	const proxy = new LocalProxy(options);
	await proxy.listen();
	return proxy;
}

export class LocalProxy {
	readonly #options: ProxyOptions;
	readonly #limits: ProxyLimits;
	readonly #dispatcher: Dispatcher;
	readonly #budget: CopyBudget;
	readonly #servers: Server[] = [];
	readonly #inFlight = new Map<InFlight, Promise<void>>();
	#port = 0;
	#requests = 0;
	#bytesSent = 0;
	#bytesReceived = 0;

	constructor(options: ProxyOptions) {
		this.#options = options;
		this.#limits = { ...DEFAULT_LIMITS, ...options.limits };
		this.#budget = new CopyBudget(this.#limits.maxCopyBytes);
		this.#dispatcher = dispatcherFor(this.#limits, outboundProxies(options.env));
	}

	get port(): number {
		return this.#port;
	}

	/** Bytes of bodies, to the providers and from them. */
	get counters() {
		return {
			requests: this.#requests,
			bytesSent: this.#bytesSent,
			bytesReceived: this.#bytesReceived,
		};
	}

	/** The base URL of an upstream, without a slash at its end. */
	baseUrl(upstream: string): string {
		const { secret } = this.#options;
		const path = secret === undefined ? upstream : `${secret}/${upstream}`;
		return `http://127.0.0.1:${this.#port}/${path}`;
	}

	async listen(): Promise<void> {
		this.#port = await this.#listenOn("127.0.0.1", this.#options.port);
		// A machine may have no IPv6, or another program on that port.
		await this.#listenOn("::1", this.#port).catch(() => {});
	}

	/** Stops listening, waits for requests in flight for a bounded time, then ends them. */
	async close(): Promise<void> {
		const closed = this.#servers.map(
			(server) => new Promise<unknown>((resolve) => server.close(resolve)),
		);
		for (const one of this.#inFlight.keys()) one.drain?.();
		const ended = () => Promise.all(this.#inFlight.values());
		await inTime(ended(), this.#limits.drainMs);
		for (const one of this.#inFlight.keys()) one.abort();
		await ended();
		for (const server of this.#servers) server.closeAllConnections();
		await Promise.all(closed);
		await this.#dispatcher.destroy();
	}

	#listenOn(host: string, port: number): Promise<number> {
		const { idleMs, maxConnections } = this.#limits;
		const server = createServer({
			maxHeaderSize: MAX_HEADER_BYTES,
			headersTimeout: Math.min(MINUTE_MS, idleMs),
			requestTimeout: 0, // a large body over a slow line takes its time; a silence ends it
			// How often the limit for heads is looked at.
			connectionsCheckingInterval: Math.min(MINUTE_MS / 2, idleMs),
			keepAliveTimeout: KEEP_ALIVE_MS,
		});
		server.maxHeadersCount = 0; // the rest would be dropped; their bytes are limited
		// Later than the limit towards the provider, whose end can be explained to the client.
		server.setTimeout(idleMs + MINUTE_MS);
		server.maxConnections = maxConnections;
		server.on("request", (request, response) => this.#forward(request, response));
		server.on("upgrade", (request, socket, head) => {
			if (request.headers.upgrade?.toLowerCase() === "websocket") {
				this.#upgrade(request, socket, head);
				return;
			}
			// A client that offers another protocol, such as h2c, accepts an answer without it.
			socket.unshift(Buffer.concat([headWithoutUpgrade(request), head]));
			server.emit("connection", socket);
		});
		return new Promise((resolve, reject) => {
			server.once("error", (error) => {
				const why = errnoOf(error) === "EADDRINUSE" ? "is in use" : `fails: ${error.message}`;
				reject(new Error(`port ${port} on ${host} ${why}; choose another`, { cause: error }));
			});
			server.listen({ port, host }, () => {
				this.#servers.push(server);
				resolve((server.address() as AddressInfo).port);
			});
		});
	}

	#route(request: IncomingMessage): Route | Refusal {
		const { secret, upstreams } = this.#options;
		return routeOf(request, { port: this.#port, secret, upstreams });
	}

	#forward(request: IncomingMessage, response: ServerResponse): void {
		const route = this.#route(request);
		if ("status" in route) {
			// Host, origin and secret are right; the path names no provider.
			const own = route.reason === "upstream" ? this.#ownAnswer(request) : undefined;
			if (own) void answerOwn(request, response, own);
			else sendRefusal(response, route, namedIn(request.url));
			return;
		}
		const forward = new Forward({
			...{ request, response, route, ...this.#copying },
			rewrite: this.#options.rewrite?.bind(this.#options),
		});
		this.#track(forward, async () => {
			try {
				this.#handOver(await forward.run(this.#dispatcher));
			} finally {
				forward.release();
			}
		});
	}

	#ownAnswer({ method, url = "" }: IncomingMessage): OwnAnswer | undefined {
		const { own, secret } = this.#options;
		const path = secret === undefined ? url : url.slice(secret.length + 1);
		return method === "POST" ? own?.get(path) : undefined;
	}

	get #copying() {
		return { budget: this.#budget, maxBodyBytes: this.#limits.maxBodyBytes };
	}

	#upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
		// Until it is a WebSocket, the socket has no other listener for errors.
		socket.on("error", () => socket.destroy());
		const route = this.#route(request);
		if ("status" in route) {
			sendRawRefusal(socket, route, namedIn(request.url));
			return;
		}
		// An outbound proxy is for HTTP only.
		const isRefused = this.#options.websocket === "refuse" || outboundProxies(this.#options.env);
		if (isRefused) {
			const message = "WebSockets are refused; use plain HTTP";
			sendRawRefusal(socket, { status: 426, reason: "websocket", message }, route.upstream.name);
			return;
		}
		const onExchange = (exchange: Exchange) => this.#handOver(exchange);
		try {
			const join = new WebSocketJoin({
				request,
				socket,
				head,
				route,
				...this.#copying,
				onExchange,
			});
			this.#track(join, () => join.run());
		} catch {
			socket.destroy(); // malformed subprotocols
		}
	}

	#track(one: InFlight, run: () => Promise<void>): void {
		const ended = run()
			.catch(() => one.abort()) // an error of ours must not end the process
			.finally(() => {
				this.#inFlight.delete(one);
				this.#bytesSent += one.bytesSent;
				this.#bytesReceived += one.bytesReceived;
			});
		this.#inFlight.set(one, ended);
	}

	#handOver(exchange: Exchange): void {
		this.#requests++;
		try {
			this.#options.onExchange(exchange);
		} catch {
			// Looking at an exchange never affects forwarding.
		}
	}
}

/** The head of a request as it came, without the offer of another protocol. */
function headWithoutUpgrade({ method, url, httpVersion, rawHeaders }: IncomingMessage): Buffer {
	const lines = [...pairs(rawHeaders)]
		.filter(([name]) => name.toLowerCase() !== "upgrade")
		.map(([name, value]) => `${name}: ${value}\r\n`);
	return Buffer.from(`${method} ${url} HTTP/${httpVersion}\r\n${lines.join("")}\r\n`, "latin1");
}

interface OutboundProxies {
	readonly httpProxy?: string;
	readonly httpsProxy?: string;
	readonly noProxy: string;
}

/** The proxies of the user's network, by the usual variables; `undefined` without any. */
function outboundProxies(env: NodeJS.ProcessEnv = {}): OutboundProxies | undefined {
	const httpProxy = env.http_proxy || env.HTTP_PROXY;
	const httpsProxy = env.https_proxy || env.HTTPS_PROXY;
	const noProxy = env.no_proxy || env.NO_PROXY;
	if (!httpProxy && !httpsProxy) return undefined;
	return {
		...(httpProxy && { httpProxy }),
		...(httpsProxy && { httpsProxy }),
		noProxy: [noProxy, "localhost", "127.0.0.1", "[::1]"].filter(Boolean).join(","),
	};
}

function dispatcherFor(limits: ProxyLimits, outbound?: OutboundProxies): Dispatcher {
	const { idleMs, maxConnections } = limits;
	const options: Agent.Options = {
		connections: maxConnections,
		pipelining: 1,
		allowH2: false,
		keepAliveTimeout: KEEP_ALIVE_MS,
		headersTimeout: idleMs,
		bodyTimeout: idleMs,
		maxHeaderSize: MAX_HEADER_BYTES,
		connect: { timeout: CONNECT_MS },
	};
	return outbound ? new EnvHttpProxyAgent({ ...options, ...outbound }) : new Agent(options);
}
