import type { GapFrame, SessionEventFrame } from "../../protocol/index.ts";
import { createMessage, type Message } from "../engine/message.ts";
import type { OutboxLimits } from "../limits.ts";
import type { OutboxPool, PoolMember } from "./outbox-pool.ts";
import { joined, type Progress, progressOf } from "./progress.ts";

/**
 * What waits to be sent on one connection: first in, first out, and one write for all that came up in a turn of the event
 * loop. A client that reads too slowly gets the text deltas of a session joined, then left out with a `gap` in their
 * place. Everything else is kept, until too much of it waits or nothing is taken for too long: then the connection is
 * given up, and the client can come back and resume.
 */
export interface Outbox {
	send(message: Message): void;
	/** Resolves when little enough waits that a long replay may go on, or when the connection is gone. */
	drained(): Promise<void>;
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
	now?: () => number;
}

/** The connection below. */
export interface Wire {
	/** A message as this transport sends it. */
	encode(message: Message): Uint8Array;
	/** Sends all parts in order, with nothing in between. `done` is called when the system has taken them. */
	write(parts: Uint8Array[], done: () => void): void;
}

/** What is handed to the system before it has taken what came earlier. The rest stays where it can still be joined. */
const WRITE_AHEAD_BYTES = 256 * 1024;
const MEGABYTE = 2 ** 20;

/** Progress for a client that lags: pieces of one text, or a gap. */
interface Pending {
	size: number;
	sessionId: string;
	fromSeq: number;
	seq: number;
	/** Absent for a gap. */
	last?: { frame: SessionEventFrame; of?: string; texts: string[] };
}

/** Bytes that are ready to go, or progress that may still change. */
type Item = Uint8Array | Pending;

