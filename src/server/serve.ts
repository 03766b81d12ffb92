import { inTime } from "../core/in-time.ts";
import { writeServerAddress } from "../core/server-address.ts";
import { loadTokens, type Tokens } from "../core/token-file.ts";
import { type Backend, openBackend } from "./backend.ts";
import { lockDataFolder } from "./data-folder.ts";
import type { TokenTable } from "./journal/postgres/token-table.ts";
import { openListeners } from "./listeners.ts";
import { prometheusText } from "./metrics.ts";
import { checkedOptions, type ServerOptions } from "./options.ts";
import type { Connections } from "./transports/connections.ts";
import { serveStdio } from "./transports/line-transports.ts";

export interface RunningServer {
	readonly port?: number;
	/** The token to show to the user. Absent if clients need no token. */
	readonly token?: string;
	/** Resolves when the server answers commands. Clients wait until then. Rejects if the start fails. */
	readonly ready: Promise<void>;
	/** Whether no client is connected and no command or run is in flight. False until `ready`. */
	isIdle(): boolean;
	/** Notifies all clients, drains for up to `drainMs`, then closes everything. */
	stop(reason: string): Promise<void>;
}

/** How long `stop` waits for unsent output. */
const FLUSH_MS = 2_000;

/** Resolves when the server listens; journal and pi load until `ready`. Rejects with a one-line error. */
export async function startServer(given: ServerOptions): Promise<RunningServer> {
	const options = checkedOptions(given);
	let backend: Backend | undefined;
	let stopping: Promise<void> | undefined;
	const connections = Promise.withResolvers<Connections>();
	connections.promise.catch(() => {}); // `ready` reports the error

	const lock = await lockDataFolder(options.dataDir);
	let tokens: Tokens | "none";
	let table: TokenTable | undefined;
	let listeners: Awaited<ReturnType<typeof openListeners>> | undefined;
	try {
		// Clients of the socket and of stdio need no token.
		const { auth, listen } = options;
		tokens = auth === "none" || !listen ? "none" : await loadTokens(auth.tokenFile);
		if (tokens !== "none" && options.database) {
			const { TokenTable } = await import("./journal/postgres/token-table.ts");
			table = new TokenTable(options.database.address, () => listeners?.recheck());
			await table.open();
			tokens = eitherOf(tokens, table);
		}
		listeners = await openListeners({
			...options,
			tokens,
			connections: connections.promise,
			readiness() {
				if (stopping) return { ok: false, why: "the server is stopping" };
				return backend?.journal.health() ?? { ok: false, why: "the server is starting" };
			},
			metrics: () => backend && prometheusText(backend.metrics()),
			replays: () => backend?.replay,
			links: () => backend?.cluster,
		});
	} catch (error) {
		await table?.close();
		lock.release();
		throw error;
	}
	const listening = listeners;

	await writeServerAddress(options.dataDir, {
		pid: process.pid,
		url: urlOf(options, listening.port, "http"),
		socket: options.socketPath,
		tokenFile: tokens === "none" || options.auth === "none" ? undefined : options.auth.tokenFile,
	});
	const mayActFor = (principal: string) =>
		tokens === "none" ? principal === "local" : tokens.has(principal);
	const address = addressOf(options, listening.port);
	const ready = openBackend(options, address, mayActFor).then(
		(opened) => {
			backend = opened;
			connections.resolve(opened.connections);
			if (!options.stdio || stopping) return;
			serveStdio({
				...options.stdio,
				connections: opened.connections,
				maxFrameBytes: options.limits.maxFrameBytes,
				onEnd: () => options.onStdioEnd?.(),
			});
		},
		(error: unknown) => {
			connections.reject(error);
			throw error;
		},
	);
	ready.catch(() => {}); // callers that await `ready` get the error

	async function stop(reason: string): Promise<void> {
		try {
			listening.stopListening();
			await ready.catch(() => {}); // `ready` reports the error
			if (backend) {
				await backend.drain(reason);
				await inTime(backend.streams.whenDrained(), FLUSH_MS);
				await backend.connections.close(FLUSH_MS);
				backend.cluster?.close(); // the listener waits for their sockets
			}
			await listening.close();
			await backend?.close();
		} finally {
			await table?.close();
			lock.release();
		}
	}

	return {
		...(listening.port !== undefined && { port: listening.port }),
		...(tokens !== "none" && { token: tokens.first.token }),
		ready,
		isIdle: () => backend?.isIdle() ?? false,
		stop(reason) {
			stopping ??= stop(reason);
			return stopping;
		},
	};
}

/** Tokens of this server's file, and of the database. */
function eitherOf(file: Tokens, table: TokenTable): Tokens {
	return {
		first: file.first,
		principalOf: (token) => file.principalOf(token) ?? table.principalOf(token),
		has: (principal) => file.has(principal) || table.has(principal),
	};
}

/** Where clients reach the server, as far as it knows. */
function addressOf(options: ServerOptions, port: number | undefined): string {
	const { socketPath } = options;
	const local = socketPath === undefined ? "its standard input" : `unix:${socketPath}`;
	return urlOf(options, port, "ws") ?? local;
}

function urlOf({ listen }: ServerOptions, port: number | undefined, scheme: "http" | "ws") {
	if (!listen) return undefined;
	const host = listen.host.includes(":") ? `[${listen.host}]` : listen.host;
	return `${scheme}${listen.tls ? "s" : ""}://${host}:${port}/`;
}
