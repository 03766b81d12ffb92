import type { GapFrame, ServerEvent, SessionEventFrame } from "../server-events.ts";
import { type ClientError, closedError } from "./client-error.ts";
import type { ClientState } from "./keep-connected.ts";
import type { Requests } from "./requests.ts";

/** Numbers restart: the server lost its journal, or `after` was never one of its numbers. */
export interface RestartFrame {
	type: "restart";
	sessionId: string;
}

/** Delivered in order, each once. */
export type StreamFrame = SessionEventFrame | GapFrame | RestartFrame;

export interface Subscription {
	readonly sessionId: string;
	/** Last delivered event, or the last one when this began. */
	readonly seq: number | undefined;
	close(): void;
}

export interface SubscribeOptions {
	/** Begin after this number; 0 for all. Default: live events only. */
	after?: number;
	/** The session is gone or, with an error, the subscription failed. Not called by `close`. */
	onEnd?(error?: ClientError): void;
}

export type Subscriptions = ReturnType<typeof createSubscriptions>;

interface Subscriber {
	/** Undefined until the server reports the position. */
	seq: number | undefined;
	/** Frames that arrived before `seq` was known. */
	early: StreamFrame[];
	deliver(frame: StreamFrame): void;
	end(error?: ClientError): void;
}

interface Place {
	readonly subscriber: Subscriber;
	readonly seq: number;
}

/** One server subscription, shared by all subscribers of a session. */
class Feed extends Set<Subscriber> {
	/** Pending requests to send from an earlier position. */
	asking = 0;
}

const BUSY_RETRY_MS = 500;

export function createSubscriptions(
	requests: Pick<Requests, "requestOnce">,
	state: () => ClientState,
) {
	const isOpen = () => state().name === "open";
	const feeds = new Map<string, Feed>();

	return {
		subscribe(
			sessionId: string,
			listener: (frame: StreamFrame) => void,
			{ after, onEnd }: SubscribeOptions = {},
		): Subscription {
			const subscriber: Subscriber = {
				seq: after,
				early: [],
				deliver: (frame) => tell(listener, frame),
				end: (error) => onEnd && tell(onEnd, error),
			};
			const now = state();
			if (now.name === "closed") {
				queueMicrotask(() => subscriber.end(closedError(now.why)));
				return { sessionId, seq: after, close: () => undefined };
			}
			const feed = feeds.get(sessionId) ?? new Feed();
			feeds.set(sessionId, feed);
			feed.add(subscriber);
			if (isOpen()) void attach(sessionId, feed);
			return {
				sessionId,
				get seq() {
					return subscriber.seq;
				},
				close() {
					if (!feed.delete(subscriber) || feed.size > 0) return;
					feeds.delete(sessionId);
					// A failure means the connection is gone, and the subscription with it.
					if (isOpen()) requests.requestOnce("unsubscribe", { sessionId }).catch(() => undefined);
				},
			};
		},
		receive(event: ServerEvent): void {
			if (event.type === "session_deleted") end(event.data.sessionId);
			if (event.type !== "event" && event.type !== "gap") return;
			const feed = feeds.get(event.sessionId);
			for (const subscriber of feed ?? []) {
				// Sent before the server read the position; it comes again after the missing events.
				const isEarly = feed?.asking && event.type === "event" && isBeyond(subscriber, event);
				if (!isEarly) take(subscriber, event);
			}
		},
		resume(): void {
			for (const [sessionId, feed] of feeds) void attach(sessionId, feed);
		},
		lost(): void {
			for (const feed of feeds.values()) for (const subscriber of feed) subscriber.early = [];
		},
		endAll(error: ClientError): void {
			for (const sessionId of [...feeds.keys()]) end(sessionId, error);
		},
	};

	/** Subscribes from the earliest position; others skip what they have. */
	async function attach(sessionId: string, feed: Feed): Promise<void> {
		// Snapshot: events before the answer may be newer.
		const known = [...feed].flatMap((subscriber) =>
			subscriber.seq === undefined ? [] : [{ subscriber, seq: subscriber.seq }],
		);
		const least = Math.min(...known.map(({ seq }) => seq));
		const after: { after?: number } = known.length > 0 ? { after: least } : {};
		const newcomers = [...feed].filter(({ seq }) => seq === undefined);
		feed.asking++;
		try {
			const { data } = await requests
				.requestOnce("subscribe", { sessionId, ...after })
				.finally(() => feed.asking--);
			const seq = data.seq ?? 0;
			for (const subscriber of newcomers) begin(subscriber, seq);
			restart(
				sessionId,
				feed,
				known.filter((place) => place.seq > seq),
			);
		} catch (error) {
			const isAhead = (after.after ?? 0) > 0 && (error as ClientError).code === "not_found";
			if (isAhead) restart(sessionId, feed, known);
			else failed(sessionId, feed, error as ClientError);
		}
	}

	function begin(subscriber: Subscriber, seq: number): void {
		subscriber.seq ??= seq;
		const early = subscriber.early;
		subscriber.early = [];
		for (const frame of early) take(subscriber, frame);
	}

	/** Subscribers ahead of the server restart; the others skip the repetition. */
	function restart(sessionId: string, feed: Feed, ahead: readonly Place[]): void {
		for (const { subscriber, seq } of ahead) {
			if (subscriber.seq !== seq) continue; // an earlier answer did it
			subscriber.seq = 0;
			subscriber.deliver({ type: "restart", sessionId });
		}
		if (ahead.length > 0) void attach(sessionId, feed);
	}

	function failed(sessionId: string, feed: Feed, error: ClientError): void {
		if (error.code === "closed" || error.code === "shutting_down") return; // `resume` comes later
		if (error.code !== "busy" && error.code !== "rate_limited") {
			end(sessionId, error);
			return;
		}
		setTimeout(() => {
			if (isOpen() && feeds.get(sessionId) === feed) void attach(sessionId, feed);
		}, BUSY_RETRY_MS);
	}

	function end(sessionId: string, error?: ClientError): void {
		const feed = feeds.get(sessionId);
		feeds.delete(sessionId);
		for (const subscriber of feed ?? []) {
			feed?.delete(subscriber);
			subscriber.end(error);
		}
	}
}

