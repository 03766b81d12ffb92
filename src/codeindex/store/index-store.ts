import { chmodSync, closeSync, mkdirSync, openSync, rmSync, statSync } from "node:fs";
import { dirname } from "node:path";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { ByteReader } from "../../core/bytes.ts";
import { describeError } from "../../core/errno.ts";
import {
	type Migration,
	type OpenedDatabase,
	openDatabase,
	openInMemory,
} from "../../core/sqlite.ts";
import type { FileId, IndexReader } from "../index-reader.ts";
import { NO_PROJECT_STATE, type ProjectState } from "../scan/scanned-tree.ts";
import { DamagedDatabase, meansDamage, storeFailure, UnavailableStore } from "./failures.ts";
import { FileTable } from "./file-table.ts";
import { IndexWriter } from "./index-writer.ts";
import { NameIds } from "./names.ts";
import { type LinkFacts, requests, resolutions } from "./records.ts";
import { StoredFacts, StoredReader } from "./stored-reader.ts";

interface StoreState {
	readonly isComplete: boolean;
	readonly updatedMs?: number;
}

/** The stored index of one project, for many readers and one writer. SQLite errors pass through. */
export class IndexStore {
	readonly path: string;
	readonly files = new FileTable();
	readonly #database: DatabaseSync;
	readonly identity: string;
	readonly #names: NameIds;
	readonly #facts: StoredFacts;
	readonly #dataVersion: StatementSync;
	readonly #allImports: StatementSync;
	readonly #getMeta: StatementSync;
	readonly #setMeta: StatementSync;
	#seenVersion: unknown;
	#reader: IndexReader | undefined;
	#writer: IndexWriter | undefined;
	#hasChanged = false;

	private constructor(path: string, database: DatabaseSync) {
		this.path = path;
		this.#database = database;
		this.identity = identityOf(path);
		this.#names = new NameIds(database);
		this.#facts = new StoredFacts(database);
		this.#dataVersion = database.prepare("PRAGMA data_version");
		this.#allImports = database.prepare("SELECT id, requests, resolutions FROM links");
		this.#getMeta = database.prepare("SELECT value FROM meta WHERE key = ?");
		this.#setMeta = database.prepare("INSERT OR REPLACE INTO meta VALUES (?, ?)");
		this.#reload();
	}

