import type { GapFrame, ServerEvent, SessionEventFrame } from "../server-events.ts";
import { type ClientError, closedError } from "./client-error.ts";
import { notify } from "./listeners.ts";
import { BUSY_RETRY_MS, type PendingCommands } from "./pending-commands.ts";
import type { ReconnectingConnection } from "./reconnecting-connection.ts";

/** Event numbers start over: the server lost its journal, or never issued the number in `after`. */
export interface RestartFrame {
	readonly type: "restart";
	readonly sessionId: string;
}

/** An event of a session, a gap in its stream, or a restart. Delivered in order, each once. */
export type StreamFrame = SessionEventFrame | GapFrame | RestartFrame;

/** Events of one session for one listener, until closed. */
export interface Subscription {
	readonly sessionId: string;
	/** Number of the last delivered event; at first, the position where the subscription began. */
	readonly seq: number | undefined;
	close(): void;
}

/** Where a subscription begins, and how it reports its end. */
export interface SubscribeOptions {
	/** Begin after the event with this number; 0 for all events. Default: live events only. */
	readonly after?: number;
	/** Called when the session is deleted or, with an error, the subscription fails. Not called by `close`. */
	onEnd?(error?: ClientError): void;
}

interface Subscriber {
	/** Last delivered number; undefined until the server reports the position. */
	seq: number | undefined;
	/** Frames that arrived before `seq` was known. */
	early: StreamFrame[];
	deliver(frame: StreamFrame): void;
	end(error?: ClientError): void;
}

/** A subscriber with its position when a `subscribe` was sent. */
interface Position {
	readonly subscriber: Subscriber;
	readonly seq: number;
}

/** One server subscription, shared by all subscribers of a session. */
class Feed extends Set<Subscriber> {
	/** `subscribe` commands in flight. */
	subscribing = 0;
}

export class Subscriptions {
	readonly #commands: PendingCommands;
	readonly #connection: ReconnectingConnection;
	readonly #feeds = new Map<string, Feed>();

	constructor(commands: PendingCommands, connection: ReconnectingConnection) {
		this.#commands = commands;
		this.#connection = connection;
	}

