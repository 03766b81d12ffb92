import type { Data } from "../../protocol/index.ts";
import {
	type Client,
	createMessage,
	createWrittenMessage,
	type Message,
} from "../engine/message.ts";
import type { Journal, StreamEvent, StreamName } from "../journal/journal.ts";

/**
 * Numbers one session's events and sends each once it is journalled. A refused event is sent
 * without its number, and the next follows a `gap`: a crash may reuse unjournalled numbers.
 */
export class Stream {
	readonly name: StreamName;
	readonly begin: number;
	/** The highest number that subscribers know. */
	last: number;
	/** The latest number, journalled or not. */
	#given: number;
	readonly #inProgress = new InProgress();
	readonly #requests = new Map<string, number>();
	#queue: Queued[] = [];
	/** Index of the first unsent event. */
	#head = 0;
	/** The controller ends the client's replay. */
	readonly #subscribers = new Map<Client, AbortController>();
	/** Subscribers past their replay. Copy on write: delivery iterates while clients come and go. */
	#live: readonly Client[] = [];
	#onDrained: (() => void)[] = [];

	constructor(name: StreamName, last: number) {
		this.name = name;
		this.begin = last;
		this.last = last;
		this.#given = last;
	}

	emit(event: Data<"SessionEvent">, append: (event: KeptEvent) => Promise<void>): void {
		const { sessionId } = this.name;
		const body = JSON.stringify(event);
		const seq = ++this.#given;
		const queued: Queued = { seq, message: undefined, isKept: false };
		this.#queue.push(queued);
		if (event.type === "extension_ui_request") this.#noteRequest(event.requestId, seq);
		const underWay = this.#inProgress.take(event);
		append({ seq, body, ...(underWay && { underWay }) }).then(
			() => {
				const value = { type: "event", sessionId, seq, event } as const;
				queued.message = createMessage(value, eventJson(sessionId, seq, body));
				queued.isKept = true;
				this.#deliver();
			},
			() => {
				queued.message = createMessage({ type: "event", sessionId, event });
				this.#deliver();
			},
		);
	}

	numberOf(requestId: string): number | undefined {
		return this.#requests.get(requestId);
	}

	join(client: Client): void {
		if (this.isSubscribed(client)) return;
		this.#subscribers.set(client, new AbortController());
		this.#goLive(client);
	}

	/** Sends events above `after`, then live ones. Resolves when the client is live or has left. */
	replay(client: Client, after: number, options: ReplayOptions): Promise<void> {
		this.leave(client);
		const controller = new AbortController();
		this.#subscribers.set(client, controller);
		return this.#replay(client, after, { ...options, signal: controller.signal });
	}

	leave(client: Client): void {
		this.#subscribers.get(client)?.abort();
		if (this.#subscribers.delete(client)) {
			this.#live = this.#live.filter((other) => other !== client);
		}
	}

	isSubscribed(client: Client): boolean {
		return this.#subscribers.has(client);
	}

	endReplays(): void {
		for (const controller of this.#subscribers.values()) controller.abort();
	}

	drained(): Promise<void> {
		if (this.#queue.length === 0) return Promise.resolve();
		return new Promise((resolve) => this.#onDrained.push(resolve));
	}

	/** Sending the last page and going live are one synchronous step, so no event is lost between. */
	async #replay(
		client: Client,
		after: number,
		{ journal, turn, signal }: ReplayOptions & { signal: AbortSignal },
	): Promise<void> {
		let cursor = after;
		do {
			if (cursor > after || client.hasRoom === false) await client.drained?.();
			await turn();
			if (signal.aborted || client.gone) return;
			cursor = this.#sendPage(client, cursor, journal);
		} while (cursor !== this.last);
		this.#goLive(client);
	}

	/** Returns the last number the client has, gaps included. */
	#sendPage(client: Client, from: number, journal: ReplayOptions["journal"]): number {
		const { sessionId } = this.name;
		// The journal also has unflushed events, which no client may see.
		const to = this.last;
		let sent = from;
		for (const { seq, body } of journal.events(this.name, from, PAGE_EVENTS)) {
			if (seq > to) break;
			if (seq > sent + 1) client.send(gapMessage(sessionId, sent + 1, seq - 1));
			client.send(createWrittenMessage(eventJson(sessionId, seq, body)));
			sent = seq;
		}
		if (sent > from || sent === to) return sent;
		client.send(gapMessage(sessionId, from + 1, to));
		return to;
	}

	#goLive(client: Client): void {
		this.#live = [...this.#live, client];
	}

	#noteRequest(requestId: string, seq: number): void {
		this.#requests.set(requestId, seq);
		if (this.#requests.size <= MAX_REQUESTS) return;
		this.#requests.delete(this.#requests.keys().next().value as string);
	}

	/** Stops at the first event whose append is pending. */
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

export interface ReplayOptions {
	journal: Pick<Journal, "events">;
	turn(): Promise<void>;
}

type KeptEvent = Pick<StreamEvent, "seq" | "body" | "underWay">;

interface Queued {
	seq: number;
	message: Message | undefined;
	isKept: boolean;
}

const PAGE_EVENTS = 256;
/** Sent events are dropped from the queue in batches of this size. */
const COMPACT = 1_024;
/** Enough for all open requests. */
const MAX_REQUESTS = 256;

function eventJson(sessionId: string, seq: number, body: string): string {
	return `{"type":"event","sessionId":${JSON.stringify(sessionId)},"seq":${seq},"event":${body}}`;
}

function gapMessage(sessionId: string, fromSeq: number, toSeq: number): Message {
	return createMessage({ type: "gap", sessionId, fromSeq, toSeq });
}

export class InProgress {
	readonly #begun = new Set<string>();

	/** Returns whether something is in progress after the event. */
	take(event: Data<"SessionEvent">): boolean {
		switch (event.type) {
			// A run includes messages, tool calls and retries.
			case "agent_start":
				this.#begun.add("run");
				break;
			case "agent_settled":
				this.#begun.delete("run");
				break;
			case "compaction_start":
				this.#begun.add("compaction");
				break;
			case "compaction_end":
				this.#begun.delete("compaction");
				break;
			case "extension_ui_request":
				if (isQuestion(event.method)) this.#begun.add(`dialog ${event.requestId}`);
				break;
			case "extension_ui_closed":
				this.#begun.delete(`dialog ${event.requestId}`);
		}
		return this.#begun.size > 0;
	}
}

/** Whether the request waits for an answer; others are only shown. */
export function isQuestion(method: string): boolean {
	return ["select", "confirm", "input", "editor"].includes(method);
}
