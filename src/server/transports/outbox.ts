import type { Writable } from "node:stream";
import type { Message } from "../engine/message.ts";
import type { OutboxLimits } from "../limits.ts";
import { type Encoded, OutboxQueue, progressOf } from "./outbox-queue.ts";

export interface FrameWriter {
	encode(message: Message): Encoded;
	/** Writes the parts contiguously. Calls `done` when the operating system has accepted them. */
	write(parts: Uint8Array[], done: () => void): void;
}

interface OutboxOptions {
	readonly writer: FrameWriter;
	readonly limits: OutboxLimits;
	readonly pool: OutboxPool;
	/** Called once, if the client does not read. */
	disconnect(why: string): void;
	/** Pauses or resumes reading: backpressure begins above `hardQueueBytes` and ends at half of it. */
	onBackpressure(isHigh: boolean): void;
	readonly now?: () => number;
}

/** A flush of this size or more is not delayed. */
const FLUSH_BYTES = 64 * 1024;
/** High-water mark of bytes in flight. Further output stays queued, where it can be coalesced. */
const WRITE_AHEAD_BYTES = 256 * 1024;
/** Long enough to batch the output of several event-loop turns, too short to notice. */
const LATER_MS = 10;
/** Up to this size, copying the parts together is cheaper than separate writes. */
const COPY_BYTES = 128 * 1024;
const MEGABYTE = 2 ** 20;

/** The FIFO output of one connection. Disconnects the client on overflow or a stall; it can resume. */
export class Outbox {
	readonly #options: OutboxOptions;
	readonly #queue: OutboxQueue;
	readonly #now: () => number;
	/** Bytes written, but not yet accepted by the operating system. */
	#inFlight = 0;
	#writtenAtMs = 0;
	#isClosed = false;
	#isScheduled = false;
	#isScheduledLater = false;
	#isUnderBackpressure = false;
	#waiters: { below: number; resolve: () => void }[] = [];

