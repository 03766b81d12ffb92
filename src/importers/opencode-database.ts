import { existsSync, statSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { describeError } from "../core/errno.ts";
import { openForReading, sqliteErrorCode } from "../core/sqlite.ts";

/** `tooLong`: the row exceeds the bound. */
type Row = { readonly value: unknown } | "damaged" | "tooLong";

/**
 * The sessions in a database of opencode, as the lines of exports. Reads one state of the database,
 * also while opencode writes. Leaves no file behind.
 */
export async function* readOpencodeDatabase(
	file: string,
	maxRowBytes: number,
): AsyncGenerator<Row> {
	const before = stateOf(file);
	const opened = await openForReading(before.isInUse ? file : aloneUrl(file));
	if (opened.kind !== "open") throw new Error(`cannot read ${file}: ${opened.message}`);
	const { database } = opened;
	try {
		if (!hasTables(database)) {
			throw new Error(`${file} is not a session: it does not have opencode's tables`);
		}
		database.exec("BEGIN");
		yield* rowsOf(database, maxRowBytes);
	} catch (error) {
		if (sqliteErrorCode(error) === undefined) throw error;
		throw new Error(`cannot read ${file}: ${describeError(error)}`, { cause: error });
	} finally {
		database.close();
	}
	const after = stateOf(file);
	if (!before.isInUse && after.changedMs !== before.changedMs) {
		throw new Error(`${file} changed while it was read; try again`);
	}
}

/** A database that a program has open, or that a crash left behind, has a log. */
function stateOf(file: string) {
	const changedMs = statSync(file, { throwIfNoEntry: false })?.mtimeMs;
	return { changedMs, isInUse: existsSync(`${file}-wal`) };
}

/** Without locks: SQLite would create a log beside the file, and could not remove it. */
function aloneUrl(file: string): string {
	const url = pathToFileURL(file);
	url.searchParams.set("immutable", "1");
	return url.href;
}

function hasTables(database: DatabaseSync): boolean {
	const tables = database.prepare(
		"SELECT name FROM sqlite_master WHERE type = 'table' AND name IN ('session', 'message', 'part')",
	);
	return tables.all().length === 3;
}

function* rowsOf(database: DatabaseSync, maxRowBytes: number): Generator<Row> {
	// The newest first: a database may have more than is read.
	const sessions = database.prepare("SELECT * FROM session ORDER BY time_created DESC, id DESC");
	const messages = database.prepare(
		"SELECT id, CASE WHEN length(data) <= ? THEN data END AS data FROM message WHERE session_id = ? ORDER BY time_created, id",
	);
	const parts = database.prepare(
		"SELECT CASE WHEN length(data) <= ? THEN data END AS data FROM part WHERE message_id = ? ORDER BY id",
	);
	for (const { id, parent_id, directory, version, time_created } of sessions.iterate()) {
		const parentID = parent_id ?? undefined;
		const time = { created: time_created };
		yield { value: { info: { id, directory, version, parentID, time } } };
		for (const message of messages.iterate(maxRowBytes, id as string)) {
			const info = parsed(message.data);
			if (typeof info === "string") yield info;
			else {
				const all = parts.all(maxRowBytes, message.id as string).map(({ data }) => parsed(data));
				for (const fault of all) if (typeof fault === "string") yield fault;
				const sound = all.flatMap((part) => (typeof part === "string" ? [] : [part.value]));
				yield { value: { info: info.value, parts: sound } };
			}
		}
	}
}

function parsed(data: unknown): Row {
	if (data === null) return "tooLong";
	try {
		return { value: JSON.parse(String(data)) };
	} catch {
		return "damaged"; // the caller counts it
	}
}
