import { inTime } from "../core/in-time.ts";
import { createAccess } from "./auth/access.ts";
import { loadTokens, type Tokens } from "./auth/token-file.ts";
import { lockDataFolder } from "./data-folder.ts";
import type { Client } from "./engine/message.ts";
import { prometheusText } from "./metrics.ts";
import { checkedOptions, type ServerOptions } from "./options.ts";
import { openParts, type Parts } from "./parts.ts";
import { type Connections, createConnections } from "./transports/connections.ts";
import { type HttpOptions, listenHttp } from "./transports/http.ts";
import { listenUnixSocket, serveStdio } from "./transports/line-transports.ts";
import { createPage } from "./transports/page.ts";
import { createWebSocketTransport } from "./transports/websocket.ts";

export interface RunningServer {
	readonly port?: number;
	/** To show to the user; absent if none is needed. */
	readonly token?: string;
	/** Resolves when commands are answered; clients wait until then. Rejects if the start fails. */
	readonly ready: Promise<void>;
	/** Notifies all clients, drains for up to `drainMs`, then closes everything. */
	stop(reason: string): Promise<void>;
}

/** For unsent output at the end. */
const FAREWELL_MS = 2_000;
const SESSIONS_MS = 5_000;

type Working = { parts: Parts; connections: Connections };

/** Resolves once it listens, before the journal and pi are loaded. Throws a one-line error. */
export async function startServer(given: ServerOptions): Promise<RunningServer> {
	const options = checkedOptions(given);
	let working: Working | undefined;
	let stopping: Promise<void> | undefined;
	const connections = Promise.withResolvers<Connections>();
	connections.promise.catch(() => {}); // reported by `ready`

	const lock = await lockDataFolder(options.dataDir);
	let tokens: Tokens | "none";
	let listeners: Listeners;
	try {
		// Clients of the socket and of stdio need no token.
		const { auth, listen } = options;
		tokens = auth === "none" || !listen ? "none" : await loadTokens(auth.tokenFile);
		listeners = await openListeners({
			...options,
			tokens,
			connections: connections.promise,
			readiness() {
				if (stopping) return { ok: false, why: "the server is stopping" };
				return working?.parts.journal.health() ?? { ok: false, why: "the server is starting" };
			},
			metrics() {
				if (!working) return undefined;
				const { parts, connections: all } = working;
				return prometheusText({ ...parts.figures(), connections: all.counters() });
			},
		});
	} catch (error) {
		lock.release();
		throw error;
	}

	const ready = startWorking(options).then(
		(started) => {
			working = started;
			connections.resolve(started.connections);
			if (!options.stdio || stopping) return;
			serveStdio({
				...options.stdio,
				connections: started.connections,
				maxFrameBytes: options.limits.maxFrameBytes,
				onEnd: () => options.onStdioEnd?.(),
			});
		},
		(error: unknown) => {
			connections.reject(error);
			throw error;
		},
	);
	ready.catch(() => {}); // reported to callers that await it

	async function stop(reason: string): Promise<void> {
		try {
			listeners.stopListening();
			await ready.catch(() => {}); // never started: nothing to stop
			if (working) {
				const { parts, connections: all } = working;
				await parts.engine.shutdown(reason, options.limits.drainMs);
				await inTime(parts.streams.settled(), FAREWELL_MS);
				await all.close(FAREWELL_MS);
			}
			await listeners.close();
			await working?.parts.close(SESSIONS_MS);
		} finally {
			lock.release();
		}
	}

	return {
		...(listeners.port !== undefined && { port: listeners.port }),
		...(tokens !== "none" && { token: tokens.first.token }),
		ready,
		stop(reason) {
			stopping ??= stop(reason);
			return stopping;
		},
	};
}

async function startWorking(options: ServerOptions): Promise<Working> {
	const { listen, socketPath, stdio, limits } = options;
	const transports = [
		...(listen ? ["websocket"] : []),
		...(socketPath === undefined ? [] : ["unix"]),
		...(stdio ? ["stdio"] : []),
	];
	const parts = await openParts({ ...options, transports });
	const engine = {
		...parts.engine,
		disconnect(client: Client) {
			parts.engine.disconnect(client);
			parts.streams.drop(client);
		},
	};
	return { parts, connections: createConnections({ engine, limits }) };
}

interface Listeners {
	readonly port?: number;
	stopListening(): void;
	close(): Promise<void>;
}

interface ListenersOptions
	extends Pick<ServerOptions, "listen" | "socketPath" | "origins" | "limits" | "pageFolder">,
		Pick<HttpOptions, "readiness" | "metrics"> {
	tokens: Tokens | "none";
	connections: Promise<Connections>;
}

/** If one listener fails, closes the other. */
async function openListeners(options: ListenersOptions): Promise<Listeners> {
	const { socketPath: path, connections, limits } = options;
	const web = await openWeb(options);
	try {
		const socket =
			path === undefined ? undefined : await listenUnixSocket({ path, connections, ...limits });
		return {
			...(web && { port: web.port }),
			stopListening() {
				web?.stopListening();
				socket?.stopListening();
			},
			async close() {
				await web?.close();
				await socket?.close();
			},
		};
	} catch (error) {
		await web?.close();
		throw error;
	}
}

async function openWeb(options: ListenersOptions) {
	const { listen, tokens, origins, limits, connections } = options;
	if (!listen) return undefined;
	const { host, tls } = listen;
	const access = createAccess({ host, origins, tls: tls !== undefined, tokens });
	const websocket = createWebSocketTransport({ access, connections, limits });
	const http = await listenHttp({
		...options,
		...listen,
		access,
		page: createPage(options.pageFolder),
		upgrade: websocket.upgrade,
		maxConnections: limits.maxConnections,
	}).catch((error: unknown) => {
		websocket.close();
		throw error;
	});
	return {
		...http,
		async close() {
			websocket.close();
			await http.close();
		},
	};
}
