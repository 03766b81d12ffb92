import type { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";
import { openDatabase } from "../../core/sqlite.ts";
import { CodeIndexError } from "../code-index.ts";
import { storeFailure, UnavailableStore } from "./failures.ts";
import { identityOf, removeDatabase } from "./index-store.ts";
import { makePrivateFile } from "./private-file.ts";

const POLL_MS = 40;

/**
 * Held by the one process that writes an index, across its transactions. It is a transaction of a database of its
 * own: the system gives it back when the process ends, however that happens, so none is ever left behind.
 */
export class WriterLock {
	readonly #path: string;
	#database: DatabaseSync;
	#identity: string;

	private constructor(path: string, database: DatabaseSync) {
		this.#path = path;
		this.#database = database;
		this.#identity = identityOf(path);
	}

	/** The lock of the index at `path`. */
	static async open(path: string): Promise<WriterLock> {
		const file = `${path}-lock`;
		return new WriterLock(file, await WriterLock.#open(file));
	}

	static async #open(file: string): Promise<DatabaseSync> {
		makePrivateFile(file);
		let opened = await openDatabase(file, []);
		if (opened.kind !== "open" && /not a database|malformed/.test(opened.message)) {
			// It holds nothing, so a damaged one is no loss, and who cannot read it cannot hold it.
			removeDatabase(file);
			makePrivateFile(file);
			opened = await openDatabase(file, []);
		}
		if (opened.kind !== "open") {
			throw new UnavailableStore(
				opened.message,
				opened.kind === "unavailable" ? opened.cause : undefined,
			);
		}
		// Waiting is done here, where it can be aborted.
		opened.database.exec("PRAGMA busy_timeout = 0");
		return opened.database;
	}

	/** Takes the lock; false if another process still has it after `waitMs`. */
	async take(waitMs: number, signal?: AbortSignal): Promise<boolean> {
		const end = performance.now() + waitMs;
		while (!this.#tryToTake()) {
			if (signal?.aborted)
				throw new CodeIndexError("aborted", "Waiting for the index was aborted.");
			if (performance.now() >= end) return false;
			await delay(POLL_MS);
		}
		if (identityOf(this.#path) === this.#identity) return true;
		// The holder before has deleted it with the index: what others take now is another one.
		this.close();
		this.#database = await WriterLock.#open(this.#path);
		this.#identity = identityOf(this.#path);
		return await this.take(end - performance.now(), signal);
	}

	/** Deletes the lock, which must be held. */
	remove(): void {
		this.close();
		removeDatabase(this.#path);
	}

	release(): void {
		if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
	}

	close(): void {
		if (this.#database.isOpen) this.#database.close();
	}

	#tryToTake(): boolean {
		try {
			this.#database.exec("BEGIN IMMEDIATE");
			return true;
		} catch (error) {
			if (storeFailure(error) === "busy") return false;
			throw error;
		}
	}
}
