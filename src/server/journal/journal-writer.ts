import type { DatabaseSync, StatementSync } from "node:sqlite";
import { describeError } from "../../core/errno.ts";
import { sqliteErrorCode } from "../../core/sqlite.ts";
import type { AdmittedCommand, StreamEvent, StreamName } from "./journal.ts";
import { COMMITS } from "./mark.ts";
import type { JournalRecord, JournalSize, SessionColumns } from "./messages.ts";
import { prepare, toColumn } from "./schema.ts";
import { streamKey } from "./uncommitted.ts";

/** A record that SQLite can never store, such as one that is too large. Nothing of its batch was written. */
export class BadRecord extends Error {
	readonly index: number;

	constructor(index: number, cause: unknown) {
		super(describeError(cause), { cause });
		this.index = index;
	}
}

export class JournalWriter {
	readonly #database: DatabaseSync;
	readonly #sql: Record<keyof typeof SQL, StatementSync>;
	readonly #counts: Counts;
	#isFull: boolean | undefined;
	/** The number of the last transaction. */
	commits = 0;

	constructor(database: DatabaseSync) {
		this.#database = database;
		this.#sql = prepare(database, SQL);
		this.#counts = this.#sql.counts.get() as unknown as Counts;
	}

	/** Writes all or none. If `durable`, they survive power cuts. Throws {@link BadRecord} or SQLite errors. */
	write(records: readonly JournalRecord[], durable: boolean): void {
		this.#synchronise(durable);
		const before = { ...this.#counts };
		let index = 0;
		try {
			this.transaction(() => {
				const lasts: StreamLasts = new Map();
				for (; index < records.length; index++) {
					this.#apply(records[index] as JournalRecord, lasts);
				}
				for (const { stream, last, inProgress } of lasts.values()) {
					this.#sql.setLast.run(last, inProgress ? 1 : 0, stream);
				}
			});
		} catch (error) {
			Object.assign(this.#counts, before);
			// If the commit failed, `index` is past the end.
			if (index < records.length && isAboutTheRecord(error)) throw new BadRecord(index, error);
			throw error;
		}
	}

	probe(): void {
		this.#synchronise(true);
		this.transaction(() => this.#sql.setMeta.run("probe", Buffer.alloc(PROBE_BYTES)));
		this.transaction(() => this.#sql.deleteMeta.run("probe"));
	}

	/** Each transaction also stores its number, so a truncated log shows which transaction was its last. */
	transaction(body: () => void): void {
		this.#database.exec("BEGIN IMMEDIATE");
		try {
			body();
			const commits = Number(this.#sql.count.get(COMMITS)?.value);
			this.#database.exec("COMMIT");
			this.commits = commits;
		} catch (error) {
			// SQLite rolls back by itself on a full or broken disk.
			if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
			throw error;
		}
	}

	size(): JournalSize {
		const { fileBytes, usedBytes } = this.#sql.pages.get() as unknown as JournalSize;
		return { fileBytes, usedBytes, ...this.#counts };
	}

	removed({ commands, events }: { commands: number; events: number }): void {
		this.#counts.commands -= commands;
		this.#counts.events -= events;
	}

	#synchronise(isFull: boolean): void {
		if (this.#isFull === isFull) return;
		this.#database.exec(`PRAGMA synchronous = ${isFull ? "FULL" : "NORMAL"}`);
		this.#isFull = isFull;
	}

	#apply(record: JournalRecord, lasts: StreamLasts): void {
		switch (record.kind) {
			case "admit":
				this.#counts.commands += this.#insert(record.command, true, NO_OUTCOME);
				return;
			case "outcome":
				this.#applyOutcome(record, lasts);
				return;
			case "session":
				this.#saveSession(record.session, undefined);
				return;
			case "owner": {
				const statement = record.owns ? this.#sql.own : this.#sql.disown;
				statement.run(record.conversation, record.principal);
				return;
			}
			case "entries":
				return; // a file's conversations are in pi's own files
			case "event":
				this.#applyEvent(record.event, lasts);
		}
	}

	#applyOutcome(record: JournalRecord & { kind: "outcome" }, lasts: StreamLasts): void {
		const { command, changing, response, session, version, removed } = record;
		const { principal, finishedAtMs } = command;
		const columns: OutcomeColumns = [
			record.outcome,
			finishedAtMs,
			response.success ? 1 : 0,
			response.error ?? null,
			response.code ?? null,
			response.sessionVersion ?? null,
			command.digest ?? null,
		];
		// A change has a row since its admission, a read has none. The likelier statement runs first.
		const isUpdated = changing && this.#finish(command, columns);
		const inserted = isUpdated ? 0 : this.#insert(command, changing, columns);
		this.#counts.commands += inserted;
		if (!isUpdated && inserted === 0 && !changing) this.#finish(command, columns);

		if (session) this.#saveSession(session, version);
		else if (version !== undefined && command.sessionId !== undefined) {
			this.#sql.setVersion.run(version, principal, command.sessionId);
		}
		if (removed !== undefined) {
			const { sessionId, last } = removed;
			this.#counts.sessions -= Number(this.#sql.deleteSession.run(principal, sessionId).changes);
			// If the batch is sent again, the stream has already ended, and its replacement stays.
			this.#sql.abandonStream.run(principal, sessionId, last);
			if (last > 0) this.#sql.insertEnded.run(principal, sessionId, last, finishedAtMs);
			lasts.delete(streamKey({ principal, sessionId }));
			this.#sql.freeKeys.run(principal, sessionId, sessionId);
		}
	}

	/** Keeps the first outcome: a late one does not overwrite a timeout. */
	#finish(command: AdmittedCommand, columns: OutcomeColumns): boolean {
		const { principal, id, sessionId = null } = command;
		return this.#sql.finish.run(...columns, sessionId, principal, toColumn(id)).changes === 1;
	}

	#insert(command: AdmittedCommand, changing: boolean, columns: OutcomeColumns): number {
		const key = command.idempotencyKey;
		const { changes } = this.#sql.insert.run(
			command.principal,
			toColumn(command.id),
			command.type,
			command.sessionId ?? null,
			command.fingerprint,
			key === undefined ? null : toColumn(key),
			command.keySessionId ?? null,
			command.atMs,
			changing ? 1 : 0,
			...columns,
		);
		return Number(changes);
	}

	#saveSession(session: SessionColumns, version: number | undefined): void {
		const columns = [session.cwd, session.file ?? null, session.createdAtMs, session.settings];
		const { principal, id } = session;
		const updated = this.#sql.updateSession.run(...columns, version ?? null, principal, id);
		if (updated.changes === 1) return;
		this.#sql.insertSession.run(principal, id, ...columns, version ?? 0);
		this.#counts.sessions++;
	}

