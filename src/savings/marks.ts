import { join } from "node:path";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { openDatabaseStore } from "../core/database-store.ts";
import { agentFolder } from "../core/places.ts";
import type { Migration } from "../core/sqlite.ts";

/** The store's name in its `version.json`. */
export const SAVINGS_STORE = "savings";

export function savingsFolder(env: NodeJS.ProcessEnv = process.env): string {
	return join(agentFolder(env), "strata", SAVINGS_STORE);
}

/** A result that stays as it is. */
export const STAYS = 0;
/** It stays, and no later result refers to it: it may be of an excluded file. */
export const HIDDEN = -1;
/** It stays, and so does every later result without a mark: the provider refused a shorter form. */
export const REFUSED = -2;

export type Mark = readonly [chain: string, version: number];

/**
 * How each result was treated when it was first seen: one of the above, or the version that shortens it. A
 * result is known by the hash of all results up to it.
 */
export interface BirthMarks {
	get(chain: string): number | undefined;
	/** Writes all of them or throws. A mark that is there keeps its version. */
	put(marks: readonly Mark[]): void;
	/** Writes all of them or throws, in place of those that are there. */
	replace(marks: readonly Mark[]): void;
	close(): void;
}

/** Marks that end with the process. */
export class MemoryMarks implements BirthMarks {
	readonly #marks = new Map<string, number>();

	get(chain: string): number | undefined {
		return this.#marks.get(chain);
	}

	put(marks: readonly Mark[]): void {
		this.#set(marks.filter(([chain]) => !this.#marks.has(chain)));
	}

	replace(marks: readonly Mark[]): void {
		this.#set(marks);
	}

	#set(marks: readonly Mark[]): void {
		for (const [chain, version] of marks) this.#marks.set(chain, version);
		for (const chain of this.#marks.keys()) {
			if (this.#marks.size <= MAX_IN_MEMORY) break;
			this.#marks.delete(chain);
		}
	}

	close(): void {}
}

const MAX_IN_MEMORY = 100_000;

const FILE = "marks.sqlite";
const DAY_MS = 24 * 60 * 60_000;

const MIGRATIONS: Migration[] = [
	(database) =>
		database.exec(`
			CREATE TABLE mark (
				chain BLOB PRIMARY KEY,
				version INTEGER NOT NULL,
				usedMs INTEGER NOT NULL
			) STRICT, WITHOUT ROWID;
			CREATE INDEX markByUse ON mark (usedMs);
		`),
];

/** A request waits for the store, so a busy one counts as failed. */
const BUSY_MS = 50;

/** Opens or creates the marks in `folder`. Several processes may use them. Rejects if that fails. */
export async function openMarks(folder: string, keepDays: number): Promise<BirthMarks> {
	const opened = await openDatabaseStore({
		folder,
		name: SAVINGS_STORE,
		file: FILE,
		migrations: MIGRATIONS,
	});
	if (opened.kind !== "open") throw new Error(opened.message);
	return new StoredMarks(opened.database, keepDays);
}

class StoredMarks implements BirthMarks {
	readonly #database: DatabaseSync;
	readonly #get: StatementSync;
	readonly #put: StatementSync;
	readonly #replace: StatementSync;

	constructor(database: DatabaseSync, keepDays: number) {
		this.#database = database;
		database
			.prepare("DELETE FROM mark WHERE usedMs < ?")
			.run(Date.now() - Math.max(1, keepDays) * DAY_MS);
		database.exec(`PRAGMA busy_timeout = ${BUSY_MS}`);
		this.#get = database.prepare("SELECT version FROM mark WHERE chain = ?");
		const used = "ON CONFLICT (chain) DO UPDATE SET usedMs = excluded.usedMs";
		this.#put = database.prepare(`INSERT INTO mark VALUES (?, ?, ?) ${used}`);
		this.#replace = database.prepare("INSERT OR REPLACE INTO mark VALUES (?, ?, ?)");
	}

	get(chain: string): number | undefined {
		const row = this.#get.get(Buffer.from(chain, "hex"));
		return row && Number(row.version);
	}

	put(marks: readonly Mark[]): void {
		this.#write(this.#put, marks);
	}

	replace(marks: readonly Mark[]): void {
		this.#write(this.#replace, marks);
	}

	#write(statement: StatementSync, marks: readonly Mark[]): void {
		const nowMs = Date.now();
		this.#database.exec("BEGIN IMMEDIATE");
		try {
			for (const [chain, version] of marks) {
				statement.run(Buffer.from(chain, "hex"), version, nowMs);
			}
			this.#database.exec("COMMIT");
		} catch (error) {
			// SQLite has already rolled back if the disk is full or broken.
			if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
			throw error;
		}
	}

	close(): void {
		if (this.#database.isOpen) this.#database.close();
	}
}