export function createOutbox(options: OutboxOptions): Outbox {
	const { wire, limits, pool } = options;
	const now = options.now ?? (() => performance.now());
	let queue: Item[] = [];
	let head = 0;
	/** Bytes in the queue; those of them that may be left out; bytes handed to the wire. */
	let queued = 0;
	let sheddable = 0;
	let inFlight = 0;
	let takenAtMs = 0;
	let isClosed = false;
	let isScheduled = false;
	let isUnderPressure = false;
	let waiters: { below: number; resolve: () => void }[] = [];
	/** The last item of each session that the next piece of its progress may join. */
	const tails = new Map<string, Pending>();

	function send(message: Message): void {
		if (isClosed) return;
		const isLagging = queued + inFlight > limits.softQueueBytes;
		const progress = isLagging ? progressOf(message.value) : undefined;
		if (progress) addProgress(message, progress);
		else add(wire.encode(message));
		if (queued > limits.hardQueueBytes) relieve();
		if (!isClosed) schedule();
	}

	function add(item: Item): void {
		queue.push(item);
		count(sizeOf(item));
	}

	function count(bytes: number): void {
		queued += bytes;
		pool.queued += bytes;
	}

	function addProgress(message: Message, progress: Progress): void {
		const { sessionId, fromSeq, seq, piece } = progress;
		const tail = tails.get(sessionId);
		const follows = tail !== undefined && tail.seq + 1 === fromSeq;
		const isTooMuch = queued >= limits.hardQueueBytes;
		if (isTooMuch) {
			if (follows && !tail.last) tail.seq = seq;
			else addPending({ size: GAP_BYTES, sessionId, fromSeq, seq });
			return;
		}
		const frame = message.value as SessionEventFrame;
		if (follows && tail.last && piece && tail.last.of === piece.of) {
			const size = Buffer.byteLength(JSON.stringify(piece.text)) - 2;
			tail.last.frame = frame;
			tail.last.texts.push(piece.text);
			tail.seq = seq;
			tail.size += size;
			sheddable += size;
			count(size);
			return;
		}
		const size = wire.encode(message).length;
		const last = piece ? { frame, of: piece.of, texts: [piece.text] } : { frame, texts: [] };
		addPending({ size, sessionId, fromSeq, seq, last });
	}

	function addPending(item: Pending): void {
		tails.set(item.sessionId, item);
		if (item.last) sheddable += item.size;
		add(item);
	}

	/** Too much waits: progress goes first, and if that is not enough, the connection. */
	function relieve(): void {
		if (sheddable > 0) shed();
		if (queued <= limits.hardQueueBytes) return;
		// One message may be of any size: nothing else would make it smaller the next time.
		if (queued - sizeOf(queue.at(-1) as Item) > limits.maxQueueBytes) {
			giveUp("too much waits to be read");
			return;
		}
		pool.shrink(limits.maxQueueBytesInAll);
		if (!isClosed) setPressure(true);
	}

	/** Puts gaps where progress waited. */
	function shed(): void {
		const kept: Item[] = [];
		const gaps = new Map<string, Pending>();
		for (const item of queue.slice(head)) {
			if (item instanceof Uint8Array) {
				kept.push(item);
				continue;
			}
			const { sessionId, fromSeq, seq } = item;
			const gap = gaps.get(sessionId);
			if (gap && gap.seq + 1 === fromSeq) {
				gap.seq = seq;
				continue;
			}
			const fresh: Pending = { size: GAP_BYTES, sessionId, fromSeq, seq };
			gaps.set(sessionId, fresh);
			kept.push(fresh);
		}
		queue = kept;
		head = 0;
		count(kept.reduce((sum, item) => sum + sizeOf(item), 0) - queued);
		sheddable = 0;
		tails.clear();
		for (const [sessionId, gap] of gaps) tails.set(sessionId, gap);
	}

	function schedule(): void {
		if (isScheduled || inFlight >= WRITE_AHEAD_BYTES) return;
		isScheduled = true;
		pool.schedule(flush);
	}

	function flush(): void {
		isScheduled = false;
		if (isClosed) return;
		const parts: Uint8Array[] = [];
		let bytes = 0;
		while (head < queue.length && inFlight + bytes < WRITE_AHEAD_BYTES) {
			const part = take(queue[head++] as Item);
			parts.push(part);
			bytes += part.length;
		}
		compact();
		if (parts.length === 0) return;
		if (inFlight === 0) takenAtMs = now();
		inFlight += bytes;
		pool.queued += bytes;
		wire.write(parts, () => taken(bytes));
		settle();
	}

	/** The bytes of an item, which leaves the queue. */
	function take(item: Item): Uint8Array {
		count(-sizeOf(item));
		if (item instanceof Uint8Array) return item;
		if (tails.get(item.sessionId) === item) tails.delete(item.sessionId);
		if (item.last) sheddable -= item.size;
		return wire.encode(createMessage(frameOf(item)));
	}

	function compact(): void {
		if (head === queue.length) queue = [];
		else if (head > 1000 && head > queue.length / 2) queue = queue.slice(head);
		else return;
		head = 0;
	}

	function taken(bytes: number): void {
		if (isClosed) return;
		inFlight -= bytes;
		pool.queued -= bytes;
		takenAtMs = now();
		if (head < queue.length) schedule();
		settle();
	}

	function settle(): void {
		if (isUnderPressure && queued <= limits.hardQueueBytes / 2) setPressure(false);
		if (waiters.length === 0) return;
		const rest = waiters.filter(({ below, resolve }) => {
			const isDone = isClosed || queued + inFlight <= below;
			if (isDone) resolve();
			return !isDone;
		});
		waiters = rest;
	}

	function wait(below: number): Promise<void> {
		if (isClosed || queued + inFlight <= below) return Promise.resolve();
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
		count(-queued);
		pool.queued -= inFlight;
		inFlight = 0;
		queue = [];
		head = 0;
		tails.clear();
		settle();
	}

	const member: PoolMember = {
		get pending() {
			return queued + inFlight;
		},
		giveUp,
	};
	pool.members.add(member);

	return {
		send,
		drained: () => wait(limits.softQueueBytes / 2),
		empty: () => wait(0),
		get pending() {
			return queued + inFlight;
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

/** About what a `gap` message takes. */
const GAP_BYTES = 120;

function sizeOf(item: Item): number {
	return item instanceof Uint8Array ? item.length : item.size;
}

function frameOf({ sessionId, fromSeq, seq, last }: Pending): SessionEventFrame | GapFrame {
	if (!last) return { type: "gap", sessionId, fromSeq, toSeq: seq };
	return last.texts.length > 1 ? joined(last.frame, fromSeq, last.texts.join("")) : last.frame;
}
