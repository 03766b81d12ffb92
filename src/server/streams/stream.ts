import type { SessionEvent } from "../../protocol/index.ts";
import type { Client, Message } from "../engine/message.ts";
import type { StreamEvent, StreamName } from "../journal/journal.ts";
import { gapMessage, liveMessage, unkeptMessage } from "./event-message.ts";
import { UnderWay } from "./under-way.ts";

/**
 * One session's events: gives them their numbers and hands them to live subscribers in that order, each when the journal
 * has it. Between events it is a small record.
 *
 * An event that the journal refuses is handed out all the same, but without its number, which then is nobody's: a client
 * only ever knows numbers that the journal has, so that after a crash the others can be given again. The next event that
 * is kept comes behind a `gap` with the numbers in between, as it will for whoever reads it later.
 */
export class Stream {
	readonly name: StreamName;
	/** The number before the first event of this process. */
	readonly begin: number;
	/** The highest number that subscribers know: that of the last event which is kept and handed out. */
	last: number;
	/** The number of the last event there is. */
	#given: number;
	/** A stream of the process before has been told that nothing is any more. */
	readonly #underWay = new UnderWay();
	/** The numbers of what extensions have shown lately, by the id of their request. */
	readonly #shown = new Map<string, number>();
	#queue: Queued[] = [];
	/** How many of the queue have been handed out. */
	#head = 0;
	/** Replaced and never changed, so that delivery can go through it while clients come and go. */
	#live: readonly Client[] = NOBODY;
	#onDrained: (() => void)[] = [];

	constructor(name: StreamName, last: number) {
		this.name = name;
		this.begin = last;
		this.last = last;
		this.#given = last;
	}

	/** Adds an event; `append` journals it under its number. */
	emit(event: SessionEvent, append: (event: KeptEvent) => Promise<void>): void {
		const { sessionId } = this.name;
		const body = JSON.stringify(event);
		const seq = ++this.#given;
		const queued: Queued = { seq, message: undefined, isKept: false };
		this.#queue.push(queued);
		if (event.type === "extension_ui_request") this.#noteShown(event.requestId, seq);
		const underWay = this.#underWay.take(event);
		append({ seq, body, ...(underWay && { underWay }) }).then(
			() => {
				queued.message = liveMessage({ sessionId, seq }, event, body);
				queued.isKept = true;
				this.#deliver();
			},
			() => {
				queued.message = unkeptMessage(sessionId, event);
				this.#deliver();
			},
		);
	}

	/** The number of a request of an extension, unless it was long ago. */
	numberOf(requestId: string): number | undefined {
		return this.#shown.get(requestId);
	}

	/** The client gets what is handed out from now on. */
	join(client: Client): void {
		if (!this.isLive(client)) this.#live = [...this.#live, client];
	}

	leave(client: Client): void {
		if (this.isLive(client)) this.#live = this.#live.filter((other) => other !== client);
	}

	isLive(client: Client): boolean {
		return this.#live.includes(client);
	}

	/** Those who have joined. */
	get live(): readonly Client[] {
		return this.#live;
	}

	/** Resolves when all events so far have been handed out. */
	drained(): Promise<void> {
		if (this.#queue.length === 0) return Promise.resolve();
		return new Promise((resolve) => this.#onDrained.push(resolve));
	}

	#noteShown(requestId: string, seq: number): void {
		this.#shown.set(requestId, seq);
		if (this.#shown.size > MAX_SHOWN) this.#shown.delete(this.#shown.keys().next().value as string);
	}

	/** Hands out what is known to be kept or not, up to the first event of which it is not. */
	#deliver(): void {
		for (; this.#head < this.#queue.length; this.#head++) {
			const { seq, message, isKept } = this.#queue[this.#head] as Queued;
			if (!message) break;
			if (isKept) this.#advance(seq);
			this.#send(message);
		}
		if (this.#head === this.#queue.length) {
			this.#queue = [];
			this.#head = 0;
			for (const resolve of this.#onDrained.splice(0)) resolve();
		} else if (this.#head > COMPACT) {
			this.#queue = this.#queue.slice(this.#head);
			this.#head = 0;
		}
	}

	#advance(seq: number): void {
		const from = this.last + 1;
		this.last = seq;
		if (seq > from) this.#send(gapMessage(this.name.sessionId, from, seq - 1));
	}

	#send(message: Message): void {
		for (const client of this.#live) client.send(message);
	}
}

/** What the journal keeps of an event. */
type KeptEvent = Pick<StreamEvent, "seq" | "body" | "underWay">;

interface Queued {
	seq: number;
	/** Absent until the journal has said what becomes of it. */
	message: Message | undefined;
	isKept: boolean;
}

/** Handed-out events are dropped from the queue in lots of this size, or when it is empty. */
const COMPACT = 1_024;

/** Enough for what stands at a time; the rest is replaced by now. */
const MAX_SHOWN = 256;

const NOBODY: readonly Client[] = [];
