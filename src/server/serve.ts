import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { describeError } from "../core/errno.ts";
import { createAccess } from "../core/http-access.ts";
import { inTime } from "../core/in-time.ts";
import { packageVersion } from "../core/package-info.ts";
import { writeServerAddress } from "../core/server-address.ts";
import { loadTokens, type Tokens } from "../core/token-file.ts";
import { chooseJournal } from "./choose-journal.ts";
import { lockDataFolder } from "./data-folder.ts";
import type { Models } from "./demo/demo-provider.ts";
import { Engine } from "./engine/engine.ts";
import type { Client } from "./engine/message.ts";
import type { StreamName } from "./journal/journal.ts";
import type { PostgresJournal } from "./journal/postgres/postgres-journal.ts";
import type { TokenTable } from "./journal/postgres/token-table.ts";
import { type Metrics, ProcessGauge, prometheusText } from "./metrics.ts";
import { checkedOptions, type ServerOptions } from "./options.ts";
import { SessionFinder } from "./replay/session-finder.ts";
import { SessionReplay } from "./replay/session-replay.ts";
import { createAttachments, createServerHandlers } from "./server-handlers.ts";
import { Streams } from "./streams/streams.ts";
import { startToolGuard } from "./tool-guard.ts";
import { ServerTraffic } from "./traffic/server-traffic.ts";
import { Connections } from "./transports/connections.ts";
import { type HttpOptions, listenHttp } from "./transports/http.ts";
import { listenUnixSocket, serveStdio } from "./transports/line-transports.ts";
import { createPage } from "./transports/page.ts";
import { WebSocketTransport } from "./transports/websocket.ts";

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

const NO_LEASE =
	"The server cannot reach its database, so another server may have this session: the tool was not run.";
const MOVED = "a session of this connection is on another server now; connect again";

