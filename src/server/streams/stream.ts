import type { Data } from "../../protocol/index.ts";
import {
	type Client,
	createMessage,
	createWrittenMessage,
	type Message,
} from "../engine/message.ts";
import type { Journal, StreamName } from "../journal/journal.ts";

export type StreamsJournal = Pick<Journal, "append" | "events" | "extent">;

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
	readonly #journal: StreamsJournal;
	readonly #now: () => number;
	readonly #inProgress = new InProgress();
	readonly #requests = new Map<string, number>();
	/** Unsent events, as a linked list. */
	#first: Queued | undefined;
	#last: Queued | undefined;
	/** The controller ends the client's replay. */
	readonly #subscribers = new Map<Client, AbortController>();
	/** Subscribers past their replay. Copy on write: delivery iterates while clients come and go. */
	#live: readonly Client[] = [];
	#onDrained: (() => void)[] = [];

	constructor(name: StreamName, journal: StreamsJournal, now: () => number) {
		const { last } = journal.extent(name);
		this.name = name;
		this.begin = last;
		this.last = last;
		this.#given = last;
		this.#journal = journal;
		this.#now = now;
	}

	emit(event: Data<"SessionEvent">): void {
		const { sessionId } = this.name;
		const body = JSON.stringify(event);
		const seq = ++this.#given;
		const queued: Queued = { seq, isKept: false };
		if (this.#last) this.#last.next = queued;
		else this.#first = queued;
		this.#last = queued;
		if (event.type === "extension_ui_request") this.#noteRequest(event.requestId, seq);
		const underWay = this.#inProgress.take(event);
		const stored = { ...this.name, seq, body, atMs: this.#now(), ...(underWay && { underWay }) };
		this.#journal.append(stored).then(
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

	/** Whether a replay above `after` sends the request. */
	hasRequest(requestId: string, after: number): boolean {
		const seq = this.#requests.get(requestId);
		if (seq === undefined || seq <= after) return false;
		return this.#journal.events(this.name, seq - 1, 1)[0]?.seq === seq;
	}

	join(client: Client): void {
		if (this.isSubscribed(client)) return;
		this.#subscribers.set(client, new AbortController());
		this.#goLive(client);
	}

	/**
	 * Sends events above `after`, then live ones; awaits `turn` before each page. Resolves when the
	 * client is live or has left.
	 */
	async replay(client: Client, after: number, turn: () => Promise<void>): Promise<void> {
		this.leave(client);
		const replaying = new AbortController();
		this.#subscribers.set(client, replaying);
		let cursor = after;
		do {
			if (cursor > after || client.hasRoom === false) await client.drained?.();
			await turn();
			if (replaying.signal.aborted || client.gone) return;
			cursor = this.#sendPage(client, cursor);
		} while (cursor !== this.last);
		// In one synchronous step with the last page, so that no event is lost between.
		this.#goLive(client);
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
		if (!this.#first) return Promise.resolve();
		return new Promise((resolve) => this.#onDrained.push(resolve));
	}

	/** Returns the last number the client has, gaps included. */
	#sendPage(client: Client, from: number): number {
		const { sessionId } = this.name;
		// The journal also has unflushed events, which no client may see.
		const to = this.last;
		let sent = from;
		for (const { seq, body } of this.#journal.events(this.name, from, PAGE_EVENTS)) {
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
		for (; this.#first?.message; this.#first = this.#first.next) {
			const { seq, message, isKept } = this.#first;
			if (isKept) this.#advance(seq);
			this.#send(message);
		}
		if (this.#first) return;
		this.#last = undefined;
		for (const resolve of this.#onDrained.splice(0)) resolve();
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

interface Queued {
	readonly seq: number;
	isKept: boolean;
	/** Set once the append ends. */
	message?: Message;
	next?: Queued;
}

const PAGE_EVENTS = 256;
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
		// A run includes messages, tool calls and retries.
		if (event.type === "agent_start") this.#begun.add("run");
		if (event.type === "agent_settled") this.#begun.delete("run");
		if (event.type === "compaction_start") this.#begun.add("compaction");
		if (event.type === "compaction_end") this.#begun.delete("compaction");
		if (event.type === "extension_ui_request" && isQuestion(event.method)) {
			this.#begun.add(`dialog ${event.requestId}`);
		}
		if (event.type === "extension_ui_closed") this.#begun.delete(`dialog ${event.requestId}`);
		return this.#begun.size > 0;
	}
}

/** Whether the request waits for an answer; others are only shown. */
export function isQuestion(method: string): boolean {
	return ["select", "confirm", "input", "editor"].includes(method);
}
