import { setImmediate as nextTick } from "node:timers/promises";
import { type JournalLimits, type JournalStats, JournalUnavailable } from "./journal.ts";
import type { JournalFileProxy } from "./journal-file-proxy.ts";
import type { EvictionMark, JournalRecord, JournalSize } from "./messages.ts";
import type { Refusal } from "./refusal.ts";

interface QueuedRecord {
	readonly record: JournalRecord;
	readonly bytes: number;
	readonly durability: Durability;
	/** Called once, when the record is written or refused. */
	settle(error?: Error): void;
	/** Called once, when the record is written or dropped; before `settle` if both are due. */
	release(): void;
}

/** `durable`: survives a power cut. `retry`: a refused record is kept and tried again. `lazy`: waits briefly for more records to share a transaction. */
const DURABILITY = {
	/** The start of a command. The command does not run if this record cannot be written. */
	intent: { durable: true, retry: false, lazy: false },
	/** A change that has already happened. */
	fact: { durable: true, retry: true, lazy: false },
	/** An event for clients, which may request it again later. */
	event: { durable: false, retry: false, lazy: false },
	/** Written in the background; no caller waits for it. */
	note: { durable: false, retry: false, lazy: true },
} as const;

export type Durability = keyof typeof DURABILITY;

/** What keeps the records: a file or a database. */
type JournalKeeper = Pick<JournalFileProxy, "open" | "write" | "sweep" | "close">;

interface GroupCommitOptions {
	readonly file: JournalKeeper;
	now(): number;
	readonly limits: JournalLimits;
	onEvicted(marks: readonly EvictionMark[]): void;
	onRefusal(refusal: Refusal): void;
}

/** Batches the records that arrive while a transaction is in flight, so that one fsync serves all. */
export class GroupCommit {
	/** Why the disk refuses records, if it does. */
	refusal: Refusal | undefined;
	readonly #options: GroupCommitOptions;
	#queue: QueuedRecord[] = [];
	#lazyQueue: QueuedRecord[] = [];
	#queuedBytes = 0;
	#running: Promise<void> | undefined;
	#committing: Promise<void> | undefined;
	#isClosed = false;
	#sweepIsDue = true;
	#retryTimer: NodeJS.Timeout | undefined;
	#lazyTimer: NodeJS.Timeout | undefined;
	#commits = 0;
	#commitMs = 0;
	#size: JournalSize = { fileBytes: 0, usedBytes: 0, commands: 0, events: 0, sessions: 0 };

