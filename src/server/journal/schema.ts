import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { Migration } from "../../core/sqlite.ts";
import type { AdmittedCommand, StoredCommand } from "./journal.ts";

/**
 * `id` and `key` are ANY: see {@link toColumn}. `success`, `error` and `version` repeat `outcome`, so that
 * the command history need not parse megabytes. The stream of a deleted session is `gone` until its events
 * are deleted. A row with `ended_at` keeps its `last`, so that a new session with that id continues the
 * numbers, until retention evicts the row.
 */
export const migrations: Migration[] = [
	(database) =>
		database.exec(`
			CREATE TABLE meta (name TEXT PRIMARY KEY, value ANY) STRICT, WITHOUT ROWID;

			CREATE TABLE commands (
				position INTEGER PRIMARY KEY,
				principal TEXT NOT NULL,
				id ANY NOT NULL,
				type TEXT NOT NULL,
				session TEXT,
				fingerprint TEXT NOT NULL,
				key ANY,
				admitted_at INTEGER NOT NULL,
				changing INTEGER NOT NULL,
				outcome TEXT,
				finished_at INTEGER,
				success INTEGER,
				error TEXT,
				version INTEGER
			) STRICT;
			CREATE UNIQUE INDEX commands_by_id ON commands (principal, id);
			CREATE INDEX commands_by_key ON commands (principal, key, session) WHERE key IS NOT NULL;
			CREATE INDEX commands_by_time ON commands (principal, admitted_at);
			CREATE INDEX commands_by_session ON commands (principal, session, admitted_at)
				WHERE session IS NOT NULL;
			CREATE INDEX commands_under_way ON commands (position) WHERE outcome IS NULL;
			CREATE INDEX commands_reading ON commands (position) WHERE changing = 0;

			CREATE TABLE forgotten (principal TEXT PRIMARY KEY, before INTEGER NOT NULL) STRICT;

			CREATE TABLE sessions (
				principal TEXT NOT NULL,
				id TEXT NOT NULL,
				cwd TEXT NOT NULL,
				file TEXT,
				created_at INTEGER NOT NULL,
				settings TEXT NOT NULL,
				version INTEGER NOT NULL,
				PRIMARY KEY (principal, id)
			) STRICT, WITHOUT ROWID;

			CREATE TABLE streams (
				id INTEGER PRIMARY KEY,
				principal TEXT NOT NULL,
				session TEXT NOT NULL,
				last INTEGER NOT NULL,
				gone INTEGER NOT NULL DEFAULT 0
			) STRICT;
			CREATE UNIQUE INDEX streams_by_name ON streams (principal, session) WHERE gone = 0;
			CREATE INDEX streams_gone ON streams (id) WHERE gone = 1;

			CREATE TABLE events (
				position INTEGER PRIMARY KEY,
				stream INTEGER NOT NULL,
				seq INTEGER NOT NULL,
				at INTEGER NOT NULL,
				body TEXT NOT NULL
			) STRICT;
			CREATE UNIQUE INDEX events_by_seq ON events (stream, seq);
		`),
	// Before this, `session` was only the key's scope, so a session's history lacked its start and its end.
	(database) =>
		database.exec(`
			ALTER TABLE commands ADD COLUMN key_session TEXT;
			ALTER TABLE commands ADD COLUMN code TEXT;
			UPDATE commands SET key_session = session WHERE key IS NOT NULL;
			DROP INDEX commands_by_key;
			CREATE INDEX commands_by_key ON commands (principal, key, key_session) WHERE key IS NOT NULL;
		`),
	// `under_way` is 1 if the last event of a stream left a run, compaction or dialog open.
	(database) =>
		database.exec(`
			ALTER TABLE streams ADD COLUMN under_way INTEGER NOT NULL DEFAULT 0;
			CREATE INDEX streams_under_way ON streams (id) WHERE under_way = 1;
		`),
	// Before this, every principal could open a closed session file.
	(database) =>
		database.exec(`
			CREATE TABLE owners (
				position INTEGER PRIMARY KEY,
				conversation TEXT NOT NULL UNIQUE,
				principal TEXT NOT NULL
			) STRICT;
			CREATE INDEX owners_by_principal ON owners (principal, position);
		`),
	// Before this, event numbers restarted when a session was deleted and created again.
	(database) =>
		database.exec(`
			ALTER TABLE streams ADD COLUMN ended_at INTEGER;
			CREATE INDEX streams_ended ON streams (principal, ended_at) WHERE ended_at IS NOT NULL;
		`),
	// Before this, long answers to reads were stored in full.
	(database) => database.exec("ALTER TABLE commands ADD COLUMN digest TEXT"),
];

/** Prepares each statement of `sql` under its name. */
export function prepare<Name extends string>(database: DatabaseSync, sql: Record<Name, string>) {
	const all = Object.entries<string>(sql).map(([name, text]) => [name, database.prepare(text)]);
	return Object.fromEntries(all) as Record<Name, StatementSync>;
}

/** UTF-8 maps all lone surrogates to one character, so a text with any is stored as UTF-16 bytes. */
export function toColumn(text: string): string | Uint8Array {
	return text.isWellFormed() ? text : Buffer.from(text, "utf16le");
}

export function fromColumn(value: unknown): string {
	return typeof value === "string" ? value : Buffer.from(value as Uint8Array).toString("utf16le");
}

export const COMMAND_COLUMNS = `principal, id, type, session AS sessionId, fingerprint, key AS idempotencyKey,
	key_session AS keySessionId, admitted_at AS atMs, outcome, finished_at AS finishedAtMs, digest`;

type Row = Readonly<Record<string, unknown>>;

export function commandOf(row: Row): StoredCommand {
	const { outcome, idempotencyKey, ...fields } = fieldsOf<
		AdmittedCommand & { outcome?: string; finishedAtMs?: number; digest?: string }
	>(row);
	return {
		...fields,
		id: fromColumn(fields.id),
		...(idempotencyKey !== undefined && { idempotencyKey: fromColumn(idempotencyKey) }),
		...(outcome !== undefined && { response: JSON.parse(outcome) }),
	};
}

export function fieldsOf<Fields>(row: Row): Fields {
	return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null)) as Fields;
}
