import type { DatabaseSync } from "node:sqlite";
import type { JournalWriter } from "./journal-writer.ts";
import type { EvictionMark, WriterJob } from "./messages.ts";
import { WITHOUT_SESSION } from "./recovery.ts";

type SweepJob = WriterJob & { kind: "sweep" };

interface Swept {
	readonly commands: number;
	readonly events: number;
	readonly evicted: EvictionMark[];
	readonly more: boolean;
}

export function sweepStep(database: DatabaseSync, writer: JournalWriter, keep: SweepJob): Swept {
	let swept = NOTHING;
	writer.transaction(() => {
		swept =
			deleteAbandonedStream(database) ??
			evictCommands(database, OLDEST_COMMANDS, keep.olderThanMs) ??
			evictEvents(database, keep.olderThanMs) ??
			evictOwners(database, keep.maxOwned) ??
			evictEndedStreams(database, keep.olderThanMs) ??
			(writer.size().usedBytes > keep.maxBytes ? evictOldest(database) : undefined) ??
			NOTHING;
		for (const { principal, before } of swept.evicted) {
			database.prepare(SAVE_EVICTION_MARK).run(principal, before);
		}
	});
	return swept;
}

const NOTHING: Swept = { commands: 0, events: 0, evicted: [], more: false };

/** Maximum number of ended streams per principal. */
const MAX_ENDED = 10_000;

/** Maximum number of rows per step: few enough that waiting commands are not delayed. */
const STEP_ROWS = 500;

// Positions are in time order, so these queries read only the first rows, not the whole table.
const OLDEST_COMMANDS = `SELECT position FROM commands ORDER BY position LIMIT ${STEP_ROWS}`;
const OLDEST_READS = `SELECT position FROM commands WHERE changing = 0 ORDER BY position LIMIT ${STEP_ROWS}`;
const OLDEST_EVENTS = `SELECT position FROM events ORDER BY position LIMIT ${STEP_ROWS}`;
const SAVE_EVICTION_MARK = `INSERT INTO forgotten (principal, before) VALUES (?, ?)
	ON CONFLICT (principal) DO UPDATE SET before = max(before, excluded.before)`;

/** Evicts reads first (they can be repeated), then events (clients get a gap), then finished changes. */
function evictOldest(database: DatabaseSync): Swept | undefined {
	const anyTime = Number.MAX_SAFE_INTEGER;
	return (
		evictCommands(database, OLDEST_READS, anyTime) ??
		evictEvents(database, anyTime) ??
		evictCommands(database, OLDEST_COMMANDS, anyTime)
	);
}

function deleteAbandonedStream(database: DatabaseSync): Swept | undefined {
	const stream = database.prepare("SELECT id FROM streams WHERE gone = 1 LIMIT 1").get()?.id;
	if (stream === undefined) return undefined;
	const ofStream = `SELECT position FROM events WHERE stream = ? LIMIT ${STEP_ROWS}`;
	const remove = database.prepare(`DELETE FROM events WHERE position IN (${ofStream})`);
	const events = Number(remove.run(stream).changes);
	if (events < STEP_ROWS) database.prepare("DELETE FROM streams WHERE id = ?").run(stream);
	return { ...NOTHING, events, more: true };
}

function evictCommands(database: DatabaseSync, among: string, beforeMs: number): Swept | undefined {
	const sql = `DELETE FROM commands WHERE outcome IS NOT NULL AND admitted_at < ? AND position IN (${among})
		RETURNING principal, admitted_at + 1 AS before`;
	const rows = database.prepare(sql).all(beforeMs) as unknown as EvictionMark[];
	if (rows.length === 0) return undefined;
	const marks = new Map<string, number>();
	for (const { principal, before } of rows) {
		marks.set(principal, Math.max(marks.get(principal) ?? 0, before));
	}
	const evicted = [...marks].map(([principal, before]) => ({ principal, before }));
	return { ...NOTHING, commands: rows.length, evicted, more: true };
}

function evictEvents(database: DatabaseSync, olderThanMs: number): Swept | undefined {
	const { changes } = database
		.prepare(`DELETE FROM events WHERE at < ? AND position IN (${OLDEST_EVENTS})`)
		.run(olderThanMs);
	return changes === 0 ? undefined : { ...NOTHING, events: Number(changes), more: true };
}

function evictOwners(database: DatabaseSync, most: number): Swept | undefined {
	const offender = overQuota(database, "FROM owners", most);
	if (offender === undefined) return undefined;
	const oldest = "SELECT position FROM owners WHERE principal = ? ORDER BY position LIMIT ?";
	const remove = database.prepare(`DELETE FROM owners WHERE position IN (${oldest})`);
	remove.run(offender.principal, offender.excess);
	return { ...NOTHING, more: true };
}

function overQuota(database: DatabaseSync, from: string, most: number) {
	const sql = `SELECT principal, count(*) AS count ${from} GROUP BY principal HAVING count(*) > ${most}`;
	const row = database.prepare(sql).get();
	if (row === undefined) return undefined;
	const excess = Math.min(STEP_ROWS, Number(row.count) - most);
	return { principal: String(row.principal), excess };
}

/** After the eviction, a new session with the stream's id numbers its events from 1 again. */
function evictEndedStreams(database: DatabaseSync, olderThanMs: number): Swept | undefined {
	const ended = `FROM streams WHERE ended_at IS NOT NULL AND ${WITHOUT_SESSION}`;
	const remove = (which: string) =>
		database.prepare(`DELETE FROM streams WHERE id IN (SELECT id ${ended} AND ${which})`);
	const old = remove(`ended_at < ? LIMIT ${STEP_ROWS}`).run(olderThanMs).changes;
	if (old > 0) return { ...NOTHING, more: true };
	const offender = overQuota(database, ended, MAX_ENDED);
	if (offender === undefined) return undefined;
	remove("principal = ? ORDER BY ended_at LIMIT ?").run(offender.principal, offender.excess);
	return { ...NOTHING, more: true };
}