/** Whether events are missing before this frame. */
function isBeyond({ seq }: Subscriber, frame: StreamFrame): boolean {
	const span = spanOf(frame);
	return seq !== undefined && span !== undefined && span.from > seq + 1;
}

/** Skips known frames and reports unannounced holes as gaps. */
function take(subscriber: Subscriber, frame: StreamFrame): void {
	const span = spanOf(frame);
	if (!span) {
		subscriber.deliver(frame); // a dialog that is shown again
		return;
	}
	const { seq } = subscriber;
	if (seq === undefined) {
		subscriber.early.push(frame);
		return;
	}
	if (span.to <= seq) return;
	subscriber.seq = span.to;
	if (frame.type === "gap") {
		subscriber.deliver({ ...frame, fromSeq: seq + 1 });
		return;
	}
	if (span.from > seq + 1) {
		const { sessionId } = frame;
		subscriber.deliver({ type: "gap", sessionId, fromSeq: seq + 1, toSeq: span.from - 1 });
	}
	subscriber.deliver(frame);
}

export function spanOf(frame: StreamFrame): { from: number; to: number } | undefined {
	if (frame.type === "gap") return { from: frame.fromSeq, to: frame.toSeq };
	if (frame.type === "restart" || frame.seq === undefined) return undefined;
	return { from: frame.fromSeq ?? frame.seq, to: frame.seq };
}

/** Rethrows later, as an uncaught error: other listeners and the delivery must go on. */
export function tell<Value>(listener: (value: Value) => void, value: Value): void {
	try {
		listener(value);
	} catch (error) {
		queueMicrotask(() => {
			throw error;
		});
	}
}
