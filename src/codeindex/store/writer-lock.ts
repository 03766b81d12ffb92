import type { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";
import { openDatabase } from "../../core/sqlite.ts";
import { CodeIndexError } from "../code-index.ts";
import { storeFailure, UnavailableStore } from "./failures.ts";
import { identityOf, makePrivateFile, removeDatabase } from "./index-store.ts";

const POLL_MS = 40;

/**
 * Held by the one process that writes an index, across its transactions. It is a transaction of a separate database:
 * the system releases it when the process ends, however that happens, so none is ever left behind.
 */
export class WriterLock {
	readonly #path: string;
	#database: DatabaseSync | undefined;
	#identity = "";

	constructor(path: string) {
		this.#path = `${path}-lock`;
	}

	/** Takes the lock; false if another process still has it after `waitMs`. */
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
		// The previous holder has deleted it with the index: others take another file now.
		this.close();
		return await this.take(end - performance.now(), signal);
	}

	/** Deletes the lock, which must be held. */
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
			// It holds nothing, so a damaged one is no loss, and a process that cannot read it cannot hold it.
			removeDatabase(this.#path);
			makePrivateFile(this.#path);
			opened = await openDatabase(this.#path, []);
		}
		if (opened.kind !== "open") throw UnavailableStore.of(opened);
		// Waiting is done here, where it can be aborted.
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
