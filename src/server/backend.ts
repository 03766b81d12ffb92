import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { describeError } from "../core/errno.ts";
import { inTime } from "../core/in-time.ts";
import { packageVersion } from "../core/package-info.ts";
import { realOrGiven } from "../core/places.ts";
import { chooseJournal } from "./choose-journal.ts";
import type { Cluster } from "./cluster/cluster.ts";
import type { Models } from "./demo/demo-provider.ts";
import { Engine } from "./engine/engine.ts";
import type { Client } from "./engine/message.ts";
import type { StreamName } from "./journal/journal.ts";
import type { PostgresJournal } from "./journal/postgres/postgres-journal.ts";
import { type Metrics, metricsData, ProcessGauge } from "./metrics.ts";
import { MetricsHistory } from "./metrics-history.ts";
import type { ServerOptions } from "./options.ts";
import { startParking } from "./parking.ts";
import { SessionFinder } from "./replay/session-finder.ts";
import { SessionReplay } from "./replay/session-replay.ts";
import { createAttachments, createServerHandlers } from "./server-handlers.ts";
import type { SessionsOptions } from "./sessions/sessions.ts";
import { Streams } from "./streams/streams.ts";
import { startToolGuard } from "./tool-guard.ts";
import { ServerTraffic } from "./traffic/server-traffic.ts";
import { Connections } from "./transports/connections.ts";
import { ServerUsage } from "./usage/server-usage.ts";

export type Backend = Awaited<ReturnType<typeof openBackend>>;

/** How long `close` waits for each of its parts. */
const CLOSE_MS = 5_000;

/** Opens everything that answers commands: journal, streams, sessions and engine, but no listeners. */
export async function openBackend(
	options: ServerOptions,
	clientAddress: string,
	mayActFor: (principal: string) => boolean,
) {
	const loading = loadPi();
	const store = await openStore(options, clientAddress);
	let models: Models | undefined;
	try {
		const pi = await loading;
		models = await pi.openModels(options);
		return await startBackend(options, { ...store, pi, models, mayActFor });
	} catch (error) {
		await models?.close();
		await store.close();
		throw error;
	}
}

/** Pi is large, so it loads while the journal is read. */
function loadPi() {
	const loading = Promise.all([
		import("./sessions/sessions.ts"),
		import("./demo/demo-provider.ts"),
		import("./demo/sample-projects.ts"),
	]).then(([sessions, provider, projects]) => ({ ...sessions, ...provider, ...projects }));
	loading.catch(() => {}); // the caller awaits it, and gets the error
	return loading;
}

/** The journal, the guard of tools, and this server's part in a cluster. */
async function openStore(options: ServerOptions, clientAddress: string) {
	const { dataDir, limits, database } = options;
	const guard = startToolGuard();
	const sampleProjects = join(realOrGiven(dataDir), "demo", "projects");
	try {
		const clustering = database && (await import("./cluster/index.ts"));
		const member =
			database &&
			clustering &&
			new clustering.ClusterMember(database, { maxSessions: limits.maxSessions, sampleProjects });
		const { journal, shared } = await chooseJournal(options, clientAddress, {
			onRenewed(leftMs) {
				if (database?.sharesWorkspaces) guard.setDeadline(leftMs);
			},
			about: () => member?.about() ?? "{}",
			onNodes: (nodes) => member?.onNodes(nodes),
		});
		const close = async () => {
			await journal.close();
			guard.dismiss();
		};
		return { clustering, member, journal, shared, sampleProjects, close };
	} catch (error) {
		guard.dismiss();
		throw error;
	}
}
interface Parts extends Awaited<ReturnType<typeof openStore>> {
	readonly pi: Awaited<ReturnType<typeof loadPi>>;
	readonly models: Models;
	mayActFor(principal: string): boolean;
}

