import type { Message } from "../engine/message.ts";
import type { OutboxLimits } from "../limits.ts";
import type { OutboxPool, PoolMember } from "./outbox-pool.ts";
import { type Encoded, OutboxQueue } from "./outbox-queue.ts";
import { progressOf } from "./progress.ts";

/**
 * What waits to be sent on one connection: first in, first out, and one write for all that came up in a turn of the event
 * loop. A client that reads too slowly gets the text deltas of a session joined, then left out with a `gap` in their
 * place. Everything else is kept, until too much of it waits or nothing is taken for too long: then the connection is
 * given up, and the client can come back and resume.
 */
export interface Outbox {
	/** One that can wait does so for a few milliseconds, unless another is sent meanwhile that cannot. */
	send(message: Message, canWait?: boolean): void;
	/** Resolves when little enough waits that a long replay may go on, or when the connection is gone. */
	drained(): Promise<void>;
	/** Whether so little waits that answers to reads may be made. */
	readonly hasRoom: boolean;
	/** Resolves when half of that room is free, or when the connection is gone. */
	whenRoom(): Promise<void>;
	/** Resolves when nothing waits any more, or when the connection is gone. */
	empty(): Promise<void>;
	/** Bytes that the other side has not taken. */
	readonly pending: number;
	/** Gives up if nothing was taken for too long. Called every now and then. */
	check(): void;
	/** Forgets everything; nothing is sent any more. */
	close(): void;
}

export interface OutboxOptions {
	wire: Wire;
	limits: OutboxLimits;
	pool: OutboxPool;
	/** The other side does not read: the connection should be closed. Called once. */
	giveUp(why: string): void;
	/** More, or again less, than `hardQueueBytes` wait: stop, or go on, reading from the other side. */
	onPressure(isHigh: boolean): void;
	/** Something was taken, or dropped with the connection. */
	onTaken?(): void;
	now?: () => number;
}

/** The connection below. */
export interface Wire {
	/** A message as this transport sends it, in one part or in several. */
	encode(message: Message): Encoded;
	/** Sends all parts in order, with nothing in between. `done` is called when the system has taken them. */
	write(parts: Uint8Array[], done: () => void): void;
}

/** So much does not wait any longer. */
const PATIENT_BYTES = 64 * 1024;
/** What is handed to the system before it has taken what came earlier. The rest stays where it can still be joined. */
const WRITE_AHEAD_BYTES = 256 * 1024;
const MEGABYTE = 2 ** 20;

export function createOutbox(options: OutboxOptions): Outbox {
	const { wire, limits, pool } = options;
	const now = options.now ?? (() => performance.now());
	const queue = new OutboxQueue({ wire, pool, hardBytes: limits.hardQueueBytes });
	/** Bytes handed to the wire. */
	let inFlight = 0;
	let takenAtMs = 0;
	let isClosed = false;
	let isScheduled = false;
	let isScheduledLater = false;
	let isUnderPressure = false;
	let waiters: { below: number; resolve: () => void }[] = [];

	function send(message: Message, canWait = false): void {
		if (isClosed) return;
		const isLagging = queue.bytes + inFlight > limits.softQueueBytes;
		const progress = isLagging ? progressOf(message.value) : undefined;
		if (progress) queue.addProgress(message, progress);
		else queue.add(message);
		if (queue.bytes > limits.hardQueueBytes) relieve();
		if (isClosed) return;
		if (canWait && queue.bytes < PATIENT_BYTES) scheduleLater();
		else schedule();
	}

	/** Too much waits: progress goes first, and if that is not enough, the connection. */
	function relieve(): void {
		queue.shed();
		if (queue.bytes <= limits.hardQueueBytes) return;
		// One message may be of any size: nothing else would make it smaller the next time.
		if (queue.bytes - queue.lastBytes > limits.maxQueueBytes) {
			giveUp("too much waits to be read");
			return;
		}
		pool.shrink(limits.maxQueueBytesInAll);
		if (!isClosed) setPressure(true);
	}

	function schedule(): void {
		if (isScheduled || inFlight >= WRITE_AHEAD_BYTES) return;
		isScheduled = true;
		pool.schedule(flush);
	}

	/** Every write is a call to the system, which costs more than all it takes to make a message. */
	function scheduleLater(): void {
		if (isScheduled || isScheduledLater) return;
		isScheduledLater = true;
		pool.scheduleLater(() => {
			isScheduledLater = false;
			schedule();
		});
	}

	function flush(): void {
		isScheduled = false;
		if (isClosed) return;
		const { parts, bytes } = queue.take(WRITE_AHEAD_BYTES - inFlight);
		if (parts.length === 0) return;
		if (inFlight === 0) takenAtMs = now();
		inFlight += bytes;
		pool.queued += bytes;
		wire.write(parts, () => taken(bytes));
		settle();
	}

	function taken(bytes: number): void {
		if (isClosed) return;
		inFlight -= bytes;
		pool.queued -= bytes;
		takenAtMs = now();
		if (!queue.isEmpty) schedule();
		settle();
		options.onTaken?.();
	}

	function settle(): void {
		if (isUnderPressure && queue.bytes <= limits.hardQueueBytes / 2) setPressure(false);
		if (waiters.length === 0) return;
		const rest = waiters.filter(({ below, resolve }) => {
			const isDone = isClosed || queue.bytes + inFlight <= below;
			if (isDone) resolve();
			return !isDone;
		});
		waiters = rest;
	}

	function wait(below: number): Promise<void> {
		if (isClosed || queue.bytes + inFlight <= below) return Promise.resolve();
		return new Promise((resolve) => waiters.push({ below, resolve }));
	}

	function setPressure(isHigh: boolean): void {
		if (isUnderPressure === isHigh) return;
		isUnderPressure = isHigh;
		options.onPressure(isHigh);
	}

	function giveUp(why: string): void {
		if (isClosed) return;
		close();
		options.giveUp(why);
	}

	function close(): void {
		if (isClosed) return;
		isClosed = true;
		pool.members.delete(member);
		queue.clear();
		pool.queued -= inFlight;
		inFlight = 0;
		settle();
		options.onTaken?.();
	}

	const member: PoolMember = {
		get pending() {
			return queue.bytes + inFlight;
		},
		giveUp,
	};
	pool.members.add(member);

	return {
		send,
		drained: () => wait(limits.softQueueBytes / 2),
		get hasRoom() {
			return queue.bytes + inFlight <= limits.hardQueueBytes;
		},
		whenRoom: () => wait(limits.hardQueueBytes / 2),
		empty: () => wait(0),
		get pending() {
			return queue.bytes + inFlight;
		},
		check() {
			if (isClosed || inFlight === 0) return;
			// What is handed over in one piece is reported in one piece, so a large piece gets more time.
			const patience = limits.stallMs * Math.max(1, Math.ceil(inFlight / MEGABYTE));
			if (now() - takenAtMs > patience) giveUp("nothing was read for too long");
		},
		close,
	};
}
