import type { AdmittedCommand, SessionRecord, StoredCommand } from "./journal.ts";

/**
 * A client's own text as a column. SQLite keeps UTF-8, which would make one of all texts with half a surrogate pair;
 * those are stored as bytes, which are equal to no text.
 */
export function toColumn(text: string): string | Uint8Array {
	return text.isWellFormed() ? text : Buffer.from(text, "utf16le");
}

export function fromColumn(value: string | Uint8Array): string {
	return typeof value === "string" ? value : Buffer.from(value).toString("utf16le");
}

/** The columns of {@link CommandRow}, for a SELECT. */
export const COMMAND_COLUMNS =
	"principal, id, type, session, fingerprint, key, key_session, admitted_at, outcome, finished_at, digest";

export interface CommandRow {
	principal: string;
	id: string | Uint8Array;
	type: string;
	session: string | null;
	fingerprint: string;
	key: string | Uint8Array | null;
	key_session: string | null;
	admitted_at: number;
	outcome: string | null;
	finished_at: number | null;
	digest: string | null;
}

/** A row as a command, without its outcome. */
export function admittedFromRow(row: CommandRow): AdmittedCommand {
	return {
		principal: row.principal,
		id: fromColumn(row.id),
		type: row.type,
		...(row.session === null ? {} : { sessionId: row.session }),
		fingerprint: row.fingerprint,
		...(row.key === null ? {} : { idempotencyKey: fromColumn(row.key) }),
		...(row.key_session === null ? {} : { keySessionId: row.key_session }),
		atMs: row.admitted_at,
	};
}

/** A row as a command, with its outcome if it has one. */
export function commandFromRow(row: CommandRow): StoredCommand {
	if (row.outcome === null || row.finished_at === null) return admittedFromRow(row);
	return {
		...admittedFromRow(row),
		response: JSON.parse(row.outcome),
		finishedAtMs: row.finished_at,
		...(row.digest === null ? {} : { digest: row.digest }),
	};
}

export interface SessionRow {
	principal: string;
	id: string;
	cwd: string;
	file: string | null;
	created_at: number;
	settings: string;
	version: number;
}

export function sessionFromRow(row: SessionRow): SessionRecord & { version: number } {
	return {
		principal: row.principal,
		id: row.id,
		cwd: row.cwd,
		...(row.file === null ? {} : { file: row.file }),
		createdAtMs: row.created_at,
		settings: JSON.parse(row.settings),
		version: row.version,
	};
}