/** Starts what runs on an open journal. */
async function startBackend(options: ServerOptions, parts: Parts) {
	const { clustering, member, journal, shared, pi, models, mayActFor } = parts;
	const { dataDir, agentDir, cwd, limits, warn } = options;
	let cluster: Cluster | undefined;
	const streams = new Streams({
		journal,
		cutOff: journal.recovered.cutOff,
		...(shared && { now: shared.now, maySend: () => shared.lease.isValid }),
		onDeserted: (name) => cluster?.onDeserted(name),
	});
	const sessions = pi.createSessions({
		...(await sessionsOptions(options, parts)),
		emit: streams.emit.bind(streams),
		hasListeners: (name) => streams.hasSubscribers(name),
		claim: (name) => engine.claim(name),
	});
	const { storedFile, isSoleOwner } = sessions;
	const traffic = new ServerTraffic(agentDir);
	const replay = new SessionReplay({ agentDir, cwd, tmpFolder: join(dataDir, "strata-uploads") });
	const finder = new SessionFinder({ agentDir, storedFile });
	const usage = new ServerUsage({ agentDir, cwd, storedFile, isSoleOwner });
	const attachments = createAttachments(sessions, streams, traffic, (client) =>
		cluster?.noteLifecycle(client),
	);
	const own = createServerHandlers({
		...{ sessions, streams, attachments, journal, replay, finder, traffic, usage },
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
		...(shared && { now: shared.now, mayAnswer: () => shared.lease.isValid }),
		onClaimed(record, { isCutOff, isOwn = false }) {
			sessions.hold(record, isOwn);
			const stream = { principal: record.principal, sessionId: record.id };
			streams.own(stream);
			if (isCutOff) streams.emit(stream, { type: "agent_settled", interrupted: true });
		},
		limits,
		serverVersion: packageVersion(),
		transports: transportsOf(options),
	});
	const onEnd = (client: Client) => {
		streams.unsubscribeAll(client);
		traffic.unsubscribe(client);
	};
	if (member && shared) {
		member.count = () => sessions.count();
		const given = { engine, streams, journal, limits, mayActFor, onEnd, warn };
		cluster = await member.join(shared, given);
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
		/** Refuses new commands, and waits for those in flight. Sessions are handed over as they become free. */
		async drain(reason: string): Promise<void> {
			const ended = engine.shutdown(reason, limits.drainMs);
			if (!clustering || !member || !shared || !cluster) return ended;
			member.leave(shared);
			const given = { engine, sessions, streams, journal, cluster };
			await Promise.all([ended, clustering.handOver(limits.drainMs, given)]);
		},
		async close() {
			history.close();
			gauge.close();
			cluster?.close();
			try {
				await inTime(parking.close(), CLOSE_MS);
				await inTime(traffic.close(), CLOSE_MS);
				await Promise.all([replay.close(), finder.close(), usage.close()]);
				await inTime(sessions.close(), CLOSE_MS);
				await inTime(streams.whenDrained(), CLOSE_MS);
				await models.close();
			} finally {
				await parts.close();
			}
		},
	};
}

type OptionsOfSessions = Omit<SessionsOptions, "emit" | "hasListeners" | "claim">;

/** What sessions get from the journal and the data folder. Deletes sample projects that no session uses. */
async function sessionsOptions(
	{ dataDir, agentDir, cwd, limits, warn, ...options }: ServerOptions,
	{ member, journal, shared, pi, models, sampleProjects }: Parts,
): Promise<OptionsOfSessions> {
	const { sessions: recovered, crashed } = journal.recovered;
	const projects = pi.createSampleProjects(sampleProjects, warn);
	const parkedProjects = async () =>
		(await journal.unheld?.foldersBelow(realOrGiven(projects.folder))) ?? [];
	// If the journal is unreadable, the projects in use are unknown, so none is deleted.
	if (journal.health().ok && existsSync(projects.folder)) {
		const held = recovered.map((session) => session.cwd);
		await projects.sweep({ inUse: [...held, ...(await parkedProjects())] });
	}
	const watchFolder = join(dataDir, "watched");
	await rm(watchFolder, { recursive: true, force: true }); // copies that a crash left behind
	return {
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
		save(session) {
			journal.saveSession(session).catch((error: unknown) => {
				warn(`the server could not save session "${session.id}": ${describeError(error)}`);
			});
		},
		owners: journal,
		watchFolder,
		conversations: journal.conversations,
		reserve: (name) => journal.claim(name, { create: true }),
		release: (name) => journal.release([name]),
		unheld: journal.unheld,
		...(shared && {
			mayRunTool: () => mayRunTool(shared),
			countElsewhere: (principal: string) => shared.countElsewhere(principal),
		}),
		maxSessions: limits.maxSessions,
		maxSessionsPerPrincipal: limits.maxSessionsPerPrincipal,
	};
}

function transportsOf({ listen, socketPath, stdio }: ServerOptions): string[] {
	return [
		...(listen ? ["websocket"] : []),
		...(socketPath === undefined ? [] : ["unix"]),
		...(stdio ? ["stdio"] : []),
	];
}

/** A tool begins only while no other server can have the session: it cannot be taken back. */
async function mayRunTool({ lease }: PostgresJournal): Promise<string | undefined> {
	return (await lease.check()) ? undefined : NO_LEASE;
}

const NO_LEASE =
	"The server cannot reach its database, so another server may have this session: the tool was not run.";
