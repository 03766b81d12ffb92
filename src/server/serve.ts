import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { describeError } from "../core/errno.ts";
import { inTime } from "../core/in-time.ts";
import { packageVersion } from "../core/package-info.ts";
import { realOrGiven } from "../core/places.ts";
import { writeServerAddress } from "../core/server-address.ts";
import { loadTokens, type Tokens } from "../core/token-file.ts";
import { chooseJournal } from "./choose-journal.ts";
import type { Cluster } from "./cluster/cluster.ts";
import { lockDataFolder } from "./data-folder.ts";
import type { Models } from "./demo/demo-provider.ts";
import { Engine } from "./engine/engine.ts";
import type { Client } from "./engine/message.ts";
import type { StreamName } from "./journal/journal.ts";
import type { PostgresJournal } from "./journal/postgres/postgres-journal.ts";
import type { TokenTable } from "./journal/postgres/token-table.ts";
import { openListeners } from "./listeners.ts";
import { type Metrics, metricsData, ProcessGauge, prometheusText } from "./metrics.ts";
import { MetricsHistory } from "./metrics-history.ts";
import { checkedOptions, type ServerOptions } from "./options.ts";
import { startParking } from "./parking.ts";
import { SessionFinder } from "./replay/session-finder.ts";
import { SessionReplay } from "./replay/session-replay.ts";
import { createAttachments, createServerHandlers } from "./server-handlers.ts";
import { Streams } from "./streams/streams.ts";
import { startToolGuard } from "./tool-guard.ts";
import { ServerTraffic } from "./traffic/server-traffic.ts";
import { Connections } from "./transports/connections.ts";
import { serveStdio } from "./transports/line-transports.ts";
import { ServerUsage } from "./usage/server-usage.ts";

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

