import type { Migration } from "../../core/sqlite.ts";

/**
 * The history of the database. It only holds what can be made again from the sources, so a change of what is stored
 * or of how it is packed is a step that empties it: the next question parses every file again.
 */
export const migrations: Migration[] = [
	(database) => database.exec(TABLES),
	// CommonJS exports under a condition are known, and lines are counted without an empty one at the end.
	(database) => database.exec(EMPTIED),
	// CommonJS exports that are variables as well are known.
	(database) => database.exec(EMPTIED),
];

/**
 * What is looked up backwards (who declares, mentions, imports, passes on) has tables of its own, keyed by what is
 * asked, with everything of one file packed into one row. What belongs to a file alone is packed in `facts`
 * and `links`. `words` keeps no copy of the words; a row of it can be removed by its number all the same.
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

/** Leaves the list of files, as files that are still to be taken in: no real file has fewer than no bytes. */
const EMPTIED = `
	DELETE FROM links;
	DELETE FROM bindings;
	DELETE FROM refs;
	DELETE FROM owned;
	DELETE FROM names;
	DELETE FROM declared;
	DELETE FROM mentions;
	DELETE FROM imports;
	DELETE FROM passes;
	INSERT INTO words (words) VALUES ('delete-all');
	UPDATE files SET
		bytes = -1, stored = 0, hash = NULL, lines = NULL, flags = NULL, symbols = NULL, unresolved = NULL,
		problem = NULL, edges = NULL;
`;
