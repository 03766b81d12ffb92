import { randomUUID } from "node:crypto";
import { statSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { readPartSync } from "./regular-file.ts";

type Sqlite = typeof import("node:sqlite");

/** The migration at index `i` of a list takes the schema from version `i` to `i + 1`. */
export type Migration = (database: DatabaseSync) => void;

export type OpenedDatabase =
	| { kind: "open"; database: DatabaseSync }
	| { kind: "newer"; message: string }
	| {
			kind: "unavailable";
			message: string;
			/** Set if SQLite reported an error; see {@link sqliteErrorCode}. */
			errorCode?: number;
			cause?: unknown;
	  };

/**
 * Opens a database and migrates it to schema version (`user_version`) `migrations.length`. Never touches
 * a newer database. Only this file depends on `node:sqlite`, which pi under Bun lacks.
 */
export async function openDatabase(path: string, migrations: Migration[]): Promise<OpenedDatabase> {
	const sqlite = await loadSqlite();
	if (!sqlite) return { kind: "unavailable", message: NO_SQLITE };
	for (const end = performance.now() + BUSY_MS; ; await delay(BUSY_POLL_MS)) {
		try {
			return open(sqlite, path, migrations);
		} catch (error) {
			// Retries a busy or locked database, since SQLite's timeout does not cover a journal mode change.
			const isBusy = [5, 6].includes(sqliteErrorCode(error) ?? 0);
			if (isBusy && performance.now() < end) continue;
			return refused(path, error);
		}
	}
}

/** Opens a read-only connection to an existing database. Creates and migrates nothing. */
export async function openForReading(path: string): Promise<OpenedDatabase> {
	const sqlite = await loadSqlite();
	if (!sqlite) return { kind: "unavailable", message: NO_SQLITE };
	try {
		const database = new sqlite.DatabaseSync(path, { readOnly: true, timeout: BUSY_MS });
		return { kind: "open", database };
	} catch (error) {
		return refused(path, error);
	}
}

/** Opens a database in memory, for a read-only disk. Copies `copyOf` if readable. Holds up to `maxBytes`. */
export async function openInMemory(
	migrations: Migration[],
	{ copyOf, maxBytes }: { copyOf: string; maxBytes: number },
): Promise<OpenedDatabase> {
	const sqlite = await loadSqlite();
	if (!sqlite) return { kind: "unavailable", message: NO_SQLITE };
	// `copyUnchanged` finds the database by this unique name. Closing the last connection drops the database.
	const name = `file:/strata-${randomUUID()}?vfs=memdb`;
	const database = new sqlite.DatabaseSync(name);
	try {
		const written = writtenVersion(copyOf);
		if (written > migrations.length) {
			database.close();
			return newer(copyOf, written, migrations);
		}
		copyUnchanged(sqlite, { from: copyOf, to: name, maxBytes });
		const pageSize = Number(database.prepare("PRAGMA page_size").get()?.page_size);
		database.exec(`PRAGMA max_page_count = ${Math.floor(maxBytes / pageSize)}`);
		migrate(database, migrations);
		return { kind: "open", database };
	} catch (error) {
		if (database.isOpen) database.close();
		return refused("a database in memory", error);
	}
}

/** Never writes to `from`. Falls back to copying the main file alone if it has no WAL and does not change. */
function copyUnchanged(
	sqlite: Sqlite,
	{ from, to, maxBytes }: { from: string; to: string; maxBytes: number },
): void {
	const state = () => {
		const main = statSync(from, { throwIfNoEntry: false });
		const log = statSync(`${from}-wal`, { throwIfNoEntry: false });
		return { bytes: main?.size ?? 0, changedMs: main?.mtimeMs, hasLog: (log?.size ?? 0) > 0 };
	};
	const before = state();
	if (before.bytes === 0 || before.bytes > maxBytes) return;
	const alone = pathToFileURL(from);
	alone.searchParams.set("immutable", "1");
	for (const path of before.hasLog ? [from] : [from, alone.href]) {
		let source: DatabaseSync | undefined;
		try {
			source = new sqlite.DatabaseSync(path, { readOnly: true, timeout: BUSY_MS });
			source.exec(`VACUUM INTO '${to}'`);
			const after = state();
			if (path === from || (after.changedMs === before.changedMs && !after.hasLog)) return;
			throw new Error(`${from} changed during the copy`);
		} catch (error) {
			// If `from` failed, the loop goes on with `alone`, if listed.
			if (path !== from) throw error;
		} finally {
			source?.close();
		}
	}
}

/** SQLite's primary code: 5 busy, 8 read-only, 10 I/O error, 11 damaged, 13 full, 26 not a database. */
export function sqliteErrorCode(error: unknown): number | undefined {
	const code = (error as { errcode?: unknown } | null | undefined)?.errcode;
	return typeof code === "number" ? code & 0xff : undefined;
}

function refused(path: string, error: unknown): OpenedDatabase {
	const errorCode = sqliteErrorCode(error);
	return {
		kind: "unavailable",
		message: `cannot open ${path}: ${(error as Error).message}`,
		...(errorCode !== undefined && { errorCode }),
		cause: error,
	};
}

const BUSY_MS = 5_000;
const BUSY_POLL_MS = 25;

function open(sqlite: Sqlite, path: string, migrations: Migration[]): OpenedDatabase {
	const written = writtenVersion(path);
	if (written > migrations.length) return newer(path, written, migrations);
	const database = new sqlite.DatabaseSync(path, { timeout: BUSY_MS });
	try {
		if (schemaVersion(database) <= migrations.length) {
			database.exec(
				"PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON",
			);
		}
		const version = migrate(database, migrations);
		if (version === migrations.length) return { kind: "open", database };
		database.close();
		return newer(path, version, migrations);
	} catch (error) {
		if (database.isOpen) database.close();
		throw error;
	}
}

export async function sqliteSupport(): Promise<
	{ ok: true; version: string } | { ok: false; why: string }
> {
	const sqlite = await loadSqlite();
	if (!sqlite) return { ok: false, why: NO_SQLITE };
	const database = new sqlite.DatabaseSync(":memory:");
	try {
		database.exec("CREATE VIRTUAL TABLE probe USING fts5(text)");
		const row = database.prepare("SELECT sqlite_version() AS version").get();
		return { ok: true, version: String(row?.version) };
	} catch (error) {
		return { ok: false, why: `node:sqlite lacks full-text search: ${(error as Error).message}` };
	} finally {
		database.close();
	}
}

const NO_SQLITE = "this host has no node:sqlite (pi under Bun, or Node older than 22.13)";

async function loadSqlite(): Promise<Sqlite | undefined> {
	try {
		return await import("node:sqlite");
	} catch {
		return undefined; // callers report NO_SQLITE
	}
}

function schemaVersion(database: DatabaseSync): number {
	return Number(database.prepare("PRAGMA user_version").get()?.user_version ?? 0);
}

/** Reads the file header without SQLite: on closing, SQLite would write a crashed database's WAL into it. */
function writtenVersion(path: string): number {
	try {
		const header = readPartSync(path, 0, 64);
		const isDatabase =
			header.length === 64 && header.toString("latin1", 0, 15) === "SQLite format 3";
		return isDatabase ? header.readInt32BE(60) : 0;
	} catch {
		return 0; // SQLite reports a missing or unreadable file
	}
}

/** Returns the resulting schema version. It is newer than ours if another process has migrated further. */
function migrate(database: DatabaseSync, migrations: Migration[]): number {
	const target = migrations.length;
	if (schemaVersion(database) >= target) return schemaVersion(database);
	// IMMEDIATE: of two processes that open an old database, only one migrates.
	database.exec("BEGIN IMMEDIATE");
	try {
		const version = schemaVersion(database);
		for (const step of migrations.slice(version)) step(database);
		if (version < target) database.exec(`PRAGMA user_version = ${target}`);
		database.exec("COMMIT");
		return Math.max(version, target);
	} catch (error) {
		// SQLite has already rolled back if the disk is full or broken.
		if (database.isTransaction) database.exec("ROLLBACK");
		throw error;
	}
}

function newer(path: string, found: number, { length: known }: Migration[]): OpenedDatabase {
	const message = `${path} has schema version ${found}, but this pi-strata supports up to ${known}; update pi-strata, or run "strata clean" to start over`;
	return { kind: "newer", message };
}
