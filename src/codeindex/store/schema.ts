import type { DatabaseSync } from "node:sqlite";
import type { Migration } from "../../core/sqlite.ts";

/** All data can be rebuilt from the sources, so a format change appends a step that empties it. */
export const migrations: Migration[] = [
	(database) => database.exec(TABLES),
	// Conditional CommonJS exports; a trailing empty line does not count.
	empty,
	// CommonJS exports that are also variables.
	empty,
];

/**
 * Reverse lookups have their own tables, keyed by the query, with one packed row per file. Data of
 * a single file is in `facts` and `links`. `words` is contentless, but rows can be deleted by id.
 */
const TABLES = `
	CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
	CREATE TABLE files (
		id INTEGER PRIMARY KEY,
		path TEXT NOT NULL,
		bytes INTEGER NOT NULL,
		mtime REAL NOT NULL,
		ctime REAL NOT NULL,
		inode REAL NOT NULL,
		stored REAL NOT NULL,
		hash BLOB,
		lines INTEGER,
		flags INTEGER,
		symbols INTEGER,
		unresolved INTEGER,
		problem TEXT,
		edges BLOB
	);
	CREATE TABLE links (
		id INTEGER PRIMARY KEY, exports BLOB NOT NULL, requests BLOB NOT NULL, resolutions BLOB NOT NULL
	);
	CREATE TABLE bindings (id INTEGER PRIMARY KEY, data BLOB NOT NULL);
	CREATE TABLE refs (id INTEGER PRIMARY KEY, data BLOB NOT NULL);
	CREATE TABLE owned (id INTEGER PRIMARY KEY, names BLOB NOT NULL);
	CREATE TABLE names (
		name TEXT PRIMARY KEY, id INTEGER NOT NULL, declared INTEGER NOT NULL
	) WITHOUT ROWID;
	CREATE TABLE declared (
		name INTEGER, file INTEGER, data BLOB NOT NULL, PRIMARY KEY (name, file)
	) WITHOUT ROWID;
	CREATE TABLE mentions (
		name INTEGER, file INTEGER, data BLOB NOT NULL, PRIMARY KEY (name, file)
	) WITHOUT ROWID;
	CREATE TABLE imports (
		target INTEGER, name INTEGER, file INTEGER, data BLOB NOT NULL, PRIMARY KEY (target, name, file)
	) WITHOUT ROWID;
	CREATE TABLE passes (
		target INTEGER, file INTEGER, data BLOB NOT NULL, PRIMARY KEY (target, file)
	) WITHOUT ROWID;
	CREATE VIRTUAL TABLE words USING fts5 (
		path, symbols, text, content = '', contentless_delete = 1, tokenize = "unicode61 remove_diacritics 0"
	);
`;

/** Keeps the files as not yet indexed (size -1). */
function empty(database: DatabaseSync): void {
	const tables = "links bindings refs owned names declared mentions imports passes";
	for (const table of tables.split(" ")) database.exec(`DELETE FROM ${table}`);
	database.exec(`
		INSERT INTO words (words) VALUES ('delete-all');
		UPDATE files SET
			bytes = -1, stored = 0, hash = NULL, lines = NULL, flags = NULL, symbols = NULL,
			unresolved = NULL, problem = NULL, edges = NULL;
	`);
}
