import type { DatabaseSync } from "node:sqlite";
import {
	admittedFromRow,
	COMMAND_COLUMNS,
	type CommandRow,
	type SessionRow,
	sessionFromRow,
	toColumn,
} from "./columns.ts";
import type { Recovered } from "./journal.ts";
import type { ForgottenMark } from "./messages.ts";
import { interrupted } from "./outcome.ts";

/** What the journal holds for a process that begins with it. Only reads. */
export function readRecovered(database: DatabaseSync, nowMs: number): Recovered {
	const sessions = database.prepare("SELECT * FROM sessions ORDER BY created_at, id").all();
	const unfinished = database
		.prepare(`SELECT ${COMMAND_COLUMNS} FROM commands WHERE outcome IS NULL ORDER BY position`)
		.all();
	const cutOff = database
		.prepare(
			`SELECT streams.principal, streams.session FROM streams JOIN sessions
				ON sessions.principal = streams.principal AND sessions.id = streams.session
				WHERE under_way = 1 AND gone = 0`,
		)
		.all() as unknown as { principal: string; session: string }[];
	const open = database.prepare("SELECT value FROM meta WHERE name = 'open'").get();
	return {
		sessions: (sessions as unknown as SessionRow[]).map(sessionFromRow),
		interrupted: (unfinished as unknown as CommandRow[]).map((row) =>
			interrupted(admittedFromRow(row), nowMs),
		),
		cutOff: cutOff.map(({ principal, session }) => ({ principal, sessionId: session })),
		crashed: open?.value === 1,
	};
}

/**
 * Stores the failure of the commands that were interrupted, abandons the events of sessions that never came to be, and
 * notes that the journal is in use. Call it in a transaction.
 */
export function settleRecovered(database: DatabaseSync, recovered: Recovered, nowMs: number): void {
	const finish = database.prepare(
		`UPDATE commands SET outcome = ?, finished_at = ?, success = 0, error = ?, code = ?
			WHERE principal = ? AND id = ? AND outcome IS NULL`,
	);
	for (const { principal, id, response, finishedAtMs } of recovered.interrupted) {
		const { error = null, code = null } = response ?? {};
		finish.run(JSON.stringify(response), finishedAtMs ?? 0, error, code, principal, toColumn(id));
	}
	const abandoned = database
		.prepare(
			`UPDATE streams SET gone = 1 WHERE gone = 0 AND ended_at IS NULL AND ${WITHOUT_SESSION}
				RETURNING principal, session, last`,
		)
		.all() as unknown as { principal: string; session: string; last: number }[];
	// Somebody may have seen them: their numbers are not given again.
	const end = database.prepare(
		"INSERT INTO streams (principal, session, last, ended_at) VALUES (?, ?, ?, ?)",
	);
	for (const { principal, session, last } of abandoned)
		end.run(principal, session, last + 1, nowMs);
	database.exec("INSERT OR REPLACE INTO meta (name, value) VALUES ('open', 1)");
}

/** Of a stream: there is no session of its name. */
export const WITHOUT_SESSION = `NOT EXISTS
	(SELECT 1 FROM sessions WHERE sessions.principal = streams.principal AND sessions.id = streams.session)`;

/** Notes that the journal was closed in good order. Call it in a transaction. */
export function markClosed(database: DatabaseSync): void {
	database.exec("INSERT OR REPLACE INTO meta (name, value) VALUES ('open', 0)");
}

export function readForgotten(database: DatabaseSync): ForgottenMark[] {
	const rows = database.prepare("SELECT principal, before FROM forgotten").all();
	// A row of SQLite has no prototype, which a message to another thread does not need either way.
	return rows as unknown as ForgottenMark[];
}
