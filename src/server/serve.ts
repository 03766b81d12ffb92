import { describeError } from "../core/errno.ts";
import { createAccess } from "./auth/access.ts";
import { loadTokens, type Tokens } from "./auth/token-file.ts";
import { lockDataFolder } from "./lock.ts";
import { prometheusText } from "./metrics.ts";
import { checkedOptions, type ServerOptions } from "./options.ts";
import { openParts, type Parts } from "./parts.ts";
import { type Connections, createConnections, within } from "./transports/connections.ts";
import { listenHttp } from "./transports/http.ts";
import { createPage } from "./transports/page.ts";
import { serveStdio } from "./transports/stdio.ts";
import { listenUnixSocket } from "./transports/unix-socket.ts";
import { createWebSocketTransport } from "./transports/websocket.ts";

/** A server that listens. */
export interface RunningServer {
	/** The port of HTTP and WebSocket. */
	readonly port?: number;
	readonly socketPath?: string;
	/** Resolves when it answers commands; until then clients wait. Rejects when it never will. */
	readonly ready: Promise<void>;
	/** The token to show to whoever started it; absent without authentication. */
	readonly token?: string;
	/** Tells everybody, lets running commands end for up to `drainMs`, then closes everything. */
	stop(reason: string): Promise<void>;
}

/** How long what is written may take to go out at the end. */
const FAREWELL_MS = 2_000;
/** How long sessions may take to stop what they run. */
const SESSIONS_MS = 5_000;

/**
 * Starts a server. Resolves as soon as it listens, before the journal and pi are loaded; throws one clear line when it
 * cannot run with these options, here, or beside another server.
 */
export async function startServer(given: ServerOptions): Promise<RunningServer> {
	const options = checkedOptions(given);
	const { dataDir, limits, listen, socketPath, stdio } = options;
	const closers: (() => unknown)[] = [];
	let state: "starting" | "ready" | "stopping" = "starting";
	let running: (Parts & { connections: Connections }) | undefined;
	let stopped: Promise<void> | undefined;
	try {
		const lock = await lockDataFolder(dataDir);
		closers.push(() => lock.release());
		const tokens = await tokensOf(options);
		const opened = open();
		const connections = opened.then((parts) => parts.connections);
		const ready = opened.then(() => {});
		// Whoever needs one of them looks at it; nobody else should hear of a failure twice.
		for (const promise of [connections, ready]) promise.catch(() => {});

		const http = listen && (await openHttp(listen, tokens, connections));
		const socket =
			socketPath === undefined
				? undefined
				: await listenUnixSocket({
						path: socketPath,
						connections,
						maxFrameBytes: limits.maxFrameBytes,
						maxConnections: limits.maxConnections,
					});
		if (socket) closers.push(() => socket.close());
		if (stdio) {
			const { maxFrameBytes } = limits;
			const onEnd = () => options.onStdioEnd?.();
			void connections.then(
				(all) => serveStdio({ ...stdio, connections: all, maxFrameBytes, onEnd }),
				() => {}, // `ready` says so
			);
		}
		return {
			...(http && { port: http.port }),
			...(socketPath !== undefined && { socketPath }),
			...(tokens !== "none" && { token: tokens.first.token }),
			ready,
			stop(reason) {
				stopped ??= stop(reason);
				return stopped;

				async function stop(why: string): Promise<void> {
					state = "stopping";
					http?.stopListening();
					socket?.stopListening();
					await opened.catch(() => {}); // then there is only what was opened before
					if (running) {
						await running.engine.shutdown(why, limits.drainMs);
						await within(FAREWELL_MS, running.streams.settled());
						await running.connections.close(FAREWELL_MS);
					}
					await closeAll(closers, options.warn);
				}
			},
		};

		/** Loads what takes its time: the journal with what it holds, and pi. */
		async function open() {
			const parts = await openParts({ ...options, transports: transportNames(options) });
			closers.push(() => parts.close(SESSIONS_MS));
			const hub = {
				connect: parts.engine.connect,
				receive: parts.engine.receive,
				disconnect(client: Parameters<typeof parts.engine.disconnect>[0]) {
					parts.engine.disconnect(client);
					parts.streams.drop(client);
				},
			};
			running = { ...parts, connections: createConnections({ hub, limits }) };
			if (state === "starting") state = "ready";
			return running;
		}

		async function openHttp(
			{ port, host, tls }: NonNullable<ServerOptions["listen"]>,
			known: Tokens | "none",
			all: Promise<Connections>,
		) {
			const { origins } = options;
			const access = createAccess({ host, origins, tls: tls !== undefined, tokens: known });
			const websocket = createWebSocketTransport({ access, connections: all, limits });
			const transport = await listenHttp({
				port,
				host,
				...(tls && { tls }),
				access,
				readiness,
				metrics,
				page: createPage(options.pageFolder),
				upgrade: websocket.upgrade,
				maxConnections: limits.maxConnections,
			});
			closers.push(() => transport.close());
			closers.push(() => websocket.close());
			return transport;
		}

		function readiness(): { ok: true } | { ok: false; why: string } {
			if (state !== "ready" || !running) return { ok: false, why: `the server is ${state}` };
			return running.journal.health();
		}

		function metrics(): string | undefined {
			if (!running) return undefined;
			const connections = running.connections.counters();
			return prometheusText({ ...running.figures(), connections });
		}
	} catch (error) {
		await closeAll(closers, options.warn);
		throw error;
	}
}

async function tokensOf({ auth, listen }: ServerOptions): Promise<Tokens | "none"> {
	// A socket's permissions and a parent process need no token.
	return auth === "none" || !listen ? "none" : loadTokens(auth.tokenFile);
}

function transportNames({ listen, socketPath, stdio }: ServerOptions): string[] {
	return [
		...(listen ? ["websocket"] : []),
		...(socketPath === undefined ? [] : ["unix"]),
		...(stdio ? ["stdio"] : []),
	];
}

/** The last opened first. One that fails does not keep the others open. */
async function closeAll(closers: (() => unknown)[], warn: (line: string) => void): Promise<void> {
	for (const close of closers.splice(0).reverse()) {
		try {
			await close();
		} catch (error) {
			warn(`while closing: ${describeError(error)}`);
		}
	}
}
