import type { DatabaseSync } from "node:sqlite";
import type { ForgottenMark, WriterRequest } from "./messages.ts";
import { WITHOUT_SESSION } from "./recovery.ts";
import type { Writer } from "./writer.ts";

type KeepUntil = WriterRequest & { kind: "sweep" };

interface Swept {
	commands: number;
	events: number;
	forgotten: ForgottenMark[];
	more: boolean;
}

/** Above `maxBytes`: reads (repeatable), then events (clients get a gap), then finished changes. */
export function sweepStep(database: DatabaseSync, writer: Writer, keep: KeepUntil): Swept {
	let swept = NOTHING;
	writer.transaction(() => {
		swept =
			removeAbandoned(database) ??
			removeCommands(database, OLDEST_COMMANDS, keep.olderThanMs) ??
			removeEvents(database, keep.olderThanMs) ??
			removeOwners(database, keep.maxOwned) ??
			removeEnded(database, keep.olderThanMs) ??
			(writer.size().usedBytes > keep.maxBytes ? removeOldest(database) : undefined) ??
			NOTHING;
		for (const { principal, before } of swept.forgotten) {
			database.prepare(REMEMBER).run(principal, before);
		}
	});
	return swept;
}

const NOTHING: Swept = { commands: 0, events: 0, forgotten: [], more: false };

/** Per principal. */
const MAX_ENDED = 10_000;

/** Few enough not to delay waiting commands. */
const STEP_ROWS = 500;

// Rows are in time order: only the first are read, not the whole table.
const OLDEST_COMMANDS = `SELECT position FROM commands ORDER BY position LIMIT ${STEP_ROWS}`;
const OLDEST_READS = `SELECT position FROM commands WHERE changing = 0 ORDER BY position LIMIT ${STEP_ROWS}`;
const OLDEST_EVENTS = `SELECT position FROM events ORDER BY position LIMIT ${STEP_ROWS}`;
const REMEMBER = `INSERT INTO forgotten (principal, before) VALUES (?, ?)
	ON CONFLICT (principal) DO UPDATE SET before = max(before, excluded.before)`;

function removeOldest(database: DatabaseSync): Swept | undefined {
	const anyTime = Number.MAX_SAFE_INTEGER;
	return (
		removeCommands(database, OLDEST_READS, anyTime) ??
		removeEvents(database, anyTime) ??
		removeCommands(database, OLDEST_COMMANDS, anyTime)
	);
}

function removeAbandoned(database: DatabaseSync): Swept | undefined {
	const stream = database.prepare("SELECT id FROM streams WHERE gone = 1 LIMIT 1").get()?.id;
	if (stream === undefined) return undefined;
	const ofStream = `SELECT position FROM events WHERE stream = ? LIMIT ${STEP_ROWS}`;
	const events = Number(
		database.prepare(`DELETE FROM events WHERE position IN (${ofStream})`).run(stream).changes,
	);
	if (events < STEP_ROWS) database.prepare("DELETE FROM streams WHERE id = ?").run(stream);
	return { ...NOTHING, events, more: true };
}

function removeCommands(
	database: DatabaseSync,
	among: string,
	olderThanMs: number,
): Swept | undefined {
	const rows = database
		.prepare(
			`DELETE FROM commands WHERE outcome IS NOT NULL AND admitted_at < ? AND position IN (${among})
				RETURNING principal, admitted_at AS at`,
		)
		.all(olderThanMs) as unknown as { principal: string; at: number }[];
	if (rows.length === 0) return undefined;
	const marks = new Map<string, number>();
	for (const { principal, at } of rows) {
		marks.set(principal, Math.max(marks.get(principal) ?? 0, at + 1));
	}
	const forgotten = [...marks].map(([principal, before]) => ({ principal, before }));
	return { ...NOTHING, commands: rows.length, forgotten, more: true };
}

function removeEvents(database: DatabaseSync, olderThanMs: number): Swept | undefined {
	const { changes } = database
		.prepare(`DELETE FROM events WHERE at < ? AND position IN (${OLDEST_EVENTS})`)
		.run(olderThanMs);
	return changes === 0 ? undefined : { ...NOTHING, events: Number(changes), more: true };
}

function removeOwners(database: DatabaseSync, most: number): Swept | undefined {
	const crowded = crowdedBy(database, "FROM owners", most);
	if (crowded === undefined) return undefined;
	const oldest = "SELECT position FROM owners WHERE principal = ? ORDER BY position LIMIT ?";
	const remove = database.prepare(`DELETE FROM owners WHERE position IN (${oldest})`);
	remove.run(crowded.principal, crowded.excess);
	return { ...NOTHING, more: true };
}

function crowdedBy(database: DatabaseSync, from: string, most: number) {
	const row = database
		.prepare(
			`SELECT principal, count(*) AS count ${from} GROUP BY principal HAVING count(*) > ${most}`,
		)
		.get();
	if (row === undefined) return undefined;
	const excess = Math.min(STEP_ROWS, Number(row.count) - most);
	return { principal: String(row.principal), excess };
}

/** A later session of such an id restarts at 1. */
function removeEnded(database: DatabaseSync, olderThanMs: number): Swept | undefined {
	const ended = `FROM streams WHERE ended_at IS NOT NULL AND ${WITHOUT_SESSION}`;
	const remove = (which: string) =>
		database.prepare(`DELETE FROM streams WHERE id IN (SELECT id ${ended} AND ${which})`);
	const old = remove(`ended_at < ? LIMIT ${STEP_ROWS}`).run(olderThanMs).changes;
	if (old > 0) return { ...NOTHING, more: true };
	const crowded = crowdedBy(database, ended, MAX_ENDED);
	if (crowded === undefined) return undefined;
	remove("principal = ? ORDER BY ended_at LIMIT ?").run(crowded.principal, crowded.excess);
	return { ...NOTHING, more: true };
}
