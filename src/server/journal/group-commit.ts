import { setImmediate as nextTick } from "node:timers/promises";
import type { FileKeeper, Reply } from "./file-keeper.ts";
import { type JournalLimits, type JournalStats, JournalUnavailable } from "./journal.ts";
import type { ForgottenMark, JournalRecord, JournalSize } from "./messages.ts";
import type { Refusal } from "./refusal.ts";

export interface Entry {
	readonly record: JournalRecord;
	readonly bytes: number;
	readonly weight: Weight;
	/** Written or refused. Called once. */
	settle(error?: Error): void;
	/** Written or dropped. Called once, before `settle` where both are due. */
	release(): void;
}

/** `durable` survives a power cut; `owed` is kept for a retry when the disk refuses it. */
const TREATMENT = {
	/** About to be done: not done if it cannot be written. */
	intent: { durable: true, owed: false, lazy: false },
	/** Done and irreversible. */
	fact: { durable: true, owed: true, lazy: false },
	/** Sent to clients, which may ask for it again. */
	event: { durable: false, owed: false, lazy: false },
	/** Background: no caller waits. */
	note: { durable: false, owed: false, lazy: true },
} as const;

export type Weight = keyof typeof TREATMENT;

export interface GroupCommitOptions {
	file: FileKeeper;
	now(): number;
	limits: JournalLimits;
	onForgotten(marks: readonly ForgottenMark[]): void;
	onRefusal(refusal: Refusal): void;
}

/** Batches records while a transaction is in flight: one fsync serves all of them. */
export class GroupCommit {
	readonly #options: GroupCommitOptions;
	#queue: Entry[] = [];
	#lazyQueue: Entry[] = [];
	#queuedBytes = 0;
	#running: Promise<void> | undefined;
	#isClosed = false;
	#sweepIsDue = true;
	#refusal: Refusal | undefined;
	#retryTimer: NodeJS.Timeout | undefined;
	#lazyTimer: NodeJS.Timeout | undefined;
	#commits = 0;
	#commitMs = 0;
	#size: JournalSize = { fileBytes: 0, usedBytes: 0, commands: 0, events: 0, sessions: 0 };

	constructor(options: GroupCommitOptions) {
		this.#options = options;
	}

	get refusal(): Refusal | undefined {
		return this.#refusal;
	}