	#applyEvent(event: StreamEvent, lasts: StreamLasts): void {
		const { seq, atMs, body, inProgress = false } = event;
		const name = streamKey(event);
		const known = lasts.get(name);
		const stream = known?.stream ?? this.#streamId(event);
		// A batch is sent again if its thread died, so its rows may already exist.
		this.#counts.events += Number(this.#sql.append.run(stream, seq, atMs, body).changes);
		lasts.set(name, { stream, last: Math.max(known?.last ?? 0, seq), inProgress });
	}

	#streamId({ principal, sessionId }: StreamName): number {
		const found = this.#sql.stream.get(principal, sessionId)?.id;
		return Number(found ?? this.#sql.insertStream.run(principal, sessionId).lastInsertRowid);
	}
}

/** A disk with room for this many bytes has room for a batch or two. */
const PROBE_BYTES = 65_536;

/** In this order: outcome, finished_at, success, error, code, version, digest. */
type OutcomeColumns = (string | number | null)[];
const NO_OUTCOME: OutcomeColumns = [null, null, null, null, null, null, null];

type Counts = Pick<JournalSize, "commands" | "events" | "sessions">;

type StreamLasts = Map<string, { stream: number; last: number; inProgress: boolean }>;

/** True for SQLITE_TOOBIG, _CONSTRAINT, _MISMATCH and _RANGE, and for values that cannot be bound. */
function isAboutTheRecord(error: unknown): boolean {
	const code = sqliteErrorCode(error);
	return code === undefined || [18, 19, 20, 25].includes(code);
}

const SQL = {
	insert: `INSERT OR IGNORE INTO commands (principal, id, type, session, fingerprint, key, key_session, admitted_at,
		changing, outcome, finished_at, success, error, code, version, digest)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
	finish: `UPDATE commands SET outcome = ?, finished_at = ?, success = ?, error = ?, code = ?, version = ?, digest = ?,
		session = coalesce(?, session) WHERE principal = ? AND id = ? AND outcome IS NULL`,
	// Commands in flight keep their keys: they may be meant for the next session with that id.
	freeKeys: `UPDATE commands SET key = NULL WHERE principal = ? AND session = ? AND key_session = ?
		AND key IS NOT NULL AND finished_at IS NOT NULL`,
	insertSession: `INSERT INTO sessions (principal, id, cwd, file, created_at, settings, version)
		VALUES (?, ?, ?, ?, ?, ?, ?)`,
	updateSession: `UPDATE sessions SET cwd = ?, file = ?, created_at = ?, settings = ?, version = coalesce(?, version)
		WHERE principal = ? AND id = ?`,
	setVersion: "UPDATE sessions SET version = ? WHERE principal = ? AND id = ?",
	deleteSession: "DELETE FROM sessions WHERE principal = ? AND id = ?",
	own: "INSERT OR IGNORE INTO owners (conversation, principal) VALUES (?, ?)",
	disown: "DELETE FROM owners WHERE conversation = ? AND principal = ?",
	stream: "SELECT id FROM streams WHERE principal = ? AND session = ? AND gone = 0",
	insertStream: "INSERT INTO streams (principal, session, last) VALUES (?, ?, 0)",
	setLast: "UPDATE streams SET last = max(last, ?), under_way = ?, ended_at = NULL WHERE id = ?",
	abandonStream: `UPDATE streams SET gone = 1, ended_at = NULL
		WHERE principal = ? AND session = ? AND gone = 0 AND last < ?`,
	insertEnded:
		"INSERT OR IGNORE INTO streams (principal, session, last, ended_at) VALUES (?, ?, ?, ?)",
	append: "INSERT OR IGNORE INTO events (stream, seq, at, body) VALUES (?, ?, ?, ?)",
	setMeta: "INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)",
	count: `INSERT INTO meta (name, value) VALUES (?, 1)
		ON CONFLICT (name) DO UPDATE SET value = value + 1 RETURNING value`,
	deleteMeta: "DELETE FROM meta WHERE name = ?",
	counts: `SELECT (SELECT count(*) FROM commands) AS commands, (SELECT count(*) FROM events) AS events,
		(SELECT count(*) FROM sessions) AS sessions`,
	pages: `SELECT page_count * page_size AS fileBytes, (page_count - freelist_count) * page_size AS usedBytes
		FROM pragma_page_count, pragma_page_size, pragma_freelist_count`,
};
