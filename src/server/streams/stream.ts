import { setTimeout as sleep } from "node:timers/promises";
import { type Later, whenThere } from "../../core/later.ts";
import type { Data } from "../../protocol/index.ts";
import { type Client, Message } from "../engine/message.ts";
import {
	type Journal,
	SessionLost,
	type StreamEvent,
	type StreamName,
} from "../journal/journal.ts";
import { isTakenOut } from "../safeguards.ts";

type StreamsJournal = Pick<Journal, "append" | "events" | "lastSeq">;

export interface StreamOptions {
	readonly journal: StreamsJournal;
	readonly now?: () => number;
	/** Whether an event that the journal refuses may be sent: no other server can have the session. Default: it may. */
	maySend?(): boolean;
}

/** Numbers the events of one session, and sends each event when the journal has stored it. */
export class Stream {
	readonly name: StreamName;
	seqAtStart: number;
	/** Another server numbers the events, and passes them on. */
	isFollowing = false;
	/** The highest event number that was sent to subscribers. */
	last: number;
	/** The latest number given to an event, stored or not. */
	#lastAssigned: number;
	readonly #journal: StreamsJournal;
	readonly #now: () => number;
	readonly #inProgress = new InProgress();
	readonly #uiRequests = new Map<string, number>();
	/** Unsent events, as a linked list. */
	#first: UnsentEvent | undefined;
	#last: UnsentEvent | undefined;
	/** The controller of a client stops it from catching up. */
	readonly #subscribers = new Map<Client, AbortController>();
	/** Subscribers that have caught up. Copied on change, because clients come and go during delivery. */
	#live: readonly Client[] = [];
	readonly #onDrained: (() => void)[] = [];
	/** Counts the times that this process had the stream. */
	#epoch = 0;
	readonly #maySend: () => boolean;

	/** `last`: the last number, if another server has the stream. */
	constructor(
		name: StreamName,
		{ journal, now = Date.now, maySend = () => true }: StreamOptions,
		last?: number,
	) {
		this.isFollowing = last !== undefined;
		last ??= journal.lastSeq(name);
		this.name = name;
		this.seqAtStart = last;
		this.last = last;
		this.#lastAssigned = last;
		this.#journal = journal;
		this.#now = now;
		this.#maySend = maySend;
	}

