import type { DatabaseSync } from "node:sqlite";

/** One step of a database's history. Step `i` takes the schema from version `i` to `i + 1`. */
export type Migration = (database: DatabaseSync) => void;

/** What became of opening a database. Only `open` gives one; the others say why not, for people. */
export type OpenedDatabase =
	| { kind: "open"; database: DatabaseSync }
	| { kind: "newer"; message: string }
	| { kind: "unavailable"; message: string };

/**
 * Opens (or creates) a SQLite database and brings its schema to `migrations.length`. The version lives in
 * `PRAGMA user_version`. A database of a newer pi-strata is closed again untouched. All of ours go through here,
 * so that the host without `node:sqlite` (pi under Bun) and a change of engine are one file's business.
 */
export async function openDatabase(path: string, migrations: Migration[]): Promise<OpenedDatabase> {
	const sqlite = await loadSqlite();
	if (!sqlite) return { kind: "unavailable", message: NO_SQLITE };
	let database: DatabaseSync | undefined;
	try {
		database = new sqlite.DatabaseSync(path, { timeout: 5_000 });
		const version = schemaVersion(database);
		if (version > migrations.length) {
			database.close();
			return { kind: "newer", message: newerMessage(path, version, migrations.length) };
		}
		database.exec(
			"PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON",
		);
		migrate(database, migrations);
		return { kind: "open", database };
	} catch (error) {
		if (database?.isOpen) database.close();
		return { kind: "unavailable", message: `cannot open ${path}: ${(error as Error).message}` };
	}
}

/** Whether this host has `node:sqlite` with full-text search, and if not, why. */
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

async function loadSqlite(): Promise<typeof import("node:sqlite") | undefined> {
	try {
		return await import("node:sqlite");
	} catch {
		return undefined; // the callers report NO_SQLITE
	}
}

function schemaVersion(database: DatabaseSync): number {
	return Number(database.prepare("PRAGMA user_version").get()?.user_version ?? 0);
}

function migrate(database: DatabaseSync, migrations: Migration[]): void {
	if (schemaVersion(database) === migrations.length) return;
	// IMMEDIATE: of two processes that open an old database at once, one migrates and the other finds it done.
	database.exec("BEGIN IMMEDIATE");
	try {
		for (const step of migrations.slice(schemaVersion(database))) step(database);
		database.exec(`PRAGMA user_version = ${migrations.length}`);
		database.exec("COMMIT");
	} catch (error) {
		database.exec("ROLLBACK");
		throw error;
	}
}

function newerMessage(path: string, found: number, known: number): string {
	return `${path} has schema version ${found}, this pi-strata knows up to ${known}: update pi-strata, or run "strata clean" to start over`;
}
