import type { Data } from "../../protocol/index.ts";
import { Message } from "../engine/message.ts";

/** An encoded message, in parts that connections may share. */
export type Encoded = readonly Uint8Array[];

interface OutboxQueueOptions {
	encode(message: Message): Encoded;
	/** Called with the bytes added to the queue; negative if removed. */
	count(bytes: number): void;
	/** High-water mark. Above it, a `gap` replaces progress events. */
	readonly hardBytes: number;
}

/** FIFO queue of unsent messages. For slow clients, deltas are coalesced, then replaced by a `gap`. */
export class OutboxQueue {
	/** Approximate size of all items. */
	bytes = 0;
	readonly #options: OutboxQueueOptions;
	#items: Item[] = [];
	/** Number of items that gaps can replace. */
	#sheddable = 0;
	/** The last progress item of each session. The next delta may be coalesced with it. */
	readonly #tails = new Map<string, Pending>();

	constructor(options: OutboxQueueOptions) {
		this.#options = options;
	}

	get isEmpty(): boolean {
		return this.#items.length === 0;
	}

	get lastBytes(): number {
		return sizeOf(this.#items.at(-1) ?? []);
	}

	add(message: Message): void {
		this.#push(this.#options.encode(message));
	}

	/** The message may be coalesced with earlier progress, or replaced by a `gap`. */
	addProgress(message: Message, progress: Progress): void {
		const { sessionId, fromSeq, seq, delta } = progress;
		const tail = this.#tails.get(sessionId);
		const follows = tail !== undefined && tail.seq + 1 === fromSeq;
		if (this.bytes >= this.#options.hardBytes) {
			this.#addGap(progress);
			return;
		}
		const frame = message.value as Data<"SessionEventFrame">;
		if (follows && tail.last && delta && tail.last.delta?.textId === delta.textId) {
			const size = Buffer.byteLength(JSON.stringify(delta.text)) - 2;
			tail.last = { frame, delta, texts: tail.last.texts };
			tail.last.texts.push(delta.text);
			tail.seq = seq;
			tail.size += size;
			this.#count(size);
			return;
		}
		const size = sizeOf(this.#options.encode(message));
		const last = { frame, delta, texts: delta ? [delta.text] : [] };
		this.#addPending({ size, sessionId, fromSeq, seq, last });
	}

	/** Takes whole messages, so the last one may exceed `bytesWanted`. */
	take(bytesWanted: number): { parts: Uint8Array[]; bytes: number } {
		const parts: Uint8Array[] = [];
		let bytes = 0;
		let count = 0;
		for (const item of this.#items) {
			if (bytes >= bytesWanted) break;
			for (const part of this.#encoded(item)) {
				parts.push(part);
				bytes += part.length;
			}
			count++;
		}
		this.#items.splice(0, count);
		return { parts, bytes };
	}

	shed(): void {
		if (this.#sheddable === 0) return;
		const items = this.#items;
		this.clear();
		for (const item of items) {
			if (isEncoded(item)) this.#push(item);
			else this.#addGap(item);
		}
	}

	clear(): void {
		this.#count(-this.bytes);
		this.#sheddable = 0;
		this.#items = [];
		this.#tails.clear();
	}

	#addGap({ sessionId, fromSeq, seq }: Progress): void {
		const tail = this.#tails.get(sessionId);
		if (tail && !tail.last && tail.seq + 1 === fromSeq) tail.seq = seq;
		else this.#addPending({ size: GAP_BYTES, sessionId, fromSeq, seq });
	}

	#addPending(item: Pending): void {
		this.#tails.set(item.sessionId, item);
		if (item.last) this.#sheddable++;
		this.#push(item);
	}

	#push(item: Item): void {
		this.#items.push(item);
		this.#count(sizeOf(item));
	}

	#count(bytes: number): void {
		this.bytes += bytes;
		this.#options.count(bytes);
	}

	#encoded(item: Item): Encoded {
		this.#count(-sizeOf(item));
		if (isEncoded(item)) return item;
		if (this.#tails.get(item.sessionId) === item) this.#tails.delete(item.sessionId);
		if (item.last) this.#sheddable--;
		return this.#options.encode(new Message(frameOf(item)));
	}
}

interface Pending {
	size: number;
	readonly sessionId: string;
	readonly fromSeq: number;
	seq: number;
	/** Absent for a gap. */
	last?: { frame: Data<"SessionEventFrame">; delta: Delta | undefined; texts: string[] };
}

type Item = Encoded | Pending;

const GAP_BYTES = 120;

function isEncoded(item: Item): item is Encoded {
	return Array.isArray(item);
}

function sizeOf(item: Item): number {
	if (!isEncoded(item)) return item.size;
	let bytes = 0;
	for (const part of item) bytes += part.length;
	return bytes;
}

function frameOf(item: Pending): Data<"SessionEventFrame"> | Data<"GapFrame"> {
	const { sessionId, fromSeq, seq, last } = item;
	if (!last) return { type: "gap", sessionId, fromSeq, toSeq: seq };
	const { frame, delta, texts } = last;
	if (!delta || texts.length === 1) return frame;
	return { ...frame, fromSeq, event: delta.withText(texts.join("")) };
}

/** An event that a slow client can skip: a later one (such as `message_end`) repeats it in full. */
interface Progress {
	readonly sessionId: string;
	readonly fromSeq: number;
	readonly seq: number;
	/** Absent if the event cannot be coalesced with the next. */
	readonly delta?: Delta;
}

interface Delta {
	/** Identifies the text that the delta continues. */
	readonly textId: string;
	readonly text: string;
	withText(text: string): Data<"SessionEvent">;
}

/** Returns `undefined` for a message that every client must get. */
export function progressOf(message: Data<"ServerMessage">): Progress | undefined {
	if (message.type !== "event" || message.seq === undefined) return undefined;
	const { sessionId, seq, fromSeq = seq, event } = message;
	const position = { sessionId, fromSeq, seq };
	switch (event.type) {
		case "message_update": {
			const step = event.assistantMessageEvent;
			if (!("delta" in step)) return position;
			const textId = `${step.type} ${step.contentIndex}`;
			const withText = (delta: string) => ({ ...event, assistantMessageEvent: { ...step, delta } });
			return { ...position, delta: { textId, text: step.delta, withText } };
		}
		case "bash_execution_update": {
			const withText = (delta: string) => ({ ...event, delta });
			const textId = `bash ${event.id ?? ""}`;
			return { ...position, delta: { textId, text: event.delta, withText } };
		}
		case "tool_execution_update":
			return position;
		default:
			return undefined;
	}
}