	emit(event: Data<"SessionEvent">): void {
		const { sessionId } = this.name;
		const epoch = this.#epoch;
		const body = JSON.stringify(event);
		const seq = ++this.#lastAssigned;
		const unsent: UnsentEvent = { seq, isJournalled: false };
		if (this.#last) this.#last.next = unsent;
		else this.#first = unsent;
		this.#last = unsent;
		if (event.type === "extension_ui_request") this.#noteUiRequest(event.requestId, seq);
		const inProgress = this.#inProgress.update(event);
		const stored = {
			...this.name,
			seq,
			body,
			atMs: this.#now(),
			...(inProgress && { inProgress }),
		};
		const written = this.#journal.append(stored);
		if (SENDS_EARLY) {
			const value = { type: "event", sessionId, seq, event } as const;
			unsent.message = new Message(value, eventJson(sessionId, seq, body));
			unsent.isJournalled = true;
			this.#deliver();
			written.catch(() => {});
			return;
		}
		written.then(
			() => {
				if (epoch !== this.#epoch) return; // subscribers get it from the journal
				const value = { type: "event", sessionId, seq, event } as const;
				unsent.message = new Message(value, eventJson(sessionId, seq, body));
				unsent.isJournalled = true;
				this.#deliver();
			},
			(error: unknown) => {
				if (epoch !== this.#epoch || error instanceof SessionLost) return;
				// Sent without its number, which a crash may reuse. A `gap` precedes the next stored event.
				const mayTell = this.#maySend();
				unsent.message = mayTell ? new Message({ type: "event", sessionId, event }) : "none";
				this.#deliver();
			},
		);
	}

	/** Whether catching up from `after` would send the request. */
	hasUiRequest(requestId: string, after: number): Later<boolean> {
		const seq = this.#uiRequests.get(requestId);
		if (seq === undefined || seq <= after) return false;
		const found = this.#journal.events(this.name, seq - 1, 1);
		return whenThere(found, ([event]) => event?.seq === seq);
	}

	join(client: Client): void {
		if (this.isSubscribed(client)) return;
		this.#subscribers.set(client, new AbortController());
		this.#live = [...this.#live, client];
	}

	/** Sends stored events above `after` in pages. Resolves when the client is live or has left. */
	async catchUp(client: Client, after: number, turn: () => Promise<void>): Promise<void> {
		this.leave(client);
		const controller = new AbortController();
		this.#subscribers.set(client, controller);
		let cursor = after;
		do {
			if (cursor > after || client.hasRoom === false) await client.whenDrained?.();
			await turn();
			if (controller.signal.aborted || client.gone) return;
			// The journal also has unflushed events, which no client may see yet.
			const to = this.last;
			const found = this.#journal.events(this.name, cursor, PAGE_EVENTS);
			const page = found instanceof Promise ? await found.catch(() => undefined) : found;
			if (controller.signal.aborted || client.gone) return;
			if (page) cursor = this.#sendPage(client, cursor, to, page);
			// The client was answered that it is subscribed, so it must not wait for events that never come.
			else await sleep(RETRY_MS, undefined, { ref: false });
			if (controller.signal.aborted || client.gone) return;
		} while (cursor !== this.last);
		// Runs synchronously after the last page, so that no event is lost in between.
		this.#live = [...this.#live, client];
	}

	leave(client: Client): void {
		this.#subscribers.get(client)?.abort();
		if (this.#subscribers.delete(client)) {
			this.#live = this.#live.filter((other) => other !== client);
		}
	}

	get hasSubscribers(): boolean {
		return this.#subscribers.size > 0;
	}

	isSubscribed(client: Client): boolean {
		return this.#subscribers.has(client);
	}

	stopCatchingUp(): void {
		for (const controller of this.#subscribers.values()) controller.abort();
	}

	/**
	 * Another server has the session. What is not sent yet is never sent from here: it may not be in the journal.
	 * Subscribers stay, and get what they miss from the journal when the next owner is known.
	 */
	detach(): void {
		this.#epoch++;
		this.isFollowing = true;
		this.#first = undefined;
		this.#last = undefined;
		this.#uiRequests.clear();
		for (const resolve of this.#onDrained.splice(0)) resolve();
		this.dropServers();
	}

	/** Notifies other servers that the stream is no longer here. */
	dropServers(): void {
		for (const client of [...this.#subscribers.keys()]) {
			if (!client.streamLost) continue;
			this.leave(client);
			client.streamLost(this.name);
		}
	}

	/** This process has the session now. */
	own(turnOf: TurnOf): void {
		const last = this.#journal.lastSeq(this.name);
		this.isFollowing = false;
		this.seqAtStart = last;
		this.#lastAssigned = last;
		this.resumeAt(last, turnOf);
	}

	/** The stream is at this number. Live subscribers get what they lack from the journal. */
	resumeAt(seq: number, turnOf: TurnOf): void {
		const from = this.last;
		this.last = Math.max(from, seq);
		if (seq <= from) return;
		for (const client of this.#live) void this.catchUp(client, from, turnOf(client));
	}

	/** Sends a message of the server that has the stream. One without `seq` is not numbered. */
	pass(message: Message, seq: number | undefined, isGap: boolean, turnOf: TurnOf): void {
		if (seq !== undefined) {
			if (seq <= this.last) return;
			if (!isGap && seq > this.last + 1) {
				this.resumeAt(seq, turnOf);
				return;
			}
			this.last = seq;
		}
		this.#send(message);
	}

	whenDrained(): Promise<void> {
		if (!this.#first) return Promise.resolve();
		return new Promise((resolve) => this.#onDrained.push(resolve));
	}

	/** Returns the last number that was sent to the client, as an event or in a gap. */
	#sendPage(client: Client, from: number, to: number, page: readonly StreamEvent[]): number {
		const { sessionId } = this.name;
		let sent = from;
		for (const { seq, body } of page) {
			if (seq > to) break;
			if (seq > sent + 1) client.send(gapMessage(sessionId, sent + 1, seq - 1));
			client.send(Message.fromJson(eventJson(sessionId, seq, body)));
			sent = seq;
		}
		if (sent > from || sent === to) return sent;
		client.send(gapMessage(sessionId, from + 1, to));
		return to;
	}

	#noteUiRequest(requestId: string, seq: number): void {
		this.#uiRequests.set(requestId, seq);
		if (this.#uiRequests.size <= MAX_UI_REQUESTS) return;
		this.#uiRequests.delete(this.#uiRequests.keys().next().value as string);
	}

	/** Sends events in order, up to the first one whose append is pending. */
	#deliver(): void {
		for (; this.#first?.message; this.#first = this.#first.next) {
			const { seq, message, isJournalled } = this.#first;
			if (isJournalled) this.#advance(seq);
			if (message !== "none") this.#send(message);
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

/** A client's turns to get pages of stored events. */
export type TurnOf = (client: Client) => () => Promise<void>;

interface UnsentEvent {
	readonly seq: number;
	isJournalled: boolean;
	/** Set when the append has succeeded or failed. `none`: clients get it from the journal, or never. */
	message?: Message | "none";
	next?: UnsentEvent;
}

/** For tests. */
const SENDS_EARLY = isTakenOut("send-after-commit");
const PAGE_EVENTS = 256;
/** A journal that could not answer is asked again after this time. */
const RETRY_MS = 250;
/** Maximum number of remembered UI requests: enough for all open ones; the oldest is evicted. */
const MAX_UI_REQUESTS = 256;

function eventJson(sessionId: string, seq: number, body: string): string {
	return `{"type":"event","sessionId":${JSON.stringify(sessionId)},"seq":${seq},"event":${body}}`;
}

function gapMessage(sessionId: string, fromSeq: number, toSeq: number): Message {
	return new Message({ type: "gap", sessionId, fromSeq, toSeq });
}

export class InProgress {
	readonly #open = new Set<string>();

	/** Returns whether something is in progress after the event. */
	update(event: Data<"SessionEvent">): boolean {
		// A run includes messages, tool calls and retries.
		if (event.type === "agent_start") this.#open.add("run");
		if (event.type === "agent_settled") this.#open.delete("run");
		if (event.type === "compaction_start") this.#open.add("compaction");
		if (event.type === "compaction_end") this.#open.delete("compaction");
		if (event.type === "extension_ui_request" && isQuestion(event.method)) {
			this.#open.add(`dialog ${event.requestId}`);
		}
		if (event.type === "extension_ui_closed") this.#open.delete(`dialog ${event.requestId}`);
		return this.#open.size > 0;
	}
}

/** Whether the UI request waits for an answer; others are only shown. */
export function isQuestion(method: string): boolean {
	return ["select", "confirm", "input", "editor"].includes(method);
}