	subscribe(
		sessionId: string,
		listener: (frame: StreamFrame) => void,
		{ after, onEnd }: SubscribeOptions = {},
	): Subscription {
		const subscriber: Subscriber = {
			seq: after,
			early: [],
			deliver: (frame) => notify([listener], frame),
			end: (error) => onEnd && notify([onEnd], error),
		};
		const { state } = this.#connection;
		if (state.name === "closed") {
			queueMicrotask(() => subscriber.end(closedError(state.why)));
			return { sessionId, seq: after, close: () => undefined };
		}
		const feed = this.#feeds.get(sessionId) ?? new Feed();
		this.#feeds.set(sessionId, feed);
		feed.add(subscriber);
		if (this.#connection.isOpen) void this.#attach(sessionId, feed);
		return {
			sessionId,
			get seq() {
				return subscriber.seq;
			},
			close: () => this.#remove(sessionId, feed, subscriber),
		};
	}

	receive(event: ServerEvent): void {
		if (event.type === "session_deleted") this.#end(event.data.sessionId);
		if (event.type !== "event" && event.type !== "gap") return;
		const feed = this.#feeds.get(event.sessionId);
		for (const subscriber of feed ?? []) {
			// The event was sent before the server handled `subscribe`. It comes again after the missing ones.
			const isEarly =
				feed?.subscribing && event.type === "event" && hasGapBefore(subscriber, event);
			if (!isEarly) deliverInOrder(subscriber, event);
		}
	}

	resume(): void {
		for (const [sessionId, feed] of this.#feeds) void this.#attach(sessionId, feed);
	}

	connectionLost(): void {
		for (const feed of this.#feeds.values()) for (const subscriber of feed) subscriber.early = [];
	}

	endAll(error: ClientError): void {
		for (const sessionId of [...this.#feeds.keys()]) this.#end(sessionId, error);
	}

	#remove(sessionId: string, feed: Feed, subscriber: Subscriber): void {
		if (!feed.delete(subscriber) || feed.size > 0) return;
		this.#feeds.delete(sessionId);
		// This fails only if the connection is gone, which also ends the subscription.
		if (this.#connection.isOpen)
			this.#commands.sendOnce("unsubscribe", { sessionId }).catch(() => undefined);
	}

	/** Subscribes from the earliest position; subscribers skip frames they already have. */
	async #attach(sessionId: string, feed: Feed): Promise<void> {
		// A snapshot, because events that arrive before the response move positions.
		const known = [...feed].flatMap((subscriber) =>
			subscriber.seq === undefined ? [] : [{ subscriber, seq: subscriber.seq }],
		);
		const least = Math.min(...known.map(({ seq }) => seq));
		const after: { after?: number } = known.length > 0 ? { after: least } : {};
		const newcomers = [...feed].filter(({ seq }) => seq === undefined);
		feed.subscribing++;
		try {
			const { data } = await this.#commands
				.sendOnce("subscribe", { sessionId, ...after })
				.finally(() => feed.subscribing--);
			const seq = data.seq ?? 0;
			for (const subscriber of newcomers) startAt(subscriber, seq);
			const ahead = known.filter((position) => position.seq > seq);
			this.#restart(sessionId, feed, ahead);
		} catch (error) {
			const isAhead = (after.after ?? 0) > 0 && (error as ClientError).code === "not_found";
			if (isAhead) this.#restart(sessionId, feed, known);
			else this.#attachFailed(sessionId, feed, error as ClientError);
		}
	}

	/** Subscribers that are ahead of the server start over. The others skip events that they have. */
	#restart(sessionId: string, feed: Feed, ahead: readonly Position[]): void {
		for (const { subscriber, seq } of ahead) {
			if (subscriber.seq !== seq) continue; // restarted by an earlier response
			subscriber.seq = 0;
			subscriber.deliver({ type: "restart", sessionId });
		}
		if (ahead.length > 0) void this.#attach(sessionId, feed);
	}

	#attachFailed(sessionId: string, feed: Feed, error: ClientError): void {
		if (error.code === "closed" || error.code === "shutting_down") return; // `resume` retries
		const retry = () => {
			if (this.#connection.isOpen && this.#feeds.get(sessionId) === feed)
				void this.#attach(sessionId, feed);
		};
		if (error.code === "busy" || error.code === "rate_limited") setTimeout(retry, BUSY_RETRY_MS);
		else this.#end(sessionId, error);
	}

	#end(sessionId: string, error?: ClientError): void {
		const feed = this.#feeds.get(sessionId);
		this.#feeds.delete(sessionId);
		for (const subscriber of feed ?? []) {
			feed?.delete(subscriber);
			subscriber.end(error);
		}
	}
}

function startAt(subscriber: Subscriber, seq: number): void {
	subscriber.seq ??= seq;
	for (const frame of subscriber.early.splice(0)) deliverInOrder(subscriber, frame);
}

function hasGapBefore({ seq }: Subscriber, frame: StreamFrame): boolean {
	const span = spanOf(frame);
	return seq !== undefined && span !== undefined && span.from > seq + 1;
}

/** Skips frames that were already delivered, and reports missing numbers as gaps. */
function deliverInOrder(subscriber: Subscriber, frame: StreamFrame): void {
	const span = spanOf(frame);
	const { seq } = subscriber;
	// Repeated dialogs and events that the journal could not store have no number.
	if (!span) subscriber.deliver(frame);
	else if (seq === undefined) subscriber.early.push(frame);
	if (!span || seq === undefined || span.to <= seq) return;
	subscriber.seq = span.to;
	const { sessionId } = frame;
	const before = { type: "gap", sessionId, toSeq: span.from - 1 } as const;
	const hole = frame.type === "gap" ? frame : before;
	if (hole.toSeq > seq) subscriber.deliver({ ...hole, fromSeq: seq + 1 });
	if (hole === before) subscriber.deliver(frame);
}

export function spanOf(frame: StreamFrame): { from: number; to: number } | undefined {
	if (frame.type === "gap") return { from: frame.fromSeq, to: frame.toSeq };
	if (frame.type === "restart" || frame.seq === undefined) return undefined;
	return { from: frame.fromSeq ?? frame.seq, to: frame.seq };
}