	get writer(): IndexWriter {
		this.#writer ??= new IndexWriter(this.#database, {
			files: this.files,
			names: this.#names,
			onChange: (file) => {
				this.#hasChanged = true;
				this.#facts.evict(file);
			},
		});
		return this.#writer;
	}

	/** Rejects with {@link DamagedDatabase} or a `CodeIndexError` with code `unavailable`. */
	static async open(path: string): Promise<IndexStore> {
		makePrivateFile(path);
		return IndexStore.#fromOpened(path, await openDatabase(path, migrations));
	}

	/** Copies the index on disk as far as it is readable. The copy holds at most `maxBytes`. */
	static async openInMemory(copyOf: string, maxBytes: number): Promise<IndexStore> {
		return IndexStore.#fromOpened("", await openInMemory(migrations, { copyOf, maxBytes }));
	}

	static #fromOpened(path: string, opened: OpenedDatabase): IndexStore {
		if (opened.kind === "open") {
			try {
				opened.database.exec("PRAGMA cache_size = -32000; PRAGMA temp_store = MEMORY");
				return new IndexStore(path, opened.database);
			} catch (error) {
				opened.database.close();
				throw error;
			}
		}
		if (opened.kind === "unavailable" && meansDamage(opened.errorCode)) {
			throw new DamagedDatabase(opened.message);
		}
		throw new UnavailableStore(opened);
	}

	isInPlace(): boolean {
		return identityOf(this.path) === this.identity;
	}

	state(): StoreState {
		const updated = this.#getMeta.get("updated")?.value;
		return {
			isComplete: this.#getMeta.get("complete")?.value === 1,
			...(typeof updated === "number" ? { updatedMs: updated } : {}),
		};
	}

	projectState(): ProjectState {
		const value = this.#getMeta.get("project")?.value;
		return typeof value === "string" ? JSON.parse(value) : NO_PROJECT_STATE;
	}

	/** Loads changes made by other processes. Returns whether there were any. */
	sync(): boolean {
		if (!this.#isOutdated()) return false;
		this.#inTransaction(() => this.#reload());
		return true;
	}

	read<T>(question: (reader: IndexReader) => T): T {
		return this.#inTransaction(() => {
			// The first read of a transaction fixes its snapshot.
			this.state();
			if (this.#isOutdated()) this.#reload();
			return question(this.reader());
		});
	}

	reader(): IndexReader {
		this.#reader ??= new StoredReader(this.files, this.#names, this.#facts);
		return this.#reader;
	}

	/** Unlike a reader's, these resolutions include files that are not yet indexed. */
	*imports(): Generator<{ file: FileId } & Pick<LinkFacts, "requests" | "resolutions">> {
		// All rows are read at once, since the caller may write to the table meanwhile.
		for (const row of this.#allImports.all()) {
			yield {
				file: row.id as FileId,
				requests: requests(new ByteReader(row.requests as Uint8Array)),
				resolutions: resolutions(new ByteReader(row.resolutions as Uint8Array)),
			};
		}
	}

	begin(): void {
		this.#database.exec("BEGIN IMMEDIATE");
		this.#hasChanged = false;
		if (this.#isOutdated()) this.#reload();
	}

	setState({ isComplete, updatedMs }: StoreState): void {
		this.#setMeta.run("complete", isComplete ? 1 : 0);
		if (updatedMs !== undefined) this.#setMeta.run("updated", updatedMs);
	}

	setProjectState(state: ProjectState): void {
		this.#setMeta.run("project", JSON.stringify(state));
	}

	commit(): void {
		try {
			this.#database.exec("COMMIT");
		} catch (error) {
			this.rollback();
			throw error;
		}
		if (this.#hasChanged) this.#reader = undefined;
	}

	rollback(): void {
		// SQLite rolls back by itself if the disk is full or broken.
		if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
		this.#reload();
	}

	/** Compacts the file after many changes. Has no effect if the disk is full or readers are busy. */
	vacuum(): void {
		try {
			this.#database.exec("INSERT INTO words (words) VALUES ('optimize')");
			this.#database.exec("INSERT INTO stems (stems) VALUES ('optimize')");
			this.#database.exec("VACUUM");
			this.#database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
		} catch (error) {
			if (storeFailure(error) === "damaged") throw error;
		}
	}

	close(): void {
		if (this.#database.isOpen) this.#database.close();
	}

	#inTransaction<T>(body: () => T): T {
		this.#database.exec("BEGIN");
		try {
			return body();
		} finally {
			if (this.#database.isTransaction) this.#database.exec("COMMIT");
		}
	}

	#isOutdated(): boolean {
		return this.#dataVersion.get()?.data_version !== this.#seenVersion;
	}

	#reload(): void {
		this.#names.clear();
		this.#facts.clear();
		this.#reader = undefined;
		this.#seenVersion = this.#dataVersion.get()?.data_version;
		this.files.load(this.#database);
	}
}

export function removeDatabase(path: string): void {
	for (const end of ["", "-wal", "-shm", "-journal"]) rmSync(path + end, { force: true });
}

/** Creates a file that only its owner can read. SQLite copies the permissions to its companion files. */
export function makePrivateFile(path: string): void {
	const folder = dirname(path);
	try {
		mkdirSync(folder, { recursive: true, mode: 0o700 });
		chmodSync(folder, 0o700);
		closeSync(openSync(path, "a", 0o600));
		chmodSync(path, 0o600);
	} catch (error) {
		const message = `The code index cannot be stored in ${folder}: ${describeError(error)}`;
		throw new UnavailableStore({ message, cause: error });
	}
}

export function identityOf(path: string): string {
	const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
	return stats ? `${stats.dev}:${stats.ino}` : "missing";
}

/** All data can be rebuilt from the sources, so a format change appends a step that deletes it. */
export const migrations: Migration[] = [
	(database) => database.exec(TABLES),
	// Adds conditional CommonJS exports. A trailing empty line no longer counts.
	empty,
	// Adds CommonJS exports that are also variables.
	empty,
	// Adds comments of members, and stems of symbols.
	(database) => {
		database.exec(STEM_TABLE);
		empty(database);
	},
	// Adds skeletons, which earlier versions would take for whole files. Stored files stay valid.
	() => {},
	// Adds types of parameters. Keys of object literals count as accesses.
	empty,
	// Adds uses through `this` in objects that CommonJS exports, and both names of `const a = require("x").a`.
	empty,
	// Attributes of JSX, keys of typed literals and of indexed types, and patterns in lists count as accesses.
	empty,
	// Adds members that statements of JavaScript assign.
	empty,
	// Adds first lines of declarations, and members of second-tier languages that were left out.
	empty,
];

/**
 * Tables with the key `id` hold one file's data. `declared`, `mentions`, `imports` and `passes` are for
 * reverse lookup, with one packed row per file. `words` is contentless, but rows can be deleted by id.
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

/** One row a file, for lookup by one stem: ranking happens by symbol, so positions are not stored. */
const STEM_TABLE = `
	CREATE VIRTUAL TABLE IF NOT EXISTS stems USING fts5 (
		words, content = '', contentless_delete = 1, detail = none, tokenize = "unicode61 remove_diacritics 0"
	);
`;

/** Deletes all facts. Keeps the files and marks them as not yet indexed (size -1). */
function empty(database: DatabaseSync): void {
	const tables = "links bindings refs owned names declared mentions imports passes";
	for (const table of tables.split(" ")) database.exec(`DELETE FROM ${table}`);
	const hasStems = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'stems'").get();
	if (hasStems) database.exec("INSERT INTO stems (stems) VALUES ('delete-all')");
	database.exec(`
		INSERT INTO words (words) VALUES ('delete-all');
		UPDATE files SET
			bytes = -1, stored = 0, hash = NULL, lines = NULL, flags = NULL, symbols = NULL,
			unresolved = NULL, problem = NULL, edges = NULL;
	`);
}
