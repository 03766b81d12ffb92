import type { DatabaseSync } from "node:sqlite";
import { interrupted, type Recovered } from "./journal.ts";
import type { EvictionMark } from "./messages.ts";
import { COMMAND_COLUMNS, commandOf, fieldsOf, toColumn } from "./schema.ts";

export function readRecovered(database: DatabaseSync, nowMs: number): Recovered {
	const all = (sql: string) => database.prepare(sql).all();
	const sessions = all(
		`SELECT principal, id, cwd, file, created_at AS createdAtMs, settings, version FROM sessions
			ORDER BY created_at, id`,
	);
	const unfinished = all(
		`SELECT ${COMMAND_COLUMNS} FROM commands WHERE outcome IS NULL ORDER BY position`,
	);
	const cutOff = all(
		`SELECT streams.principal, streams.session AS sessionId FROM streams JOIN sessions
			ON sessions.principal = streams.principal AND sessions.id = streams.session
			WHERE under_way = 1 AND gone = 0`,
	);
	const open = database.prepare("SELECT value FROM meta WHERE name = 'open'").get();
	return {
		sessions: sessions.map((row) => ({
			...fieldsOf<Recovered["sessions"][number]>(row),
			settings: JSON.parse(String(row.settings)),
		})),
		interrupted: unfinished.map((row) => interrupted(commandOf(row), nowMs)),
		cutOff: cutOff.map(fieldsOf<Recovered["cutOff"][number]>),
		crashed: open?.value === 1,
	};
}

/** Stores recovered failures. Abandons events of sessions that were never created. Call in a transaction. */
export function settleRecovered(database: DatabaseSync, recovered: Recovered, nowMs: number): void {
	const finish = database.prepare(
		`UPDATE commands SET outcome = ?, finished_at = ?, success = 0, error = ?, code = ?
			WHERE principal = ? AND id = ? AND outcome IS NULL`,
	);
	for (const { principal, id, response, finishedAtMs } of recovered.interrupted) {
		const { error = null, code = null } = response ?? {};
		finish.run(JSON.stringify(response), finishedAtMs ?? 0, error, code, principal, toColumn(id));
	}
	const abandon = `UPDATE streams SET gone = 1 WHERE gone = 0 AND ended_at IS NULL AND ${WITHOUT_SESSION}
		RETURNING principal, session, last`;
	type Abandoned = { principal: string; session: string; last: number };
	const abandoned = database.prepare(abandon).all() as unknown as Abandoned[];
	// Clients may have seen these numbers, so the next session with the id must not reuse them.
	const end = database.prepare(
		"INSERT INTO streams (principal, session, last, ended_at) VALUES (?, ?, ?, ?)",
	);
	for (const { principal, session, last } of abandoned)
		end.run(principal, session, last + 1, nowMs);
	database.exec("INSERT OR REPLACE INTO meta (name, value) VALUES ('open', 1)");
}

export const WITHOUT_SESSION = `NOT EXISTS
	(SELECT 1 FROM sessions WHERE sessions.principal = streams.principal AND sessions.id = streams.session)`;

/** Marks a clean shutdown. Call in a transaction. */
export function markClosed(database: DatabaseSync): void {
	database.exec("INSERT OR REPLACE INTO meta (name, value) VALUES ('open', 0)");
}

export function readEvictionMarks(database: DatabaseSync): EvictionMark[] {
	const rows = database.prepare("SELECT principal, before FROM forgotten").all();
	return rows as unknown as EvictionMark[];
}
