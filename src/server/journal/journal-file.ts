import { existsSync, mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { openDatabase } from "../../core/sqlite.ts";
import { makePrivateFile } from "../data-folder.ts";
import type { Recovered } from "./journal.ts";
import { BadRecord, JournalWriter } from "./journal-writer.ts";
import { bootName, checkMark, type Mark, MarkFile, markPath, NO_MARK } from "./mark.ts";
import type { WriterJob, WriterReply } from "./messages.ts";
import { markClosed, readEvictionMarks, readRecovered, settleRecovered } from "./recovery.ts";
import * as refusals from "./refusal.ts";
import { sweepStep } from "./retention.ts";
import { migrations } from "./schema.ts";

/** Runs one job at a time. Every error except {@link BadRecord} closes the file. Opening deletes no rows. */
export class JournalFile {
	#database: DatabaseSync | undefined;
	#writer: JournalWriter | undefined;
	#path = "";
	#identity: string | undefined;
	#hasLog = false;
	#markFile: MarkFile | undefined;
	#mark: Mark = NO_MARK;

	/** Never rejects. */
	async handle(job: WriterJob): Promise<WriterReply> {
		try {
			switch (job.kind) {
				case "open":
					return await this.#open(job);
				case "write":
					return this.#write(job);
				case "sweep":
					return this.#sweep(job);
				case "close":
					return this.#close();
			}
		} catch (error) {
			if (error instanceof BadRecord) {
				return { kind: "bad-record", index: error.index, why: error.message };
			}
			this.#release();
			return { kind: "refused", refusal: refusalFor(error) };
		}
	}

	async #open(job: WriterJob & { kind: "open" }): Promise<WriterReply> {
		this.#release();
		const mark = await checkMark(job.path);
		if ("why" in mark) return { kind: "refused", refusal: mark };
		mkdirSync(dirname(job.path), { recursive: true, mode: 0o700 });
		makePrivateFile(job.path); // SQLite copies these permissions to its other files
		const opened = await openDatabase(job.path, migrations);
		if (opened.kind === "newer") return { kind: "refused", refusal: refusals.NEWER };
		if (opened.kind === "unavailable") {
			const refusal = refusals.refusalOfCode(opened.errorCode) ?? refusals.NO_DATABASE;
			return { kind: "refused", refusal };
		}
		const { database } = opened;
		this.#database = database;
		this.#path = job.path;
		this.#identity = identityOf(job.path);
		this.#hasLog = false;
		const pageBytes = Number(database.prepare("PRAGMA page_size").get()?.page_size);
		// `journal_size_limit` keeps a large transaction from leaving a large log.
		database.exec(`PRAGMA max_page_count = ${Math.ceil(job.maxFileBytes / pageBytes)};
			PRAGMA journal_size_limit = ${LOG_BYTES}`);
		const recovered = readRecovered(database, job.nowMs);
		if (job.recovery === "only-empty" && !isEmpty(recovered, database)) {
			this.#release();
			return { kind: "refused", refusal: refusals.FOUND_LATE };
		}
		const writer = new JournalWriter(database);
		this.#writer = writer;
		this.#mark = { ...mark, boot: bootName() ?? "" };
		const evicted = readEvictionMarks(database);
		const reply = { kind: "opened", recovered, evicted, size: writer.size() } as const;
		try {
			writer.transaction(() => {
				if (job.recovery !== "continue") settleRecovered(database, recovered, job.nowMs);
			});
			this.#confirm({ durable: false });
			return reply;
		} catch (error) {
			this.#release();
			return { ...reply, refusal: refusalFor(error) };
		}
	}

	#write({ records, durable }: WriterJob & { kind: "write" }): WriterReply {
		const writer = this.#opened();
		if (!this.#isInPlace()) {
			this.#release();
			return { kind: "refused", refusal: refusals.TAKEN_AWAY };
		}
		const begin = performance.now();
		if (records.length === 0) writer.probe();
		else writer.write(records, durable);
		this.#hasLog = true;
		this.#confirm({ durable });
		return { kind: "written", size: writer.size(), ms: performance.now() - begin };
	}

	#sweep(job: WriterJob & { kind: "sweep" }): WriterReply {
		const writer = this.#opened();
		const swept = sweepStep(this.#database as DatabaseSync, writer, job);
		writer.removed(swept);
		const { evicted, more } = swept;
		this.#confirm({ durable: false });
		if (!more) this.#checkpoint();
		return { kind: "swept", size: writer.size(), evicted, more };
	}

	#confirm({ durable }: { durable: boolean }): void {
		const written = this.#opened().commits;
		this.#mark = { ...this.#mark, written, ...(durable && { durable: written }) };
		this.#markFile ??= new MarkFile(markPath(this.#path), this.#mark);
		this.#markFile.write(this.#mark);
	}

	/** Keeps the log small. Without this, SQLite checkpoints only a large log. */
	#checkpoint(): void {
		const folded = this.#opened().commits;
		const foldedBytes = this.#opened().size().fileBytes;
		const row = this.#database?.prepare("PRAGMA wal_checkpoint(PASSIVE)").get();
		if (row?.busy !== 0 || row.log !== row.checkpointed) return;
		this.#mark = { ...this.#mark, durable: folded, folded, foldedBytes };
		this.#markFile?.write(this.#mark);
	}

	/** Whether the open file and its log are still at their paths, so that the next process finds them. */
	#isInPlace(): boolean {
		if (identityOf(this.#path) !== this.#identity) return false;
		return !this.#hasLog || existsSync(`${this.#path}-wal`);
	}

	#close(): WriterReply {
		try {
			const database = this.#database;
			if (database) {
				this.#writer?.transaction(() => markClosed(database));
				this.#confirm({ durable: false });
			}
		} catch {
			// The next start assumes a crash, which is safe.
		}
		this.#release();
		return { kind: "closed" };
	}

	#opened(): JournalWriter {
		if (!this.#writer) throw new Error("the journal's file is not open");
		return this.#writer;
	}

	#release(): void {
		try {
			this.#markFile?.close();
			if (this.#database?.isOpen) this.#database.close();
		} catch {
			// The disk is full or broken. Committed records are in the log.
		}
		this.#database = undefined;
		this.#writer = undefined;
		this.#markFile = undefined;
	}
}

const LOG_BYTES = 16 * 2 ** 20;

function identityOf(path: string): string | undefined {
	const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
	return stats && `${stats.dev} ${stats.ino}`;
}

function isEmpty(recovered: Recovered, database: DatabaseSync): boolean {
	if (recovered.sessions.length > 0) return false;
	return database.prepare("SELECT 1 FROM commands LIMIT 1").get() === undefined;
}

function refusalFor(error: unknown): refusals.Refusal {
	const known = refusals.refusalOf(error);
	if (known) return known;
	const { code, syscall } = error as NodeJS.ErrnoException;
	// Not a system error: rows cannot be parsed or a table is missing. This is not our data.
	if (code === undefined || syscall === undefined) return refusals.DAMAGED;
	if (code === "ENOSPC" || code === "EDQUOT") return refusals.DISK_FULL;
	return { why: `the journal's file cannot be opened (${code})`, permanent: false };
}
