import type { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";
import { openDatabase } from "../../core/sqlite.ts";
import { CodeIndexError } from "../code-index.ts";
import { storeFailure, UnavailableStore } from "./failures.ts";
import { identityOf, makePrivateFile, removeDatabase } from "./index-store.ts";

const POLL_MS = 40;

/** A transaction of a separate database, held across transactions of the index. A crash releases it. */
export class WriterLock {
	readonly #path: string;
	#database: DatabaseSync | undefined;
	#identity = "";

	constructor(path: string) {
		this.#path = `${path}-lock`;
	}

	/** Returns false if another process still holds the lock after `waitMs`. */
	async take(waitMs: number, signal?: AbortSignal): Promise<boolean> {
		const end = performance.now() + waitMs;
		this.#database ??= await this.#open();
		while (!this.#tryToTake(this.#database)) {
			if (signal?.aborted)
				throw new CodeIndexError("aborted", "Waiting for the index was aborted.");
			if (performance.now() >= end) return false;
			await delay(POLL_MS);
		}
		if (identityOf(this.#path) === this.#identity) return true;
		// The previous holder deleted this file with the index. Other processes lock a new file.
		this.close();
		return await this.take(end - performance.now(), signal);
	}

	remove(): void {
		this.close();
		removeDatabase(this.#path);
	}

	release(): void {
		if (this.#database?.isTransaction) this.#database.exec("ROLLBACK");
	}

	close(): void {
		this.#database?.close();
		this.#database = undefined;
	}

	async #open(): Promise<DatabaseSync> {
		makePrivateFile(this.#path);
		let opened = await openDatabase(this.#path, []);
		if (opened.kind !== "open" && /not a database|malformed/.test(opened.message)) {
			// The file has no data, so it can be recreated. No process can hold a lock on an unreadable file.
			removeDatabase(this.#path);
			makePrivateFile(this.#path);
			opened = await openDatabase(this.#path, []);
		}
		if (opened.kind !== "open") throw new UnavailableStore(opened);
		// SQLite must not wait. `take` waits instead, and can be aborted.
		opened.database.exec("PRAGMA busy_timeout = 0");
		this.#identity = identityOf(this.#path);
		return opened.database;
	}

	#tryToTake(database: DatabaseSync): boolean {
		try {
			database.exec("BEGIN IMMEDIATE");
			return true;
		} catch (error) {
			if (storeFailure(error) === "busy") return false;
			throw error;
		}
	}
}
