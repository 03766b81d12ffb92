import type { DatabaseSync, StatementSync } from "node:sqlite";
import type {
	CommandHistoryEntry,
	CommandHistoryQuery,
	KeyScope,
	Ownership,
	StoredCommand,
	StreamEvent,
	StreamName,
} from "./journal.ts";
import { COMMAND_COLUMNS, commandOf, fieldsOf, fromColumn, prepare, toColumn } from "./schema.ts";

export interface IdRow {
	readonly position: number;
	readonly principal: string;
	readonly id: string;
}

/** A page of events ends with the event that brings it to this size. */
const PAGE_CHARACTERS = 2 ** 20;

/** Reads the journal while another thread writes. Throws SQLite errors. */
export class JournalReader {
	readonly #database: DatabaseSync;
	readonly #sql: Record<keyof typeof SQL, StatementSync>;

	constructor(database: DatabaseSync) {
		this.#database = database;
		this.#sql = prepare(database, SQL);
	}

	byId(principal: string, id: string): StoredCommand | undefined {
		const row = this.#sql.byId.get(principal, toColumn(id));
		return row && commandOf(row);
	}

	ids(after: number, limit: number): IdRow[] {
		const rows = this.#sql.ids.all(after, limit) as unknown as IdRow[];
		return rows.map(({ position, principal, id }) => ({ position, principal, id: fromColumn(id) }));
	}

	/** Returns the oldest command with the key that finished after `sinceMs` or has not finished. */
	byKey({ principal, sessionId }: KeyScope, key: string, sinceMs: number) {
		const row = this.#sql.byKey.get(principal, toColumn(key), sessionId ?? null, sinceMs);
		return row && commandOf(row);
	}

	events({ principal, sessionId }: StreamName, after: number, limit: number): StreamEvent[] {
		const events: StreamEvent[] = [];
		let characters = 0;
		for (const row of this.#sql.events.iterate(principal, sessionId, after, limit)) {
			const { seq, at, body } = row as unknown as { seq: number; at: number; body: string };
			events.push({ principal, sessionId, seq, atMs: at, body });
			characters += body.length;
			if (characters >= PAGE_CHARACTERS) break;
		}
		return events;
	}

	extent({ principal, sessionId }: StreamName): { first: number; last: number } {
		const row = this.#sql.extent.get(principal, sessionId);
		if (!row) return { first: 0, last: 0 };
		const last = Number(row.last);
		return { first: row.first === null ? last + 1 : Number(row.first), last };
	}

	owners(conversations: readonly string[]): Map<string, string> {
		const rows = this.#sql.owners.all(JSON.stringify(conversations)) as unknown as Ownership[];
		return new Map(rows.map(({ conversation, principal }) => [conversation, principal]));
	}

	hasOtherOwner(principal: string): boolean {
		return this.#sql.otherOwner.get({ principal })?.found === 1;
	}

	commandHistory(query: CommandHistoryQuery): CommandHistoryEntry[] {
		const conditions = ["principal = ?"];
		const parameters: (string | number | Uint8Array)[] = [query.principal];
		const where = (condition: string, value: string | number | Uint8Array | undefined) => {
			if (value === undefined) return;
			conditions.push(condition);
			parameters.push(value);
		};
		where("session = ?", query.sessionId);
		where("id = ?", query.commandId === undefined ? undefined : toColumn(query.commandId));
		where("admitted_at >= ?", query.fromMs);
		where("admitted_at <= ?", query.toMs);
		const sql = `SELECT id AS commandId, type AS commandType, session AS sessionId, admitted_at AS atMs,
			finished_at AS finishedAtMs, success, error, code, version AS sessionVersion FROM commands
			WHERE ${conditions.join(" AND ")} ORDER BY admitted_at DESC, position DESC LIMIT ?`;
		const rows = this.#database.prepare(sql).all(...parameters, query.limit);
		return rows.map((row) => ({
			...fieldsOf<CommandHistoryEntry>(row),
			commandId: fromColumn(row.commandId),
			...(row.success !== null && { success: row.success === 1 }),
		}));
	}

	close(): void {
		if (this.#database.isOpen) this.#database.close();
	}
}

const STREAM = "(SELECT id FROM streams WHERE principal = ? AND session = ? AND gone = 0)";

const SQL = {
	byId: `SELECT ${COMMAND_COLUMNS} FROM commands WHERE principal = ? AND id = ?`,
	ids: "SELECT position, principal, id FROM commands WHERE position > ? ORDER BY position LIMIT ?",
	byKey: `SELECT ${COMMAND_COLUMNS} FROM commands WHERE principal = ? AND key = ? AND key_session IS ?
		AND (finished_at IS NULL OR finished_at > ?) ORDER BY position LIMIT 1`,
	owners: `SELECT conversation, principal FROM owners
		WHERE conversation IN (SELECT value FROM json_each(?))`,
	// Two ranges of an index, not `<>`, which would read all rows of the principal.
	otherOwner: `SELECT EXISTS (SELECT 1 FROM owners WHERE principal < :principal)
		OR EXISTS (SELECT 1 FROM owners WHERE principal > :principal) AS found`,
	events: `SELECT seq, at, body FROM events WHERE stream = ${STREAM} AND seq > ? ORDER BY seq LIMIT ?`,
	extent: `SELECT last, (SELECT seq FROM events WHERE stream = streams.id ORDER BY seq LIMIT 1) AS first
		FROM streams WHERE principal = ? AND session = ? AND gone = 0`,
};
