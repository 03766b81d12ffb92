import { setImmediate as nextTick } from "node:timers/promises";
import { JournalUnavailable } from "./journal.ts";
import type {
	ForgottenMark,
	JournalRecord,
	JournalSize,
	WriterReply,
	WriterRequest,
} from "./messages.ts";
import type { Refusal } from "./refusal.ts";
import { ThreadDied, type WriterThread } from "./writer-thread.ts";

/** A record on its way to the disk. */
export interface Entry {
	readonly record: JournalRecord;
	/** About what it takes, in memory and on disk. */
	readonly bytes: number;
	/** A power cut must not lose it, either. */
	readonly durable: boolean;
	/** It tells of something that has happened, so it is kept for later when the disk refuses it now. */
	readonly owed: boolean;
	/** Written, or refused. Called once, at the first of these. */
	settle(error?: Error): void;
	/** Written, or given up: the memory may forget it. Called once, before `settle` where both are due. */
	release(): void;
}

export interface GroupCommitOptions {
	thread: WriterThread;
	path: string;
	now(): number;
	limits: {
		pendingBytes: number;
		maxAgeMs: number;
		maxBytes: number;
		maxFileBytes: number;
		retryMs: number;
	};
	/** The file could be read for the first time. */
	onOpened(opened: WriterReply & { kind: "opened" }): Promise<void>;
	onForgotten(marks: readonly ForgottenMark[]): void;
}

/**
 * Collects records while a transaction is under way and writes them with the next, so that one wait for the disk serves
 * all of them. What the disk refuses is refused to everyone at once; a timer tries again until it takes records.
 */
export class GroupCommit {
	readonly #options: GroupCommitOptions;
	#queue: Entry[] = [];
	#queuedBytes = 0;
	#isRunning = false;
	#isClosed = false;
	#sweepIsDue = false;
	#refusal: Refusal | undefined;
	#retryTimer: NodeJS.Timeout | undefined;
	#recovery: (WriterRequest & { kind: "open" })["recovery"] = "settle";
	#wasRead = false;
	#isOpen = false;
	#lastDeathMs = Number.NEGATIVE_INFINITY;
	#idle: Promise<void> = Promise.resolve();
	#commits = 0;
	#commitMs = 0;
	#size: JournalSize = { fileBytes: 0, usedBytes: 0, commands: 0, events: 0, sessions: 0 };

	constructor(options: GroupCommitOptions) {
		this.#options = options;
	}

	get refusal(): Refusal | undefined {
		return this.#refusal;
	}

	get size(): JournalSize {
		return this.#size;
	}

