import { monitorEventLoopDelay } from "node:perf_hooks";
import type { ResponseData } from "../protocol/index.ts";
import type { EngineCounters } from "./engine/engine.ts";
import type { Latency } from "./engine/replies.ts";
import type { JournalStats } from "./journal/journal.ts";
import type { ConnectionCounters } from "./transports/connections.ts";

interface ClusterMetrics {
	readonly leaseSecondsLeft: number;
	readonly claims: number;
	readonly lost: number;
	readonly buried: number;
	readonly links: number;
	readonly forwarded: number;
	readonly resent: number;
	readonly waiting: number;
}

export interface Metrics {
	readonly engine: EngineCounters;
	readonly connections: ConnectionCounters;
	readonly journal: JournalStats & { healthy: boolean };
	readonly sessions: number;
	/** Sessions that were closed because they were idle. */
	readonly parked: number;
	/** Present if servers share a database. */
	readonly cluster?: ClusterMetrics | undefined;
	readonly process: ReturnType<ProcessGauge["read"]>;
	readonly latencyMs?: Latency | undefined;
}

export function metricsData(metrics: Metrics): ResponseData["get_metrics"] {
	const { engine, journal, sessions, process, latencyMs } = metrics;
	const { clients, ...commands } = engine;
	const { healthy: _, ...stats } = journal;
	return {
		uptimeMs: Math.round(process.uptimeSeconds * 1000),
		clients,
		sessions,
		commands,
		...(latencyMs && { latencyMs }),
		journal: stats,
		memory: process.memory,
	};
}

interface Row {
	readonly name: string;
	readonly kind: "counter" | "gauge";
	readonly help: string;
	value(metrics: Metrics): number;
}

export function prometheusText(metrics: Metrics): string {
	const rows = metrics.cluster ? [...ROWS, ...CLUSTER_ROWS] : ROWS;
	const lines = rows.flatMap(({ name, kind, help, value }) => [
		`# HELP ${name} ${help}`,
		`# TYPE ${name} ${kind}`,
		`${name} ${value(metrics)}`,
	]);
	return `${lines.join("\n")}\n`;
}

const ROWS: readonly Row[] = [
	counter("commands_accepted", "Commands admitted.", ({ engine }) => engine.accepted),
	counter("commands_finished", "Commands that ended.", ({ engine }) => engine.finished),
	counter("commands_failed", "Commands that failed.", ({ engine }) => engine.failed),
	counter("commands_replayed", "Repeated commands answered.", ({ engine }) => engine.replayed),
	counter("commands_timed_out", "Commands that timed out.", ({ engine }) => engine.timedOut),
	counter("commands_rate_limited", "Rate-limited commands.", ({ engine }) => engine.rateLimited),
	counter("commands_rejected", "Commands refused on arrival.", ({ engine }) => engine.rejected),
	gauge("commands_pending", "Commands in flight.", ({ engine }) => engine.pending),
	gauge("lanes", "Lanes that have commands.", ({ engine }) => engine.lanes),
	gauge("sessions", "Sessions on the server.", ({ sessions }) => sessions),
	counter("sessions_parked", "Idle sessions that were closed.", ({ parked }) => parked),
	gauge("connections", "Open connections.", ({ connections }) => connections.open),
	counter("connections_opened", "Connections opened.", ({ connections }) => connections.opened),
	counter("connections_refused", "Connections refused.", ({ connections }) => connections.refused),
	counter(
		"connections_overloaded",
		"Connections closed because of unread output or unfinished frames.",
		(all) => all.connections.overloaded,
	),
	gauge("queued_bytes", "Bytes waiting to be sent.", ({ connections }) => connections.queuedBytes),
	gauge("journal_healthy", "1 if the journal can be written.", ({ journal }) =>
		Number(journal.healthy),
	),
	gauge("journal_bytes", "Size of the journal on disk.", ({ journal }) => journal.bytes),
	gauge("journal_commands", "Outcomes in the journal.", ({ journal }) => journal.commands),
	gauge("journal_events", "Events in the journal.", ({ journal }) => journal.events),
	gauge("journal_pending", "Records waiting for a commit.", ({ journal }) => journal.pending),
	counter("journal_commits", "Journal transactions.", ({ journal }) => journal.commits),
	counter("journal_commit_seconds", "Transaction time.", (all) => all.journal.commitMsTotal / 1e3),
	gauge("uptime_seconds", "Time since the start.", ({ process }) => process.uptimeSeconds),
	gauge("resident_bytes", "Resident memory.", ({ process }) => process.memory.rssBytes),
	gauge("heap_bytes", "JavaScript heap in use.", ({ process }) => process.memory.heapUsedBytes),
	counter("cpu_seconds", "Processor time used.", ({ process }) => process.cpuSeconds),
	gauge("loop_delay_seconds", "Event loop delay, p99.", ({ process }) => process.loopDelayMs / 1e3),
];

const CLUSTER_ROWS: readonly Row[] = [
	gauge("lease_seconds_left", "Time that the lease still holds.", ({ cluster }) =>
		Number(cluster?.leaseSecondsLeft),
	),
	counter("sessions_claimed", "Sessions taken from other servers.", (all) =>
		Number(all.cluster?.claims),
	),
	counter("sessions_lost", "Sessions that others took.", ({ cluster }) => Number(cluster?.lost)),
	counter("buried", "Times that the others gave this server up.", (all) =>
		Number(all.cluster?.buried),
	),
	gauge("links", "Open links to other servers.", ({ cluster }) => Number(cluster?.links)),
	counter("commands_forwarded", "Commands sent to other servers.", ({ cluster }) =>
		Number(cluster?.forwarded),
	),
	counter("commands_resent", "Commands sent again, because a server was lost.", (all) =>
		Number(all.cluster?.resent),
	),
	gauge("commands_waiting", "Commands that other servers have, or that wait for one.", (all) =>
		Number(all.cluster?.waiting),
	),
];

function counter(name: string, help: string, value: Row["value"]): Row {
	return { name: `strata_${name}_total`, kind: "counter", help, value };
}

function gauge(name: string, help: string, value: Row["value"]): Row {
	return { name: `strata_${name}`, kind: "gauge", help, value };
}

const RESOLUTION_MS = 20;

export class ProcessGauge {
	readonly #delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });

	constructor() {
		this.#delay.enable();
	}

	read() {
		const { rss, heapUsed, external } = process.memoryUsage();
		const { user, system } = process.cpuUsage();
		const loopDelayMs = Math.max(0, this.#delay.percentile(99) / 1e6 - RESOLUTION_MS);
		this.#delay.reset();
		return {
			uptimeSeconds: process.uptime(),
			memory: { rssBytes: rss, heapUsedBytes: heapUsed, externalBytes: external },
			cpuSeconds: (user + system) / 1e6,
			/** 99th percentile of the event loop's delay since the last `read`. */
			loopDelayMs: Number.isFinite(loopDelayMs) ? loopDelayMs : 0,
		};
	}

	close(): void {
		this.#delay.disable();
	}
}
