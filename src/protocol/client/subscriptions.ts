import type { GapFrame, ServerEvent, SessionEventFrame } from "../server-events.ts";
import { type ClientError, closedError } from "./client-error.ts";
import type { ClientState } from "./keep-connected.ts";
import type { Requests } from "./requests.ts";
import { tell } from "./tell.ts";

/** The stream's numbers start again: the server lost its journal, or the number to begin with was never one of its own. */
export interface RestartFrame {
	type: "restart";
	sessionId: string;
}

/** What a subscriber gets, in order and each once. */
export type StreamFrame = SessionEventFrame | GapFrame | RestartFrame;

/** The events of a session, for as long as it is not closed. */
export interface Subscription {
	readonly sessionId: string;
	/** The number of the last event that was delivered, or that there was when this began. */
	readonly seq: number | undefined;
	close(): void;
}

export interface SubscribeOptions {
	/** Begin with the event after this number; 0 for all. Default: only what happens from now on. */
	after?: number;
	/** The session is gone, or the subscription failed: then there is an error. Not called by `close`. */
	onEnd?(error?: ClientError): void;
}

/** All subscriptions of a client, carried from connection to connection. */
export interface Subscriptions {
	subscribe(
		sessionId: string,
		listener: (frame: StreamFrame) => void,
		options?: SubscribeOptions,
	): Subscription;
	receive(event: ServerEvent): void;
	/** There is a new connection. */
	resume(): void;
	/** The connection is gone. */
	lost(): void;
	endAll(error: ClientError): void;
}

interface Subscriber {
	/** Undefined until the server has said where the stream is. */
	seq: number | undefined;
	/** What came before it had. */
	early: StreamFrame[];
	deliver(frame: StreamFrame): void;
	end(error?: ClientError): void;
}

/** Where a subscriber was when the server was asked. */
interface Place {
	readonly subscriber: Subscriber;
	readonly seq: number;
}

/** Subscribers of one session share the server's one subscription. */
class Feed extends Set<Subscriber> {
	/** Times that the server was asked to send from an earlier place and has not answered yet. */
	asking = 0;
}

/** How long to wait before a busy server is asked again. */
const BUSY_RETRY_MS = 500;

export function createSubscriptions(
	requests: Pick<Requests, "requestOnce">,
	state: () => ClientState,
): Subscriptions {
	const isOpen = () => state().name === "open";
	const feeds = new Map<string, Feed>();

	return {
		subscribe(sessionId, listener, { after, onEnd } = {}) {
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
					// If it fails the connection is gone, and the subscription with it.
					if (isOpen()) requests.requestOnce("unsubscribe", { sessionId }).catch(() => undefined);
				},
			};
		},
		receive(event) {
			if (event.type === "session_deleted") end(event.data.sessionId);
			if (event.type !== "event" && event.type !== "gap") return;
			const feed = feeds.get(event.sessionId);
			for (const subscriber of feed ?? []) {
				// Sent before the server had read where to begin; it comes again behind what is missing.
				const isEarly = feed?.asking && event.type === "event" && isBeyond(subscriber, event);
				if (!isEarly) take(subscriber, event);
			}
		},
		resume() {
			for (const [sessionId, feed] of feeds) void attach(sessionId, feed);
		},
		lost() {
			for (const feed of feeds.values()) for (const subscriber of feed) subscriber.early = [];
		},
		endAll(error) {
			for (const sessionId of [...feeds.keys()]) end(sessionId, error);
		},
	};

	/** Subscribes from where the subscriber is that has seen least; the others skip what they know. */
	async function attach(sessionId: string, feed: Feed): Promise<void> {
		// As it is now: what comes before the answer may be newer than that.
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

	/** Those who are ahead of the server begin anew; to the others that is a repetition, which they skip. */
	function restart(sessionId: string, feed: Feed, ahead: readonly Place[]): void {
		for (const { subscriber, seq } of ahead) {
			if (subscriber.seq !== seq) continue; // an answer that came earlier has done it
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

/** Whether there are events between the last that the subscriber had and this one. */
function isBeyond({ seq }: Subscriber, frame: StreamFrame): boolean {
	const span = spanOf(frame);
	return seq !== undefined && span !== undefined && span.from > seq + 1;
}

/** Delivers a frame unless the subscriber has had it; a hole that nobody announced is announced. */
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

/** The numbers that a frame stands for. */
export function spanOf(frame: StreamFrame): { from: number; to: number } | undefined {
	if (frame.type === "gap") return { from: frame.fromSeq, to: frame.toSeq };
	if (frame.type === "restart" || frame.seq === undefined) return undefined;
	return { from: frame.fromSeq ?? frame.seq, to: frame.seq };
}