	stats(): JournalStats {
		const { fileBytes: bytes, usedBytes: _, ...counts } = this.#size;
		const pending = this.#queue.length + this.#lazyQueue.length;
		return { bytes, ...counts, commits: this.#commits, commitMsTotal: this.#commitMs, pending };
	}

	async open(): Promise<void> {
		const refusal = await this.#options.file.open();
		if (refusal) this.refuse(refusal);
		else this.#wake();
	}

	add(entry: Entry): void {
		const unavailable = this.#unavailable(entry);
		if (unavailable) this.#reject(entry, unavailable);
		else {
			this.#hold(entry);
			this.#wakeWhenDue();
		}
	}

	sweep(): void {
		this.#sweepIsDue = true;
		this.#wake();
	}

	refuse(refusal: Refusal): void {
		if (this.#refusal?.lasting) return;
		if (this.#refusal?.why !== refusal.why) this.#options.onRefusal(refusal);
		this.#refusal = refusal;
		const queued = [...this.#queue, ...this.#lazyQueue];
		this.#queue = [];
		this.#lazyQueue = [];
		this.#queuedBytes = 0;
		const error = unavailableBecause(refusal);
		for (const entry of queued) this.#reject(entry, error);
		this.#retryLater();
	}

	/** Resolves when nothing is pending, except what the disk refuses. */
	async settled(): Promise<void> {
		for (;;) {
			if (this.#lazyQueue.length > 0) this.#wake();
			if (!this.#running) return;
			await this.#running;
		}
	}

	/** Flushes, owed records included if the disk takes them, and closes the file. */
	async close(): Promise<void> {
		if (this.#isClosed) return;
		this.#isClosed = true;
		clearTimeout(this.#retryTimer);
		clearTimeout(this.#lazyTimer);
		await this.settled();
		if (this.#refusal && !this.#refusal.lasting) await this.#retry();
		await this.settled();
		await this.#options.file.close();
		for (const entry of this.#queue) entry.release();
		this.#queue = [];
	}

	#unavailable(entry: Entry): JournalUnavailable | undefined {
		if (this.#isClosed) return new JournalUnavailable("journal_unavailable", CLOSED);
		if (this.#refusal) return unavailableBecause(this.#refusal);
		const isTooMuch = this.#queuedBytes + entry.bytes > this.#options.limits.pendingBytes;
		return isTooMuch && !TREATMENT[entry.weight].owed
			? new JournalUnavailable("busy", BUSY)
			: undefined;
	}

	#reject(entry: Entry, error: JournalUnavailable): void {
		const hasRoom = this.#queuedBytes + entry.bytes <= this.#options.limits.pendingBytes;
		if (TREATMENT[entry.weight].owed && hasRoom && !this.#isClosed) {
			this.#hold({ ...entry, settle() {} }); // its sender knows
		} else entry.release();
		entry.settle(error);
	}

	#hold(entry: Entry): void {
		(TREATMENT[entry.weight].lazy ? this.#lazyQueue : this.#queue).push(entry);
		this.#queuedBytes += entry.bytes;
	}

	#wake(): void {
		if (!this.#refusal) this.#running ??= this.#run();
	}

	/** A transaction costs the same for one record as for many: lazy records wait. */
	#wakeWhenDue(): void {
		const isDue = this.#queue.length > 0 || this.#lazyQueue.length >= BATCH_LAZY_RECORDS;
		if (isDue) this.#wake();
		else
			this.#lazyTimer ??= setTimeout(() => {
				this.#lazyTimer = undefined;
				this.#wake();
			}, LAZY_MS).unref();
	}

	async #run(): Promise<void> {
		do {
			// Records of this tick join the next transaction.
			await nextTick();
			const batch = this.#nextBatch();
			if (batch.length > 0) await this.#commit(batch);
			if (this.#sweepIsDue && !this.#refusal) await this.#sweepStep();
		} while (!this.#refusal && (this.#queue.length > 0 || this.#sweepIsDue));
		this.#running = undefined;
		if (this.#lazyQueue.length > 0) this.#wakeWhenDue();
	}

	#nextBatch(): Entry[] {
		const batch = [
			...takeFirst(this.#queue, BATCH_RECORDS),
			...takeFirst(this.#lazyQueue, BATCH_LAZY_RECORDS),
		];
		for (const { bytes } of batch) this.#queuedBytes -= bytes;
		return batch;
	}

	async #commit(batch: Entry[]): Promise<void> {
		while (batch.length > 0) {
			const reply = await this.#options.file.write({
				kind: "write",
				records: batch.map(({ record }) => record),
				durable: batch.some(({ weight }) => TREATMENT[weight].durable),
			});
			if (reply.kind === "written") {
				this.#count(reply);
				for (const entry of batch) entry.release();
				for (const entry of batch) entry.settle();
				return;
			}
			if (reply.kind === "refused") {
				this.#queue.unshift(...batch);
				return this.refuse(reply.refusal);
			}
			const [bad] = batch.splice(reply.index, 1);
			bad?.release();
			bad?.settle(new Error(`the journal cannot hold this record: ${reply.why}`));
		}
	}

	#count({ size, ms }: Reply<"written">): void {
		this.#size = size;
		this.#commits++;
		this.#commitMs += ms;
		if (size.usedBytes > this.#options.limits.maxBytes) this.#sweepIsDue = true;
	}

	async #sweepStep(): Promise<void> {
		const { maxAgeMs, maxBytes, maxOwned } = this.#options.limits;
		const olderThanMs = this.#options.now() - maxAgeMs;
		const request = { kind: "sweep", olderThanMs, maxBytes, maxOwned } as const;
		const reply = await this.#options.file.sweep(request);
		if (reply.kind === "refused") return this.refuse(reply.refusal);
		this.#size = reply.size;
		this.#options.onForgotten(reply.forgotten);
		this.#sweepIsDue = reply.more;
	}

	#retryLater(): void {
		clearTimeout(this.#retryTimer);
		if (this.#isClosed || this.#refusal?.lasting) return;
		const { retryMs } = this.#options.limits;
		this.#retryTimer = setTimeout(() => void this.#retry(), retryMs).unref();
	}

	async #retry(): Promise<void> {
		await this.settled();
		const reply = await this.#options.file.write({ kind: "write", records: [], durable: true });
		if (this.#refusal?.lasting) return;
		if (reply.kind === "refused") return this.refuse(reply.refusal);
		this.#refusal = undefined;
		this.#wake();
	}
}

/** A transaction of this size takes tens of milliseconds. */
const BATCH_RECORDS = 2_048;
const BATCH_LAZY_RECORDS = 512;
const LAZY_MS = 25;
const BATCH_BYTES = 2 * 2 ** 20;

const BUSY = "too much waits to be written to the server's journal: try again in a moment";
const CLOSED = "the server's journal is closed: the server is stopping";

function unavailableBecause({ why }: Refusal): JournalUnavailable {
	return new JournalUnavailable(
		"journal_unavailable",
		`the server cannot write its journal (${why}): only reads are answered`,
	);
}

function takeFirst(queue: Entry[], most: number): Entry[] {
	let bytes = 0;
	let count = 0;
	while (count < queue.length && count < most && bytes < BATCH_BYTES) {
		bytes += queue[count]?.bytes ?? 0;
		count++;
	}
	return queue.splice(0, count);
}