/** How long `stop` waits for unsent output, and for sessions to close. */
const FLUSH_MS = 2_000;
const CLOSE_SESSIONS_MS = 5_000;

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
			await table.refresh();
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
	const ready = openBackend(options, addressOf(options, listening.port)).then(
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
				await backend.engine.shutdown(reason, options.limits.drainMs);
				await inTime(backend.streams.whenDrained(), FLUSH_MS);
				await backend.connections.close(FLUSH_MS);
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

/** A tool begins only while no other server can have the session: it cannot be taken back. */
async function mayRunTool({ lease }: PostgresJournal): Promise<string | undefined> {
	return (await lease.check()) ? undefined : NO_LEASE;
}

/** Tokens of this server's file, and of the database. */
function eitherOf(file: Tokens, table: TokenTable): Tokens {
	return {
		first: file.first,
		principalOf: (token) => file.principalOf(token) ?? table.principalOf(token),
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

type Backend = Awaited<ReturnType<typeof openBackend>>;

/** Opens everything that answers commands: journal, streams, sessions and engine, but no listeners. */
async function openBackend(options: ServerOptions, clientAddress: string) {
	const { dataDir, agentDir, cwd, limits, warn, listen, socketPath, stdio } = options;
	// Pi is large, so it loads while the journal is read.
	const loading = Promise.all([
		import("./sessions/sessions.ts"),
		import("./demo/demo-provider.ts"),
		import("./demo/sample-projects.ts"),
	]);
	loading.catch(() => {}); // awaited below, which throws the error
	const guard = startToolGuard();
	const onRenewed = (leftMs: number) => {
		if (options.database?.sharesWorkspaces) guard.setDeadline(leftMs);
	};
	const { journal, shared } = await chooseJournal(options, clientAddress, onRenewed).catch(
		(error: unknown) => {
			guard.dismiss();
			throw error;
		},
	);
	let models: Models | undefined;
	try {
		const { sessions: recovered, cutOff, crashed } = journal.recovered;
		const streams = new Streams({ journal, cutOff });
		const [{ createSessions }, { openModels }, { createSampleProjects }] = await loading;
		const projects = createSampleProjects(join(dataDir, "demo", "projects"), warn);
		models = await openModels(options);
		// If the journal is unreadable, the projects in use are unknown, so none is deleted.
		if (journal.health().ok) await projects.sweep({ inUse: recovered.map(({ cwd }) => cwd) });
		const watchFolder = join(dataDir, "watched");
		await rm(watchFolder, { recursive: true, force: true }); // copies that a crash left behind
		const sessions = createSessions({
			agentDir,
			cwd,
			modelRuntime: models.modelRuntime,
			startFolder: options.startFolder,
			...(models.isDemo && { newFolder: projects.make, sampleProjects: projects.folder }),
			releaseFolders: (left, inUse) => projects.sweep({ left, inUse }),
			allowProjectTrust: options.allowProjectTrust,
			recovered,
			afterCrash: crashed,
			emit: streams.emit.bind(streams),
			save(session) {
				journal.saveSession(session).catch((error: unknown) => {
					warn(`the server could not save session "${session.id}": ${describeError(error)}`);
				});
			},
			owners: journal,
			watchFolder,
			conversations: journal.conversations,
			...(shared && { mayRunTool: () => mayRunTool(shared) }),
			reserve: (name) => journal.claim(name, { create: true }),
			maxSessions: limits.maxSessions,
			maxSessionsPerPrincipal: limits.maxSessionsPerPrincipal,
		});
		const traffic = new ServerTraffic(agentDir);
		const replay = new SessionReplay({ agentDir, cwd, tmpFolder: join(dataDir, "strata-uploads") });
		const finder = new SessionFinder({ agentDir, storedFile: sessions.storedFile });
		const attachments = createAttachments(sessions, streams, traffic);
		const engine = new Engine({
			journal,
			handlers: createServerHandlers({
				sessions,
				streams,
				attachments,
				journal,
				replay,
				finder,
				traffic,
				metrics: () => metrics(),
			}),
			onAnsweredAgain: attachments.attachAgain,
			accepts: ({ cwd }) => existsSync(cwd),
			onClaimed(record, isCutOff) {
				sessions.hold(record);
				const stream = { principal: record.principal, sessionId: record.id };
				if (isCutOff) streams.emit(stream, { type: "agent_settled", interrupted: true });
			},
			limits,
			serverVersion: packageVersion(),
			transports: [
				...(listen ? ["websocket"] : []),
				...(socketPath === undefined ? [] : ["unix"]),
				...(stdio ? ["stdio"] : []),
			],
		});
		const onEnd = (client: Client) => {
			streams.unsubscribeAll(client);
			traffic.unsubscribe(client);
		};
		const connections = new Connections({ engine, limits, onEnd });
		journal.onLost((names: readonly StreamName[]) => {
			warn(`another server has ${names.length} of this server's sessions now`);
			engine.lose(names);
			// Subscribers connect again, and learn where the session is.
			for (const name of names) connections.drop(streams.lose(name), MOVED);
			sessions.lose(names).catch((error: unknown) => warn(describeError(error)));
		});
		const gauge = new ProcessGauge();
		const metrics = (): Metrics => ({
			engine: engine.counters(),
			connections: connections.counters(),
			journal: { ...journal.stats(), healthy: journal.health().ok },
			sessions: sessions.count(),
			cluster: shared && { ...shared.counters(), leaseSecondsLeft: shared.lease.leftMs / 1e3 },
			process: gauge.read(),
			latencyMs: engine.latencyMs(),
		});
		return {
			engine,
			journal,
			streams,
			connections,
			metrics,
			replay,
			isIdle: () =>
				connections.counters().open === 0 && engine.counters().pending === 0 && !sessions.isBusy(),
			async close() {
				gauge.close();
				try {
					await inTime(traffic.close(), CLOSE_SESSIONS_MS);
					await Promise.all([replay.close(), finder.close()]);
					await inTime(sessions.close(), CLOSE_SESSIONS_MS);
					await inTime(streams.whenDrained(), CLOSE_SESSIONS_MS);
					await models?.close();
				} finally {
					await journal.close();
					guard.dismiss();
				}
			},
		};
	} catch (error) {
		await models?.close();
		await journal.close();
		guard.dismiss();
		throw error;
	}
}

interface ListenersOptions
	extends Pick<ServerOptions, "listen" | "socketPath" | "origins" | "limits" | "pageFolder">,
		Pick<HttpOptions, "readiness" | "metrics" | "replays"> {
	readonly tokens: Tokens | "none";
	readonly connections: Promise<Connections>;
}

/** Closes the web listener if the socket cannot be opened. */
async function openListeners(options: ListenersOptions) {
	const { socketPath: path, connections, limits } = options;
	const web = await openWeb(options);
	try {
		const socket =
			path === undefined ? undefined : await listenUnixSocket({ path, connections, ...limits });
		return {
			port: web?.port,
			recheck: () => web?.recheck(),
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
	const websocket = new WebSocketTransport({ access, connections, limits });
	const http = await listenHttp({
		...options,
		...listen,
		access,
		page: createPage(options.pageFolder),
		upgrade: (...upgraded) => websocket.upgrade(...upgraded),
		maxConnections: limits.maxConnections,
		uploadMs: limits.longMs,
	}).catch((error: unknown) => {
		websocket.close();
		throw error;
	});
	return {
		...http,
		recheck: () => websocket.recheck(),
		async close() {
			websocket.close();
			await http.close();
		},
	};
}
