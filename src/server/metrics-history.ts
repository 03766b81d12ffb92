import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { type Migration, openDatabase } from "../core/sqlite.ts";
import type { Data, ResponseData } from "../protocol/index.ts";
import { makePrivateFile } from "./data-folder.ts";
import { safeText } from "./safe-text.ts";

type Point = Data<"MetricsHistory">["points"][number];
type Metrics = ResponseData["get_metrics"];

export const METRICS_FILE = "metrics.db";
const MINUTE_MS = 60_000;
/** A week. */
const KEPT_MINUTES = 7 * 24 * 60;
const MAX_POINTS = 240;
const DEFAULT_MINUTES = 60;
const FRESH_MS = 5_000;

const MIGRATIONS: Migration[] = [
	(database) =>
		database.exec(`CREATE TABLE minute (
			minute INTEGER PRIMARY KEY, started INTEGER NOT NULL,
			finished INTEGER NOT NULL, failed INTEGER NOT NULL, events INTEGER NOT NULL,
			clients INTEGER NOT NULL, sessions INTEGER NOT NULL,
			rss REAL NOT NULL, heap REAL NOT NULL, journal REAL NOT NULL, p50 REAL, p99 REAL
		) STRICT`),
];

interface MetricsHistoryOptions {
	readonly dataDir: string;
	metrics(): Metrics;
	readonly now?: () => number;
	/** Default: once a minute. */
	readonly everyMs?: number;
}

/**
 * A row a minute, for a week, in a file of its own: a lost or damaged one harms nothing else. Counts are the
 * growth since the last row, so a restart neither loses nor repeats any.
 */
export class MetricsHistory {
	readonly #database: DatabaseSync | string;
	readonly #metrics: () => Metrics;
	readonly #now: () => number;
	readonly #timer: NodeJS.Timeout | undefined;
	/** Counters at the last row. The server counts from 0. */
	#before = { finished: 0, failed: 0, events: 0 };
	#isStart = true;
	#recordedMs = 0;

	private constructor(database: DatabaseSync | string, options: MetricsHistoryOptions) {
		this.#database = database;
		this.#metrics = options.metrics;
		this.#now = options.now ?? Date.now;
		if (typeof database === "string") return;
		this.#before.events = options.metrics().journal.events; // those of earlier processes
		this.record();
		this.#timer = setInterval(() => this.record(), options.everyMs ?? MINUTE_MS).unref();
	}

	/** A file that cannot be used is no reason to refuse the start: the history says why it is empty. */
	static async open(options: MetricsHistoryOptions): Promise<MetricsHistory> {
		const path = join(options.dataDir, METRICS_FILE);
		try {
			makePrivateFile(path);
			const opened = await openDatabase(path, MIGRATIONS);
			const database = opened.kind === "open" ? opened.database : safeText(opened.message);
			return new MetricsHistory(database, options);
		} catch (error) {
			return new MetricsHistory(safeText(error), options);
		}
	}

	/** Adds what happened since the last call to the row of this minute, and drops rows that are too old. */
	record(): void {
		const database = this.#database;
		if (typeof database === "string") return;
		const { commands, journal, clients, sessions, memory, latencyMs } = this.#metrics();
		const { finished, failed } = commands;
		const before = this.#before;
		const nowMs = this.#now();
		const minute = Math.floor(nowMs / MINUTE_MS);
		const grown = (now: number, then: number) => Math.max(0, now - then); // events are also evicted
		try {
			database
				.prepare(`INSERT INTO minute VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
					ON CONFLICT DO UPDATE SET started = MAX(started, excluded.started),
						finished = finished + excluded.finished, failed = failed + excluded.failed,
						events = events + excluded.events, clients = MAX(clients, excluded.clients),
						sessions = MAX(sessions, excluded.sessions), rss = MAX(rss, excluded.rss),
						heap = MAX(heap, excluded.heap), journal = MAX(journal, excluded.journal),
						p50 = COALESCE(excluded.p50, p50), p99 = COALESCE(excluded.p99, p99)`)
				.run(
					...[minute, this.#isStart ? 1 : 0],
					...[grown(finished, before.finished), grown(failed, before.failed)],
					...[grown(journal.events, before.events), clients, sessions],
					...[memory.rssBytes, memory.heapUsedBytes, journal.bytes],
					...[latencyMs?.p50 ?? null, latencyMs?.p99 ?? null],
				);
			database.prepare("DELETE FROM minute WHERE minute <= ?").run(minute - KEPT_MINUTES);
			this.#before = { finished, failed, events: journal.events };
			this.#isStart = false;
			this.#recordedMs = nowMs;
		} catch {
			// A full or busy disk: the next row has these counts, too.
		}
	}

	read(minutes = DEFAULT_MINUTES): Data<"MetricsHistory"> {
		// The minute that has begun is part of the answer.
		if (this.#now() - this.#recordedMs >= FRESH_MS) this.record();
		const size = Math.ceil(minutes / MAX_POINTS);
		if (typeof this.#database === "string") {
			return { minutes: size, points: [], problem: this.#database };
		}
		// Points begin at the same minutes in every answer, so that a chart does not flicker.
		const last = Math.floor(this.#now() / MINUTE_MS / size);
		const first = last - Math.ceil(minutes / size) + 1;
		try {
			const rows = this.#database
				.prepare(`SELECT minute / CAST(? AS INTEGER) AS point, MAX(started) AS started, SUM(finished) AS finished,
						SUM(failed) AS failed, SUM(events) AS events, MAX(clients) AS clients, MAX(sessions) AS sessions,
						MAX(rss) AS rss, MAX(heap) AS heap, MAX(journal) AS journal, MAX(p50) AS p50, MAX(p99) AS p99
					FROM minute WHERE minute >= ? GROUP BY point ORDER BY point`)
				.all(size, first * size);
			return { minutes: size, points: rows.map((row) => pointOf(row, size)) };
		} catch (error) {
			return { minutes: size, points: [], problem: safeText(error) };
		}
	}

	/** Records the minute that has begun. */
	close(): void {
		clearInterval(this.#timer);
		this.record();
		if (typeof this.#database !== "string") this.#database.close();
	}
}

function pointOf(row: Record<string, unknown>, size: number): Point {
	const number = (name: string) => Number(row[name]);
	return {
		atMs: number("point") * size * MINUTE_MS,
		finished: number("finished"),
		failed: number("failed"),
		events: number("events"),
		clients: number("clients"),
		sessions: number("sessions"),
		rssBytes: number("rss"),
		heapUsedBytes: number("heap"),
		journalBytes: number("journal"),
		...(row.p50 !== null && { latencyMs: { p50: number("p50"), p99: number("p99") } }),
		...(number("started") > 0 && { started: true as const }),
	};
}