/** A tool begins only while no other server can have the session: it cannot be taken back. */
async function mayRunTool({ lease }: PostgresJournal): Promise<string | undefined> {
	return (await lease.check()) ? undefined : NO_LEASE;
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

type Backend = Awaited<ReturnType<typeof openBackend>>;

/** Opens everything that answers commands: journal, streams, sessions and engine, but no listeners. */
async function openBackend(
	options: ServerOptions,
	clientAddress: string,
	mayActFor: (principal: string) => boolean,
) {
	const { dataDir, agentDir, cwd, limits, warn, listen, socketPath, stdio } = options;
	// Pi is large, so it loads while the journal is read.
	const loading = Promise.all([
		import("./sessions/sessions.ts"),
		import("./demo/demo-provider.ts"),
		import("./demo/sample-projects.ts"),
	]);
	loading.catch(() => {}); // awaited below, which throws the error
	const guard = startToolGuard();
	const sampleProjects = join(realOrGiven(dataDir), "demo", "projects");
	const clustering = options.database && (await import("./cluster/index.ts"));
	const member =
		options.database &&
		clustering &&
		new clustering.ClusterMember(options.database, {
			maxSessions: limits.maxSessions,
			sampleProjects,
		});
	const { journal, shared } = await chooseJournal(options, clientAddress, {
		onRenewed(leftMs) {
			if (options.database?.sharesWorkspaces) guard.setDeadline(leftMs);
		},
		about: () => member?.about() ?? "{}",
		onNodes: (nodes) => member?.onNodes(nodes),
	}).catch((error: unknown) => {
		guard.dismiss();
		throw error;
	});
	let models: Models | undefined;
	try {
		const { sessions: recovered, cutOff, crashed } = journal.recovered;
		let cluster: Cluster | undefined;
		const streams = new Streams({
			journal,
			cutOff,
			...(shared && { maySend: () => shared.lease.isValid }),
			onDeserted: (name) => cluster?.onDeserted(name),
		});
		const [{ createSessions }, { openModels }, { createSampleProjects }] = await loading;
		const projects = createSampleProjects(sampleProjects, warn);
		models = await openModels(options);
		// If the journal is unreadable, the projects in use are unknown, so none is deleted.
		const parkedProjects = async () =>
			(await journal.unheld?.foldersBelow(realOrGiven(projects.folder))) ?? [];
		if (journal.health().ok && existsSync(projects.folder)) {
			const held = recovered.map(({ cwd }) => cwd);
			await projects.sweep({ inUse: [...held, ...(await parkedProjects())] });
		}
		const watchFolder = join(dataDir, "watched");
		await rm(watchFolder, { recursive: true, force: true }); // copies that a crash left behind
		const sessions = createSessions({
			agentDir,
			cwd,
			modelRuntime: models.modelRuntime,
			startFolder: member ? member.startFolder(options.startFolder) : options.startFolder,
			...(models.isDemo && { newFolder: projects.make, sampleProjects: projects.folder }),
			async releaseFolders(left, inUse) {
				const parked = await parkedProjects().catch(() => undefined);
				if (parked) await projects.sweep({ left, inUse: [...inUse, ...parked] });
			},
			allowProjectTrust: options.allowProjectTrust,
			recovered,
			afterCrash: crashed,
			emit: streams.emit.bind(streams),
			hasListeners: (name) => streams.hasSubscribers(name),
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
			release: (name) => journal.release([name]),
			unheld: journal.unheld,
			claim: (name) => engine.claim(name),
			...(shared && { countElsewhere: (principal: string) => shared.countElsewhere(principal) }),
			maxSessions: limits.maxSessions,
			maxSessionsPerPrincipal: limits.maxSessionsPerPrincipal,
		});
		const traffic = new ServerTraffic(agentDir);
		const replay = new SessionReplay({ agentDir, cwd, tmpFolder: join(dataDir, "strata-uploads") });
		const finder = new SessionFinder({ agentDir, storedFile: sessions.storedFile });
		const { storedFile, isSoleOwner } = sessions;
		const usage = new ServerUsage({ agentDir, cwd, storedFile, isSoleOwner });
		const attachments = createAttachments(sessions, streams, traffic, (client) =>
			cluster?.noteLifecycle(client),
		);
		const own = createServerHandlers({
			sessions,
			streams,
			attachments,
			journal,
			replay,
			finder,
			traffic,
			usage,
			history: { read: (minutes) => history.read(minutes) },
			metrics: () => metrics(),
		});
		const handlers =
			clustering && shared
				? clustering.withServers(own, {
						cluster: () => cluster,
						sessionsOf: (principal) => shared.sessionsOf(principal),
					})
				: own;
		const engine = new Engine({
			journal,
			handlers,
			onAnsweredAgain: attachments.attachAgain,
			accepts: (record) => member?.accepts(record) ?? existsSync(record.cwd),
			...(shared && { mayAnswer: () => shared.lease.isValid }),
			onClaimed(record, { isCutOff, isOwn = false }) {
				sessions.hold(record, isOwn);
				const stream = { principal: record.principal, sessionId: record.id };
				streams.own(stream);
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
		if (member && shared) {
			member.count = () => sessions.count();
			cluster = await member.join(shared, {
				engine,
				streams,
				journal,
				limits,
				mayActFor,
				onEnd,
				warn,
			});
		}
		const connections = new Connections({ engine: cluster?.router ?? engine, limits, onEnd });
		journal.onLost((names: readonly StreamName[]) => {
			warn(`another server has ${names.length} of this server's sessions now`);
			engine.lose(names);
			for (const name of names) if (streams.lose(name)) cluster?.followOn(name);
			sessions.lose(names).catch((error: unknown) => warn(describeError(error)));
		});
		const parking = startParking(limits.parkMs, { sessions, streams, engine, journal });
		const gauge = new ProcessGauge();
		const metrics = (): Metrics => ({
			engine: engine.counters(),
			connections: connections.counters(),
			journal: { ...journal.stats(), healthy: journal.health().ok },
			sessions: sessions.count(),
			parked: parking.parked,
			cluster: shared &&
				cluster && {
					...shared.counters(),
					...cluster.counters(),
					leaseSecondsLeft: shared.lease.leftMs / 1e3,
				},
			process: gauge.read(),
			latencyMs: engine.latencyMs(),
		});
		const history = await MetricsHistory.open({ dataDir, metrics: () => metricsData(metrics()) });
		return {
			cluster,
			journal,
			streams,
			connections,
			metrics,
			replay,
			isIdle: () =>
				connections.counters().open === 0 && engine.counters().pending === 0 && !sessions.isBusy(),
			/** Refuses new commands, and waits for those in flight. Sessions go to other servers as they become free. */
			async drain(reason: string): Promise<void> {
				const ended = engine.shutdown(reason, limits.drainMs);
				if (!clustering || !member || !shared || !cluster) return ended;
				member.leave(shared);
				const parts = { engine, sessions, streams, journal, cluster };
				await Promise.all([ended, clustering.handOver(limits.drainMs, parts)]);
			},
			async close() {
				history.close();
				gauge.close();
				cluster?.close();
				try {
					await inTime(parking.close(), CLOSE_SESSIONS_MS);
					await inTime(traffic.close(), CLOSE_SESSIONS_MS);
					await Promise.all([replay.close(), finder.close(), usage.close()]);
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
