import { chmodSync, closeSync, mkdirSync, openSync, rmSync, statSync } from "node:fs";
import { dirname } from "node:path";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { describeError } from "../../core/errno.ts";
import { type OpenedDatabase, openDatabase, openInMemory } from "../../core/sqlite.ts";
import type { FileId, IndexReader } from "../reader.ts";
import { noProjectState, type ProjectState } from "../scan/changed-files.ts";
import { ByteReader } from "./bytes.ts";
import { FactsCache } from "./facts-cache.ts";
import { DamagedDatabase, meansDamage, storeFailure, UnavailableStore } from "./failures.ts";
import { FileTable } from "./file-table.ts";
import { IndexWriter } from "./index-writer.ts";
import { NameIds } from "./names.ts";
import { type LinkFacts, requests, resolutions } from "./records.ts";
import { migrations } from "./schema.ts";
import { prepareReader, StoredReader } from "./stored-reader.ts";

export interface StoreState {
	readonly isComplete: boolean;
	readonly updatedMs?: number;
}

/** The index of one project on disk: many readers, one writer. Failures of SQLite pass: see `storeFailure`. */
export class IndexStore {
	readonly path: string;
	readonly files = new FileTable();
	readonly #database: DatabaseSync;
	readonly identity: string;
	readonly #names: NameIds;
	readonly #facts = new FactsCache();
	readonly #statements: ReturnType<typeof prepareReader>;
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
		this.#statements = prepareReader(database);
		this.#dataVersion = database.prepare("PRAGMA data_version");
		this.#allImports = database.prepare("SELECT id, requests, resolutions FROM links");
		this.#getMeta = database.prepare("SELECT value FROM meta WHERE key = ?");
		this.#setMeta = database.prepare("INSERT OR REPLACE INTO meta VALUES (?, ?)");
		this.#reload();
	}

	get writer(): IndexWriter {
		this.#writer ??= new IndexWriter(this.#database, this.files, this.#names);
		return this.#writer;
	}

	/** Opens or creates it. Rejects with a {@link DamagedDatabase} or a `CodeIndexError` of the code `unavailable`. */
	static async open(path: string): Promise<IndexStore> {
		makePrivateFile(path);
		return IndexStore.#of(path, await openDatabase(path, migrations));
	}

	/** An index in memory, with what the one on disk holds as far as that can be read; takes up to `maxBytes`. */
	static async openInMemory(copyOf: string, maxBytes: number): Promise<IndexStore> {
		return IndexStore.#of("", await openInMemory(migrations, { copyOf, maxBytes }));
	}

	static #of(path: string, opened: OpenedDatabase): IndexStore {
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
		throw UnavailableStore.of(opened);
	}

	/** Whether the file is still the one that was opened: it may have been deleted or replaced. */
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

	/** What imports were resolved with, besides the list of files. */
	projectState(): ProjectState {
		const value = this.#getMeta.get("project")?.value;
		return typeof value === "string" ? JSON.parse(value) : noProjectState;
	}

	/** Takes notice of what other processes have stored, and says whether that was anything. */
	sync(): boolean {
		if (this.#dataVersion.get()?.data_version === this.#seenVersion) return false;
		this.#within("BEGIN", () => this.#reload());
		return true;
	}

	read<T>(question: (reader: IndexReader) => T): T {
		return this.#within("BEGIN", () => {
			// The first look at a table fixes the moment.
			this.state();
			if (this.#dataVersion.get()?.data_version !== this.#seenVersion) this.#reload();
			return question(this.reader());
		});
	}

	/** The reader of the current state. There is a new one when something was stored. */
	reader(): IndexReader {
		this.#reader ??= new StoredReader({
			files: this.files,
			names: this.#names,
			facts: this.#facts,
			statements: this.#statements,
		});
		return this.#reader;
	}

	/** What every file asks for and where that leads, also to files that are still to be taken in. */
	*imports(): Generator<{ file: FileId } & Pick<LinkFacts, "requests" | "resolutions">> {
		// All at once, since the table may be written to meanwhile.
		for (const row of this.#allImports.all()) {
			yield {
				file: row.id as FileId,
				requests: requests(new ByteReader(row.requests as Uint8Array)),
				resolutions: resolutions(new ByteReader(row.resolutions as Uint8Array)),
			};
		}
	}

	/** Begins to write; others see nothing of it until {@link commit}. */
	begin(): void {
		this.#database.exec("BEGIN IMMEDIATE");
		this.#hasChanged = false;
		if (this.#dataVersion.get()?.data_version !== this.#seenVersion) this.#reload();
	}

	/** To be called for every file that is written or removed. */
	changed(file: FileId): void {
		this.#hasChanged = true;
		this.#facts.forget(file);
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
		// SQLite itself has rolled back where the disk is full or broken.
		if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
		this.#reload();
	}

	/** Vacuums after very many changes, outside of a transaction. Without room, or with busy readers, it does nothing. */
	tidy(): void {
		try {
			this.#database.exec("INSERT INTO words (words) VALUES ('optimize')");
			this.#database.exec("VACUUM");
			this.#database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
		} catch (error) {
			if (storeFailure(error) === "damaged") throw error;
		}
	}

	close(): void {
		if (this.#database.isOpen) this.#database.close();
	}

	#within<T>(begin: string, body: () => T): T {
		this.#database.exec(begin);
		try {
			return body();
		} finally {
			if (this.#database.isTransaction) this.#database.exec("COMMIT");
		}
	}

	#reload(): void {
		this.#names.forget();
		this.#facts.forgetAll();
		this.#reader = undefined;
		this.#seenVersion = this.#dataVersion.get()?.data_version;
		this.files.load(this.#database);
	}
}

/** Deletes a database with the files that SQLite keeps beside it. */
export function removeDatabase(path: string): void {
	for (const end of ["", "-wal", "-shm", "-journal"]) rmSync(path + end, { force: true });
}

/** Creates a file and its folder, private to the owner. SQLite gives its own files the same permissions. */
export function makePrivateFile(path: string): void {
	const folder = dirname(path);
	try {
		mkdirSync(folder, { recursive: true, mode: 0o700 });
		chmodSync(folder, 0o700);
		closeSync(openSync(path, "a", 0o600));
		chmodSync(path, 0o600);
	} catch (error) {
		const message = `The code index cannot be kept in ${folder}: ${describeError(error)}`;
		throw new UnavailableStore(message, error);
	}
}

/** Tells files of the same name apart. */
export function identityOf(path: string): string {
	const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
	return stats ? `${stats.dev}:${stats.ino}` : "missing";
}
