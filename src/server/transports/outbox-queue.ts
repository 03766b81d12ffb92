import type { GapFrame, SessionEventFrame } from "../../protocol/index.ts";
import { createMessage, type Message } from "../engine/message.ts";
import type { OutboxPool } from "./outbox-pool.ts";
import { joined, type Progress } from "./progress.ts";

export interface OutboxQueueOptions {
	/** A message as it is sent. */
	wire: { encode(message: Message): Encoded };
	/** Told of all bytes that come and go. */
	pool: Pick<OutboxPool, "queued">;
	/** Where this much waits, progress is only counted. */
	hardBytes: number;
}

/** A message as bytes. Parts may be shared with other connections. */
export type Encoded = Uint8Array | readonly Uint8Array[];

/**
 * The messages that wait on one connection, first in, first out. Progress for a client that lags, the text deltas of a
 * session, can still change here: pieces of one text are joined, and a `gap` takes the place of those that are left out.
 */
export class OutboxQueue {
	readonly #wire: OutboxQueueOptions["wire"];
	readonly #pool: OutboxQueueOptions["pool"];
	readonly #hardBytes: number;
	#items: Item[] = [];
	#head = 0;
	#bytes = 0;
	/** Those of the bytes that may be left out. */
	#sheddable = 0;
	/** The last item of each session that the next piece of its progress may join. */
	readonly #tails = new Map<string, Pending>();

	constructor({ wire, pool, hardBytes }: OutboxQueueOptions) {
		this.#wire = wire;
		this.#pool = pool;
		this.#hardBytes = hardBytes;
	}

	/** About what its messages will take when they are sent. */
	get bytes(): number {
		return this.#bytes;
	}

	get isEmpty(): boolean {
		return this.#head === this.#items.length;
	}

	/** The same for the message that came last; only for a queue that is not empty. */
	get lastBytes(): number {
		return sizeOf(this.#items.at(-1) as Item);
	}

	/** Adds a message that goes as it is. */
	add(message: Message): void {
		this.#push(this.#wire.encode(message));
	}

	/** Adds a message with progress, which may be joined with what came before, or left out. */
	addProgress(message: Message, progress: Progress): void {
		const { sessionId, fromSeq, seq, piece } = progress;
		const tail = this.#tails.get(sessionId);
		const follows = tail !== undefined && tail.seq + 1 === fromSeq;
		const isTooMuch = this.#bytes >= this.#hardBytes;
		if (isTooMuch) {
			if (follows && !tail.last) tail.seq = seq;
			else this.#addPending({ size: GAP_BYTES, sessionId, fromSeq, seq });
			return;
		}
		const frame = message.value as SessionEventFrame;
		if (follows && tail.last && piece && tail.last.of === piece.of) {
			const size = Buffer.byteLength(JSON.stringify(piece.text)) - 2;
			tail.last.frame = frame;
			tail.last.texts.push(piece.text);
			tail.seq = seq;
			tail.size += size;
			this.#sheddable += size;
			this.#count(size);
			return;
		}
		const size = sizeOf(this.#wire.encode(message));
		const last = piece ? { frame, of: piece.of, texts: [piece.text] } : { frame, texts: [] };
		this.#addPending({ size, sessionId, fromSeq, seq, last });
	}

	/** Takes messages off the front until they have so many bytes, or none is left. */
	take(bytesWanted: number): { parts: Uint8Array[]; bytes: number } {
		const parts: Uint8Array[] = [];
		let bytes = 0;
		while (this.#head < this.#items.length && bytes < bytesWanted) {
			const encoded = this.#encoded(this.#items[this.#head++] as Item);
			if (encoded instanceof Uint8Array) parts.push(encoded);
			else parts.push(...encoded);
			bytes += sizeOf(encoded);
		}
		this.#compact();
		return { parts, bytes };
	}

	/** Puts gaps where progress waits. */
	shed(): void {
		if (this.#sheddable === 0) return;
		const kept: Item[] = [];
		const gaps = new Map<string, Pending>();
		for (const item of this.#items.slice(this.#head)) {
			if (isEncoded(item)) {
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
		this.#items = kept;
		this.#head = 0;
		this.#count(kept.reduce((sum, item) => sum + sizeOf(item), 0) - this.#bytes);
		this.#sheddable = 0;
		this.#tails.clear();
		for (const [sessionId, gap] of gaps) this.#tails.set(sessionId, gap);
	}

	/** Forgets everything. */
	clear(): void {
		this.#count(-this.#bytes);
		this.#sheddable = 0;
		this.#items = [];
		this.#head = 0;
		this.#tails.clear();
	}

	#addPending(item: Pending): void {
		this.#tails.set(item.sessionId, item);
		if (item.last) this.#sheddable += item.size;
		this.#push(item);
	}

	#push(item: Item): void {
		this.#items.push(item);
		this.#count(sizeOf(item));
	}

	#count(bytes: number): void {
		this.#bytes += bytes;
		this.#pool.queued += bytes;
	}

	/** The bytes of an item, which leaves the queue. */
	#encoded(item: Item): Encoded {
		this.#count(-sizeOf(item));
		if (isEncoded(item)) return item;
		if (this.#tails.get(item.sessionId) === item) this.#tails.delete(item.sessionId);
		if (item.last) this.#sheddable -= item.size;
		return this.#wire.encode(createMessage(frameOf(item)));
	}

	#compact(): void {
		if (this.#head === this.#items.length) this.#items = [];
		else if (this.#head > 1000 && this.#head > this.#items.length / 2) {
			this.#items = this.#items.slice(this.#head);
		} else return;
		this.#head = 0;
	}
}

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
type Item = Encoded | Pending;

/** About what a `gap` message takes. */
const GAP_BYTES = 120;

function sizeOf(item: Item): number {
	if (item instanceof Uint8Array) return item.length;
	return isEncoded(item) ? item.reduce((sum, part) => sum + part.length, 0) : item.size;
}

function isEncoded(item: Item): item is Encoded {
	return item instanceof Uint8Array || Array.isArray(item);
}

function frameOf({ sessionId, fromSeq, seq, last }: Pending): SessionEventFrame | GapFrame {
	if (!last) return { type: "gap", sessionId, fromSeq, toSeq: seq };
	return last.texts.length > 1 ? joined(last.frame, fromSeq, last.texts.join("")) : last.frame;
}
