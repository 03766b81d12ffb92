import type { Writable } from "node:stream";
import type { Message } from "../engine/message.ts";
import type { OutboxLimits } from "../limits.ts";
import { type Encoded, OutboxQueue, progressOf } from "./outbox-queue.ts";

/** What a transport writes messages with. */
export interface FrameWriter {
	encode(message: Message): Encoded;
	/** Sends all parts in order, with nothing in between. `done` is called when the system has taken them. */
	write(parts: Uint8Array[], done: () => void): void;
}

export interface OutboxOptions {
	writer: FrameWriter;
	limits: OutboxLimits;
	pool: OutboxPool;
	/** The other side does not read: the connection should be closed. Called once. */
	giveUp(why: string): void;
	/** Backpressure begins or ends at `hardQueueBytes`: stop, or go on, reading from the other side. */
	onPressure(isHigh: boolean): void;
	/** Something was taken, or dropped with the connection. */
	onTaken?(): void;
	now?: () => number;
}

/** So much does not wait any longer. */
const PATIENT_BYTES = 64 * 1024;
/** High-water mark of what the system has not taken. The rest stays where it can still be joined. */
const WRITE_AHEAD_BYTES = 256 * 1024;
/** Long enough that one write takes the output of several turns, too short to notice. */
const LATER_MS = 10;
/** Up to here copying parts together costs less than writing them one by one. */
const COPY_BYTES = 128 * 1024;
const MEGABYTE = 2 ** 20;

/**
 * The output of one connection: first in, first out, with one write for each turn of the event loop. A client that reads
 * too slowly gets the text deltas of a session joined, then replaced by a `gap`. Everything else is kept, until too much
 * of it waits or nothing is taken for too long: then the outbox gives up, and the client can reconnect and resume.
 */
export class Outbox {
	readonly #options: OutboxOptions;
	readonly #queue: OutboxQueue;
	readonly #now: () => number;
	/** Bytes that the system has not taken. */
	#inFlight = 0;
	#takenAtMs = 0;
	#isClosed = false;
	#isScheduled = false;
	#isScheduledLater = false;
	#isUnderPressure = false;
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

	/** Bytes that the other side has not taken. */
	get pending(): number {
		return this.#queue.bytes + this.#inFlight;
	}