	constructor(options: OutboxOptions) {
		const { writer, limits, pool } = options;
		this.#options = options;
		this.#now = options.now ?? (() => performance.now());
		this.#queue = new OutboxQueue({
			encode: writer.encode,
			count: (bytes) => {
				pool.queued += bytes;
			},
			hardBytes: limits.hardQueueBytes,
		});
		pool.outboxes.add(this);
	}

	get pending(): number {
		return this.#queue.bytes + this.#inFlight;
	}

	/** With `canWait`, the message is delayed by a few milliseconds, unless an urgent one follows. */
	send(message: Message, canWait = false): void {
		if (this.#isClosed) return;
		const queue = this.#queue;
		const { softQueueBytes, hardQueueBytes } = this.#options.limits;
		const progress = this.pending > softQueueBytes ? progressOf(message.value) : undefined;
		if (progress) queue.addProgress(message, progress);
		else queue.add(message);
		if (queue.bytes > hardQueueBytes) this.#applyBackpressure();
		if (this.#isClosed) return;
		if (canWait && queue.bytes < FLUSH_BYTES) this.#scheduleLater();
		else this.#schedule();
	}

	/** False under backpressure. Reads must not be answered then. */
	get hasRoom(): boolean {
		return this.pending <= this.#options.limits.hardQueueBytes;
	}

	/** Resolves when at most half of `hardQueueBytes` is pending, or the connection is gone. */
	whenRoom(): Promise<void> {
		return this.#wait(this.#options.limits.hardQueueBytes / 2);
	}

	/** Resolves when at most half of `softQueueBytes` is pending, or the connection is gone. */
	whenDrained(): Promise<void> {
		return this.#wait(this.#options.limits.softQueueBytes / 2);
	}

	/** Resolves when nothing is pending, or the connection is gone. */
	whenEmpty(): Promise<void> {
		return this.#wait(0);
	}

	/** Disconnects a client that has read nothing for too long. Called periodically. */
	checkStall(): void {
		if (this.#isClosed || this.#inFlight === 0) return;
		// A write completes as a whole, so a large one gets more time.
		const megabytes = Math.max(1, Math.ceil(this.#inFlight / MEGABYTE));
		const patience = this.#options.limits.stallMs * megabytes;
		if (this.#now() - this.#writtenAtMs > patience)
			this.disconnect("the client has read nothing for too long");
	}

	disconnect(why: string): void {
		if (this.#isClosed) return;
		this.close();
		this.#options.disconnect(why);
	}

	close(): void {
		if (this.#isClosed) return;
		const { pool } = this.#options;
		this.#isClosed = true;
		pool.outboxes.delete(this);
		this.#queue.clear();
		this.#addInFlight(-this.#inFlight);
		this.#resolveWaiters();
		pool.notifyWritten();
	}

	/** Sheds progress first. If that is not enough, pauses the client or disconnects it. */
	#applyBackpressure(): void {
		const { limits, pool } = this.#options;
		const queue = this.#queue;
		queue.shed();
		if (queue.bytes <= limits.hardQueueBytes) return;
		// The last message is not counted: it may have any size, and a retry would not make it smaller.
		if (queue.bytes - queue.lastBytes > limits.maxQueueBytes) {
			this.disconnect("the client has too much unread output");
			return;
		}
		pool.shrink(limits.maxQueueBytesInAll);
		if (!this.#isClosed) this.#setBackpressure(true);
	}

	#schedule(): void {
		if (this.#isScheduled || this.#inFlight >= WRITE_AHEAD_BYTES) return;
		this.#isScheduled = true;
		this.#options.pool.schedule(this.#flush);
	}

	/** Batches messages, because the system call of a write costs more than encoding a message. */
	#scheduleLater(): void {
		if (this.#isScheduled || this.#isScheduledLater) return;
		this.#isScheduledLater = true;
		this.#options.pool.scheduleLater(() => {
			this.#isScheduledLater = false;
			this.#schedule();
		});
	}

	readonly #flush = (): void => {
		this.#isScheduled = false;
		if (this.#isClosed) return;
		const { parts, bytes } = this.#queue.take(WRITE_AHEAD_BYTES - this.#inFlight);
		if (parts.length === 0) return;
		if (this.#inFlight === 0) this.#writtenAtMs = this.#now();
		this.#addInFlight(bytes);
		this.#options.writer.write(parts, () => this.#written(bytes));
		this.#resolveWaiters();
	};

	#written(bytes: number): void {
		if (this.#isClosed) return;
		this.#addInFlight(-bytes);
		this.#writtenAtMs = this.#now();
		if (!this.#queue.isEmpty) this.#schedule();
		this.#resolveWaiters();
		this.#options.pool.notifyWritten();
	}

	#addInFlight(bytes: number): void {
		this.#inFlight += bytes;
		this.#options.pool.queued += bytes;
	}

	#resolveWaiters(): void {
		if (this.#isUnderBackpressure && this.#queue.bytes <= this.#options.limits.hardQueueBytes / 2) {
			this.#setBackpressure(false);
		}
		if (this.#waiters.length === 0) return;
		this.#waiters = this.#waiters.filter(({ below, resolve }) => {
			const isDone = this.#isClosed || this.pending <= below;
			if (isDone) resolve();
			return !isDone;
		});
	}

	#wait(below: number): Promise<void> {
		if (this.#isClosed || this.pending <= below) return Promise.resolve();
		return new Promise((resolve) => this.#waiters.push({ below, resolve }));
	}

	#setBackpressure(isHigh: boolean): void {
		if (this.#isUnderBackpressure === isHigh) return;
		this.#isUnderBackpressure = isHigh;
		this.#options.onBackpressure(isHigh);
	}
}

export class OutboxPool {
	/** Bytes queued in all outboxes, including bytes in flight. */
	queued = 0;
	readonly outboxes = new Set<Outbox>();
	readonly #waiters: (() => void)[] = [];
	/** Runs after all input of this event-loop turn, so that several messages share one write. */
	readonly schedule = batched((run) => void setImmediate(run));
	readonly scheduleLater = batched((run) => void setTimeout(run, LATER_MS));

	/** Resolves when the operating system has accepted bytes of any outbox, or an outbox is closed. */
	whenWritten(): Promise<void> {
		return new Promise((resolve) => this.#waiters.push(resolve));
	}

	notifyWritten(): void {
		for (const resolve of this.#waiters.splice(0)) resolve();
	}

	/** Disconnects the largest outboxes until at most `bytes` are queued. */
	shrink(bytes: number): void {
		while (this.queued > bytes && this.outboxes.size > 0) {
			let largest: Outbox | undefined;
			for (const outbox of this.outboxes) {
				if (!largest || outbox.pending > largest.pending) largest = outbox;
			}
			largest?.disconnect("the server has no room for more unread output");
		}
	}
}

function batched(start: (run: () => void) => void): (call: () => void) => void {
	let batch: (() => void)[] = [];
	const run = () => {
		const calls = batch;
		batch = [];
		for (const call of calls) call();
	};
	return (call) => {
		if (batch.push(call) === 1) start(run);
	};
}

/** Calls `done` when the operating system has accepted all parts, but not if a write fails. */
export function writeParts(stream: Writable, parts: Uint8Array[], done: () => void): void {
	const finished = (error?: Error | null) => {
		if (!error) done();
	};
	const bytes = parts.reduce((sum, part) => sum + part.length, 0);
	if (parts.length === 1) stream.write(parts[0], finished);
	else if (bytes <= COPY_BYTES) stream.write(Buffer.concat(parts, bytes), finished);
	else {
		stream.cork();
		for (const part of parts.slice(0, -1)) stream.write(part);
		stream.write(parts.at(-1), finished);
		stream.uncork();
	}
}
