import { join } from "node:path";
import { describeError } from "../core/errno.ts";
import { inTime } from "../core/in-time.ts";
import { packageVersion } from "../core/package-info.ts";
import type { Models } from "./demo/open-demo.ts";
import type { Engine } from "./engine/engine.ts";
import { createEngine } from "./engine/engine.ts";
import type { Journal } from "./journal/journal.ts";
import { openJournal } from "./journal/sqlite-journal.ts";
import { createProcessGauge, metricsData, type PartFigures } from "./metrics.ts";
import type { ServerOptions } from "./options.ts";
import { createSessionReplay } from "./replay/session-replay.ts";
import { createAttachments, createServerHandlers } from "./server-handlers.ts";
import type { Streams } from "./streams/streams.ts";
import { createStreams } from "./streams/streams.ts";

/** What answers commands, without the transports. */
export interface Parts {
	readonly engine: Engine;
	readonly journal: Journal;
	readonly streams: Streams;
	figures(): PartFigures;
	/** Waits up to `ms` for each session. */
	close(ms: number): Promise<void>;
}

export async function openParts(
	options: ServerOptions & { transports: readonly string[] },
): Promise<Parts> {
	const { dataDir, agentDir, cwd, startFolder, demo, limits, warn } = options;
	// Pi is large: it loads while the journal is read.
	const loading = Promise.all([
		import("./sessions/sessions.ts"),
		import("./demo/open-demo.ts"),
		import("./demo/sample-projects.ts"),
	]);
	loading.catch(() => {}); // awaited below
	const journal = await openJournal({ dataDir, warn });
	let models: Models | undefined;
	try {
		const streams = createStreams({ journal, cutOff: journal.recovered.cutOff });
		const [{ createSessions }, { openModels }, { createSampleProjects }] = await loading;
		const projects = createSampleProjects(join(dataDir, "demo", "projects"), warn);
		models = await openModels(agentDir, { demo, sampleProjects: projects, warn });
		const { modelRuntime, sampleProjects } = models;
		const { sessions: recovered } = journal.recovered;
		// An unreadable journal does not know which projects are in use.
		if (journal.health().ok) await projects.retire({ inUse: recovered.map(({ cwd }) => cwd) });
		const sessions = createSessions({
			agentDir,
			cwd,
			modelRuntime,
			startFolder,
			...(sampleProjects && {
				newFolder: sampleProjects.make,
				sampleProjects: sampleProjects.folder,
			}),
			leaveFolders: (left, inUse) => projects.retire({ left, inUse }),
			allowProjectTrust: options.allowProjectTrust,
			recovered,
			wasCutOff: journal.recovered.crashed,
			emit: streams.emit,
			save(session) {
				journal.saveSession(session).catch((error: unknown) => {
					warn(`session "${session.id}" could not be saved: ${describeError(error)}`);
				});
			},
			owners: journal,
			maxSessions: limits.maxSessions,
			maxSessionsPerPrincipal: limits.maxSessionsPerPrincipal,
		});
		const attachments = createAttachments(sessions, streams);
		const handlers = createServerHandlers({
			sessions,
			streams,
			attachments,
			journal,
			replay: createSessionReplay({ agentDir, cwd, tmpFolder: join(dataDir, "tmp") }),
			metrics: () => metricsData(figures()),
		});
		const engine = createEngine({
			journal,
			handlers,
			replayed: attachments.repeat,
			limits,
			serverVersion: packageVersion(),
			transports: options.transports,
		});
		const gauge = createProcessGauge();
		const figures = (): PartFigures => ({
			engine: engine.counters(),
			journal: { ...journal.stats(), healthy: journal.health().ok },
			sessions: sessions.count(),
			process: gauge.read(),
			latencyMs: engine.latencyMs(),
		});
		return {
			engine,
			journal,
			streams,
			figures,
			async close(ms) {
				gauge.close();
				try {
					await inTime(sessions.close(), ms);
					await inTime(streams.settled(), ms);
					await models?.close();
				} finally {
					await journal.close();
				}
			},
		};
	} catch (error) {
		await models?.close();
		await journal.close();
		throw error;
	}
}