	/** A message that `canWait` does so for a few milliseconds, unless another is sent meanwhile that cannot. */
	send(message: Message, canWait = false): void {
		if (this.#isClosed) return;
		const queue = this.#queue;
		const { softQueueBytes, hardQueueBytes } = this.#options.limits;
		const progress = this.pending > softQueueBytes ? progressOf(message.value) : undefined;
		if (progress) queue.addProgress(message, progress);
		else queue.add(message);
		if (queue.bytes > hardQueueBytes) this.#relieve();
		if (this.#isClosed) return;
		if (canWait && queue.bytes < PATIENT_BYTES) this.#scheduleLater();
		else this.#schedule();
	}

	/** Whether so little waits that answers to reads may be made. */
	get hasRoom(): boolean {
		return this.pending <= this.#options.limits.hardQueueBytes;
	}

	/** Resolves when half of that room is free, or when the connection is gone. */
	whenRoom(): Promise<void> {
		return this.#wait(this.#options.limits.hardQueueBytes / 2);
	}

	/** Resolves when so little waits that a long replay may go on, or when the connection is gone. */
	drained(): Promise<void> {
		return this.#wait(this.#options.limits.softQueueBytes / 2);
	}

	/** Resolves when nothing waits any more, or when the connection is gone. */
	empty(): Promise<void> {
		return this.#wait(0);
	}

	/** Gives up if nothing was taken for too long. Called every now and then. */
	check(): void {
		if (this.#isClosed || this.#inFlight === 0) return;
		// One large piece is reported in one piece, so it gets more time.
		const megabytes = Math.max(1, Math.ceil(this.#inFlight / MEGABYTE));
		const patience = this.#options.limits.stallMs * megabytes;
		if (this.#now() - this.#takenAtMs > patience) this.giveUp("nothing was read for too long");
	}

	giveUp(why: string): void {
		if (this.#isClosed) return;
		this.close();
		this.#options.giveUp(why);
	}

	/** Drops everything; nothing is sent any more. */
	close(): void {
		if (this.#isClosed) return;
		const { pool, onTaken } = this.#options;
		this.#isClosed = true;
		pool.outboxes.delete(this);
		this.#queue.clear();
		this.#fly(-this.#inFlight);
		this.#settle();
		onTaken?.();
	}

	/** Too much waits: progress goes first, and if that is not enough, the connection. */
	#relieve(): void {
		const { limits, pool } = this.#options;
		const queue = this.#queue;
		queue.shed();
		if (queue.bytes <= limits.hardQueueBytes) return;
		// One message may be of any size: a second try would not make it smaller.
		if (queue.bytes - queue.lastBytes > limits.maxQueueBytes) {
			this.giveUp("too much waits to be read");
			return;
		}
		pool.shrink(limits.maxQueueBytesInAll);
		if (!this.#isClosed) this.#setPressure(true);
	}

	#schedule(): void {
		if (this.#isScheduled || this.#inFlight >= WRITE_AHEAD_BYTES) return;
		this.#isScheduled = true;
		this.#options.pool.schedule(this.#flush);
	}

	/** A write is a system call, which costs more than making a message. */
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
		if (this.#inFlight === 0) this.#takenAtMs = this.#now();
		this.#fly(bytes);
		this.#options.writer.write(parts, () => this.#taken(bytes));
		this.#settle();
	};

	#taken(bytes: number): void {
		if (this.#isClosed) return;
		this.#fly(-bytes);
		this.#takenAtMs = this.#now();
		if (!this.#queue.isEmpty) this.#schedule();
		this.#settle();
		this.#options.onTaken?.();
	}

	#fly(bytes: number): void {
		this.#inFlight += bytes;
		this.#options.pool.queued += bytes;
	}

	#settle(): void {
		if (this.#isUnderPressure && this.#queue.bytes <= this.#options.limits.hardQueueBytes / 2) {
			this.#setPressure(false);
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

	#setPressure(isHigh: boolean): void {
		if (this.#isUnderPressure === isHigh) return;
		this.#isUnderPressure = isHigh;
		this.#options.onPressure(isHigh);
	}
}

/** What all outboxes of a server share. */
export class OutboxPool {
	/** Bytes that wait in all of them. */
	queued = 0;
	readonly outboxes = new Set<Outbox>();
	/** Calls back after all that this turn has read: several commands and outcomes make one write. */
	readonly schedule = batched((run) => void setImmediate(run));
	readonly scheduleLater = batched((run) => void setTimeout(run, LATER_MS));

	/** The largest give up until at most `bytes` wait in all. */
	shrink(bytes: number): void {
		while (this.queued > bytes && this.outboxes.size > 0) {
			let largest: Outbox | undefined;
			for (const outbox of this.outboxes) {
				if (!largest || outbox.pending > largest.pending) largest = outbox;
			}
			largest?.giveUp("the server is out of room");
		}
	}
}

/** Collects calls; the first of a batch starts the timer that runs them all. */
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

/** Writes several parts as one. `done` is called when the system has taken all of them; not at all when it never does. */
export function writeParts(stream: Writable, parts: Uint8Array[], done: () => void): void {
	const finished = (error?: Error | null) => {
		if (!error) done();
	};
	if (parts.length === 1) {
		stream.write(parts[0], finished);
		return;
	}
	const bytes = parts.reduce((sum, part) => sum + part.length, 0);
	if (bytes <= COPY_BYTES) {
		stream.write(Buffer.concat(parts, bytes), finished);
		return;
	}
	stream.cork();
	for (const part of parts.slice(0, -1)) stream.write(part);
	stream.write(parts.at(-1), finished);
	stream.uncork();
}
