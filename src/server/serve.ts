import { inTime } from "../core/in-time.ts";
import { loadTokens, type Tokens } from "./auth/token-file.ts";
import type { Client } from "./engine/message.ts";
import { type Listeners, openListeners } from "./listeners.ts";
import { lockDataFolder } from "./lock.ts";
import { prometheusText } from "./metrics.ts";
import { checkedOptions, type ServerOptions } from "./options.ts";
import { openParts, type Parts } from "./parts.ts";
import { type Connections, createConnections } from "./transports/connections.ts";
import { serveStdio } from "./transports/stdio.ts";

/** A server that listens. */
export interface RunningServer {
	/** The port of HTTP and WebSocket, if it has one. */
	readonly port?: number;
	/** The token to show to whoever started it; absent when none is needed. */
	readonly token?: string;
	/** Resolves when it answers commands; until then clients wait. Rejects when it never will. */
	readonly ready: Promise<void>;
	/** Tells everybody, lets running commands end for up to `drainMs`, then closes everything. */
	stop(reason: string): Promise<void>;
}

/** How long what is written may take to go out at the end. */
const FAREWELL_MS = 2_000;
/** How long sessions may take to stop what they run. */
const SESSIONS_MS = 5_000;

type Working = { parts: Parts; connections: Connections };

/**
 * Starts a server. Resolves as soon as it listens, before the journal and pi are loaded; throws one clear line when it
 * cannot run with these options, on this machine, or beside another server.
 */
export async function startServer(given: ServerOptions): Promise<RunningServer> {
	const options = checkedOptions(given);
	const { limits } = options;
	let working: Working | undefined;
	let stopping: Promise<void> | undefined;
	const connections = Promise.withResolvers<Connections>();
	connections.promise.catch(() => {}); // `ready` tells

	const lock = await lockDataFolder(options.dataDir);
	let tokens: Tokens | "none";
	let listeners: Listeners;
	try {
		tokens = await tokensOf(options);
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
			if (options.stdio && !stopping) serveParent(options, started.connections);
		},
		(error: unknown) => {
			connections.reject(error);
			throw error;
		},
	);
	ready.catch(() => {}); // whoever waits for it hears of it

	async function stop(reason: string): Promise<void> {
		try {
			listeners.stopListening();
			await ready.catch(() => {}); // what never started needs no end
			if (working) {
				const { parts, connections: all } = working;
				await parts.engine.shutdown(reason, limits.drainMs);
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

async function tokensOf({ auth, listen }: ServerOptions): Promise<Tokens | "none"> {
	// Who can open the socket's file, and who started us, need no token.
	return auth === "none" || !listen ? "none" : loadTokens(auth.tokenFile);
}

/** Opens the journal and loads pi, which takes its time. */
async function startWorking(options: ServerOptions): Promise<Working> {
	const { listen, socketPath, stdio, limits } = options;
	const transports = [
		...(listen ? ["websocket"] : []),
		...(socketPath === undefined ? [] : ["unix"]),
		...(stdio ? ["stdio"] : []),
	];
	const parts = await openParts({ ...options, transports });
	const { engine, streams } = parts;
	const hub = {
		connect: (client: Client) => engine.connect(client),
		receive: (client: Client, frame: string | Uint8Array) => engine.receive(client, frame),
		answered: (client: Client) => engine.answered(client),
		disconnect(client: Client) {
			engine.disconnect(client);
			streams.drop(client);
		},
	};
	return { parts, connections: createConnections({ hub, limits }) };
}

function serveParent({ stdio, limits, onStdioEnd }: ServerOptions, connections: Connections): void {
	if (!stdio) return;
	const { maxFrameBytes } = limits;
	serveStdio({ ...stdio, connections, maxFrameBytes, onEnd: () => onStdioEnd?.() });
}