	constructor(options: GroupCommitOptions) {
		this.#options = options;
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

	add(queued: QueuedRecord): void {
		const unavailable = this.#unavailable(queued);
		if (unavailable) this.#reject(queued, unavailable);
		else {
			this.#hold(queued);
			this.#wakeWhenDue();
		}
	}

	sweep(): void {
		this.#sweepIsDue = true;
		this.#wake();
	}

	refuse(refusal: Refusal): void {
		if (this.refusal?.permanent) return;
		if (this.refusal?.why !== refusal.why) this.#options.onRefusal(refusal);
		this.refusal = refusal;
		const all = [...this.#queue, ...this.#lazyQueue];
		this.#queue = [];
		this.#lazyQueue = [];
		this.#queuedBytes = 0;
		const error = unavailableBecause(refusal);
		for (const queued of all) this.#reject(queued, error);
		clearTimeout(this.#retryTimer);
		if (this.#isClosed || refusal.permanent) return;
		const { retryMs } = this.#options.limits;
		this.#retryTimer = setTimeout(() => void this.#retry(), retryMs).unref();
	}

	/** Resolves when nothing is pending, except records that the disk refuses. */
	async flush(): Promise<void> {
		for (;;) {
			if (this.#lazyQueue.length > 0) this.#wake();
			if (!this.#running) return;
			await this.#running;
		}
	}

	/** Resolves when all records until now are written or refused, however many follow. */
	async written(): Promise<void> {
		if (this.#lazyQueue.length > 0) this.#wake();
		const last = [this.#queue.at(-1), this.#lazyQueue.at(-1)].flatMap((one) => one ?? []);
		await Promise.all([this.#committing, ...last.map(settled)]);
	}

	/** Flushes, retries refused records a last time, and closes the file. */
	async close(): Promise<void> {
		if (this.#isClosed) return;
		this.#isClosed = true;
		clearTimeout(this.#retryTimer);
		clearTimeout(this.#lazyTimer);
		await this.flush();
		if (this.refusal && !this.refusal.permanent) await this.#retry();
		await this.flush();
		await this.#options.file.close();
		for (const queued of this.#queue) queued.release();
		this.#queue = [];
	}

	#unavailable(queued: QueuedRecord): JournalUnavailable | undefined {
		if (this.#isClosed) return new JournalUnavailable("journal_unavailable", CLOSED);
		if (this.refusal) return unavailableBecause(this.refusal);
		const isTooMuch = this.#queuedBytes + queued.bytes > this.#options.limits.pendingBytes;
		return isTooMuch && !DURABILITY[queued.durability].retry
			? new JournalUnavailable("busy", BUSY)
			: undefined;
	}

	#reject(queued: QueuedRecord, error: JournalUnavailable): void {
		const hasRoom = this.#queuedBytes + queued.bytes <= this.#options.limits.pendingBytes;
		if (DURABILITY[queued.durability].retry && hasRoom && !this.#isClosed) {
			this.#hold({ ...queued, settle() {} }); // the caller gets the error below
		} else queued.release();
		queued.settle(error);
	}

	#hold(queued: QueuedRecord): void {
		(DURABILITY[queued.durability].lazy ? this.#lazyQueue : this.#queue).push(queued);
		this.#queuedBytes += queued.bytes;
	}

	#wake(): void {
		if (!this.refusal) this.#running ??= this.#run();
	}

	/** A transaction costs the same for one record as for many, so lazy records are batched. */
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
			// Records added in this tick join the transaction.
			await nextTick();
			const batch = [
				...takeFirst(this.#queue, BATCH_RECORDS),
				...takeFirst(this.#lazyQueue, BATCH_LAZY_RECORDS),
			];
			for (const { bytes } of batch) this.#queuedBytes -= bytes;
			if (batch.length > 0) {
				this.#committing = this.#commit(batch);
				await this.#committing;
			}
			if (this.#sweepIsDue && !this.refusal) await this.#sweepStep();
		} while (!this.refusal && (this.#queue.length > 0 || this.#sweepIsDue));
		this.#running = undefined;
		if (this.#lazyQueue.length > 0) this.#wakeWhenDue();
	}

	async #commit(batch: QueuedRecord[]): Promise<void> {
		while (batch.length > 0) {
			const reply = await this.#options.file.write({
				kind: "write",
				records: batch.map(({ record }) => record),
				durable: batch.some(({ durability }) => DURABILITY[durability].durable),
			});
			if (reply.kind === "written") {
				this.#size = reply.size;
				this.#commits++;
				this.#commitMs += reply.ms;
				if (reply.size.usedBytes > this.#options.limits.maxBytes) this.#sweepIsDue = true;
				for (const queued of batch) queued.release();
				for (const [index, queued] of batch.entries()) queued.settle(reply.refused?.get(index));
				return;
			}
			if (reply.kind === "refused") {
				this.#queue.unshift(...batch);
				return this.refuse(reply.refusal);
			}
			const [bad] = batch.splice(reply.index, 1);
			bad?.release();
			bad?.settle(new Error(`the journal cannot store this record: ${reply.why}`));
		}
	}

	async #sweepStep(): Promise<void> {
		const { maxAgeMs, maxBytes, maxOwned } = this.#options.limits;
		const olderThanMs = this.#options.now() - maxAgeMs;
		const job = { kind: "sweep", olderThanMs, maxBytes, maxOwned } as const;
		const reply = await this.#options.file.sweep(job);
		if (reply.kind === "refused") return this.refuse(reply.refusal);
		this.#size = reply.size;
		this.#options.onEvicted(reply.evicted);
		this.#sweepIsDue = reply.more;
	}

	async #retry(): Promise<void> {
		await this.flush();
		const reply = await this.#options.file.write({ kind: "write", records: [], durable: true });
		if (this.refusal?.permanent) return;
		if (reply.kind === "refused") return this.refuse(reply.refusal);
		this.refusal = undefined;
		this.#wake();
	}
}

/** Maximum records per transaction, lazy ones not counted. Writing that many takes tens of milliseconds. */
const BATCH_RECORDS = 2_048;
const BATCH_LAZY_RECORDS = 512;
const LAZY_MS = 25;
const BATCH_BYTES = 2 * 2 ** 20;

const BUSY =
	"too many records are waiting to be written to the server's journal; try again in a moment";
const CLOSED = "the server is stopping, and its journal is closed";

function unavailableBecause({ why }: Refusal): JournalUnavailable {
	return new JournalUnavailable(
		"journal_unavailable",
		`the server cannot write to its journal (${why}); reads still work`,
	);
}

function takeFirst(queue: QueuedRecord[], most: number): QueuedRecord[] {
	let bytes = 0;
	let count = 0;
	while (count < queue.length && count < most && bytes < BATCH_BYTES) {
		bytes += queue[count]?.bytes ?? 0;
		count++;
	}
	return queue.splice(0, count);
}

function settled(queued: QueuedRecord): Promise<void> {
	return new Promise((resolve) => {
		const settle = queued.settle.bind(queued);
		queued.settle = (error) => {
			settle(error);
			resolve();
		};
	});
}