	/** Transactions so far and the milliseconds they took, and the records that wait. */
	get counters(): { commits: number; commitMsTotal: number; pending: number } {
		return { commits: this.#commits, commitMsTotal: this.#commitMs, pending: this.#queue.length };
	}

	/** Opens the file. Afterwards `refusal` says whether that worked. */
	async open(): Promise<void> {
		const refusal = await this.#withThread(() => this.#ensureOpen());
		// What this process does not know of must not become part of it later: see FOUND_LATE.
		if (!this.#wasRead) this.#recovery = "only-empty";
		if (refusal) this.refuse(refusal);
		else this.#wake();
	}

	/** Takes a record, or refuses it at once. */
	add(entry: Entry): void {
		const unavailable = this.#unavailable(entry);
		if (unavailable) this.#reject(entry, unavailable);
		else this.#push(entry);
	}

	/** Forgets what is too old or too much, soon and in small steps. */
	sweep(): void {
		this.#sweepIsDue = true;
		this.#wake();
	}

	/** From now on nothing is taken, until the disk proves to be well again. */
	refuse(refusal: Refusal): void {
		if (this.#refusal?.lasting) return;
		this.#refusal = refusal;
		const queue = this.#queue;
		this.#queue = [];
		this.#queuedBytes = 0;
		const error = unavailableBecause(refusal);
		for (const entry of queue) this.#reject(entry, error);
		this.#retryLater();
	}

	/** Resolves when nothing waits to be written, except what the disk refuses. */
	async settled(): Promise<void> {
		while (this.#isRunning) await this.#idle;
	}

	async close(): Promise<void> {
		if (this.#isClosed) return;
		this.#isClosed = true;
		clearTimeout(this.#retryTimer);
		await this.settled();
		if (this.#refusal && !this.#refusal.lasting) await this.#retry();
		try {
			if (this.#isOpen) await this.#options.thread.request({ kind: "close" });
		} catch {
			// The thread is gone already, and what was committed is on disk.
		}
		for (const entry of this.#queue) entry.release();
		this.#queue = [];
		await this.#options.thread.end();
	}

	#unavailable(entry: Entry): JournalUnavailable | undefined {
		if (this.#isClosed) return new JournalUnavailable("journal_unavailable", CLOSED);
		if (this.#refusal) return unavailableBecause(this.#refusal);
		const isTooMuch = this.#queuedBytes + entry.bytes > this.#options.limits.pendingBytes;
		return isTooMuch && !entry.owed ? new JournalUnavailable("busy", BUSY) : undefined;
	}

	#reject(entry: Entry, error: JournalUnavailable): void {
		const { pendingBytes } = this.#options.limits;
		const isKept = entry.owed && this.#queuedBytes + entry.bytes <= pendingBytes;
		if (isKept && !this.#isClosed) this.#hold(entry.settle === told ? entry : asTold(entry));
		else entry.release();
		entry.settle(error);
	}

	#push(entry: Entry): void {
		this.#hold(entry);
		this.#wake();
	}

	#hold(entry: Entry): void {
		this.#queue.push(entry);
		this.#queuedBytes += entry.bytes;
	}

	#wake(): void {
		if (this.#isRunning || this.#refusal) return;
		this.#isRunning = true;
		this.#idle = this.#run();
	}

	async #run(): Promise<void> {
		while (!this.#refusal) {
			// What the last transaction has released, and what arrives in this tick, goes into the next.
			await nextTick();
			const batch = this.#nextBatch();
			if (batch.length > 0) await this.#commit(batch);
			else if (!this.#sweepIsDue) break;
			if (this.#sweepIsDue && !this.#refusal) await this.#sweepStep();
		}
		this.#isRunning = false;
	}

	#nextBatch(): Entry[] {
		let bytes = 0;
		let count = 0;
		while (count < this.#queue.length && count < BATCH_RECORDS && bytes < BATCH_BYTES) {
			bytes += this.#queue[count]?.bytes ?? 0;
			count++;
		}
		this.#queuedBytes -= bytes;
		if (count < this.#queue.length) return this.#queue.splice(0, count);
		const batch = this.#queue;
		this.#queue = [];
		return batch;
	}

	/** Writes a batch; what the disk refuses goes back to its senders, or first in the queue if it is owed. */
	async #commit(batch: Entry[]): Promise<void> {
		const left = batch;
		while (left.length > 0) {
			const reply = await this.#ask(writeRequest(left));
			if (reply.kind === "written") {
				for (const entry of left) entry.release();
				for (const entry of left) entry.settle();
				return;
			}
			if (reply.kind === "bad-record") {
				const [bad] = left.splice(reply.index, 1);
				bad?.release();
				bad?.settle(new Error(`the journal cannot hold this record: ${reply.why}`));
				continue;
			}
			this.#queue.unshift(...left);
			for (const entry of left) this.#queuedBytes += entry.bytes;
			this.refuse(reply.refusal);
			return;
		}
	}

	async #sweepStep(): Promise<void> {
		const { maxAgeMs, maxBytes } = this.#options.limits;
		const olderThanMs = this.#options.now() - maxAgeMs;
		const reply = await this.#ask({ kind: "sweep", olderThanMs, maxBytes });
		if (reply.kind === "refused") {
			this.refuse(reply.refusal);
			return;
		}
		if (reply.kind !== "swept") return;
		this.#size = reply.size;
		this.#options.onForgotten(reply.forgotten);
		this.#sweepIsDue = reply.more;
	}

	/** Has the thread do something, with the file open. */
	#ask(request: WriterRequest): Promise<Answer> {
		return this.#withThread(async () => {
			const refusal = await this.#ensureOpen();
			if (refusal) return { kind: "refused", refusal };
			const reply = await this.#options.thread.request(request);
			if (reply.kind === "refused") this.#isOpen = false;
			if (reply.kind === "written") this.#count(reply);
			return reply as Answer;
		}).then((answer) => ("kind" in answer ? answer : { kind: "refused", refusal: answer }));
	}

	/** A thread that died is started again at once and asked again, but not over and over. */
	async #withThread<T>(body: () => Promise<T>): Promise<T | Refusal> {
		for (;;) {
			try {
				return await body();
			} catch (error) {
				if (!(error instanceof ThreadDied)) throw error;
				this.#isOpen = false;
				const sinceLastMs = performance.now() - this.#lastDeathMs;
				this.#lastDeathMs = performance.now();
				if (sinceLastMs < RESTART_MS) return THREAD_DIED;
			}
		}
	}

	#count({ size, ms }: WriterReply & { kind: "written" }): void {
		this.#size = size;
		this.#commits++;
		this.#commitMs += ms;
		if (size.usedBytes > this.#options.limits.maxBytes) this.#sweepIsDue = true;
	}

	async #ensureOpen(): Promise<Refusal | undefined> {
		if (this.#isOpen) return undefined;
		const { thread, path, now, limits, onOpened } = this.#options;
		const { maxFileBytes } = limits;
		const recovery = this.#recovery;
		const reply = await thread.request({
			kind: "open",
			path,
			nowMs: now(),
			maxFileBytes,
			recovery,
		});
		if (reply.kind === "refused") return reply.refusal;
		if (reply.kind !== "opened") throw new Error(`the journal's thread answered ${reply.kind}`);
		this.#size = reply.size;
		if (!this.#wasRead) await onOpened(reply);
		this.#wasRead = true;
		if (reply.refusal) return reply.refusal;
		this.#recovery = "continue";
		this.#isOpen = true;
		this.#sweepIsDue = true;
		return undefined;
	}

	#retryLater(): void {
		clearTimeout(this.#retryTimer);
		if (this.#isClosed || this.#refusal?.lasting) return;
		const { retryMs } = this.#options.limits;
		this.#retryTimer = setTimeout(() => void this.#retry(), retryMs).unref();
	}

	/** Finds out whether the disk takes records again, and if so writes what is owed. */
	async #retry(): Promise<void> {
		await this.settled();
		const refusal = await this.#attempt();
		if (this.#refusal?.lasting) return;
		if (refusal) {
			this.refuse(refusal);
			return;
		}
		this.#refusal = undefined;
		this.#wake();
		if (this.#isClosed) await this.settled();
	}

	async #attempt(): Promise<Refusal | undefined> {
		const reply = await this.#ask({ kind: "write", records: [], durable: true });
		return reply.kind === "refused" ? reply.refusal : undefined;
	}
}

/** What can come back once the file is open. */
type Answer = Exclude<WriterReply, { kind: "opened" | "closed" }>;

/** A transaction of this size takes tens of milliseconds, which others wait for. */
const BATCH_RECORDS = 4_096;
const BATCH_BYTES = 4 * 2 ** 20;

/** A thread that dies twice within this time is not started again at once. */
const RESTART_MS = 5_000;

const THREAD_DIED: Refusal = { why: "the journal's writer stopped", lasting: false };
const BUSY = "too much waits to be written to the server's journal: try again in a moment";
const CLOSED = "the server's journal is closed: the server is stopping";

function unavailableBecause({ why }: Refusal): JournalUnavailable {
	return new JournalUnavailable(
		"journal_unavailable",
		`the server cannot write its journal (${why}): only reads are answered`,
	);
}

function writeRequest(batch: readonly Entry[]): WriterRequest & { kind: "write" } {
	return {
		kind: "write",
		records: batch.map(({ record }) => record),
		durable: batch.some(({ durable }) => durable),
	};
}

function told(): void {}

/** An entry whose sender knows already that it was refused. */
function asTold(entry: Entry): Entry {
	const { record, bytes, durable } = entry;
	return { record, bytes, durable, owed: true, settle: told, release: () => entry.release() };
}
