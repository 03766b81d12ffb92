import type { Data } from "../../protocol/index.ts";
import { CommandError } from "../engine/call.ts";
import type { Client } from "../engine/message.ts";
import { ReadQueue } from "../engine/read-queue.ts";
import type { Journal, StreamName } from "../journal/journal.ts";
import { Stream } from "./stream.ts";

/**
 * The event streams of all sessions. Every event gets the next number of its session, is journalled, and only then
 * reaches subscribers: a number that a client has seen is never given to another event, also after a crash. An event that
 * the journal refuses reaches subscribers without a number, and the next one comes behind a `gap`.
 */
export interface Streams {
	/** Adds an event. Returns at once; events of one session keep their order. */
	emit(stream: StreamName, event: Data<"SessionEvent">): void;
	/**
	 * The client gets the session's events from now on. With `after`, first those above that number from the journal, with a
	 * `gap` for those it no longer has; a replay in flight starts again. Resolves with the number of the last event, while
	 * the replay goes on. Rejects with a `CommandError` when `after` is above the last number.
	 */
	subscribe(client: Client, stream: StreamName, after?: number): Promise<{ seq: number }>;
	/** The number before the first event that this process has for the stream. */
	begin(stream: StreamName): number;
	/** Whether this request of an extension is known to be among the events above `after`. */
	hasRequest(stream: StreamName, requestId: string, after: number): boolean;
	isSubscribed(client: Client, stream: StreamName): boolean;
	unsubscribe(client: Client, stream: StreamName): void;
	/** The client is gone. */
	drop(client: Client): void;
	/** The session is gone. Live subscribers still get its events; a session of the same name goes on above their numbers. */
	remove(stream: StreamName): void;
	/** Resolves when all events so far are journalled and sent. */
	settled(): Promise<void>;
}

export interface StreamsOptions {
	journal: Pick<Journal, "append" | "events" | "extent">;
	/** Streams in which something was in progress when the last process ended: each begins with the end of it. */
	cutOff?: readonly StreamName[];
	now?: () => number;
}

/** A stream begins with the first event or subscriber since the server started. */
export function createStreams({ journal, cutOff = [], now = Date.now }: StreamsOptions): Streams {
	/** By principal and session. */
	const streams = new Map<string, Map<string, Stream>>();
	const replays = new Set<Promise<void>>();
	/** Pages of replays take turns like reads: thousands may be asked for at once. */
	const pages = new ReadQueue<Page>({
		tenantOf: ({ client }) => streams.get(client.principal) ?? client,
		lineOf: ({ client }) => client,
		hasRoom: () => true, // the replay has waited for it
		whenRoom: async () => {},
		work: ({ send }) => send(),
		clock: () => performance.now(),
	});

	// The journal marks a stream as whole in the transaction that has this event, so it comes once.
	for (const name of cutOff) emit(name, { type: "agent_settled", interrupted: true });

	return {
		emit,

		async subscribe(client, name, after) {
			const stream = streamOf(name);
			const seq = stream.last;
			if (after === undefined) {
				stream.join(client);
				return { seq };
			}
			if (after > seq) {
				throw new CommandError(
					"not_found",
					`"after" is ${after}, but the last event of session "${name.sessionId}" is ${seq}: subscribe with ${seq} or less, or without "after"`,
				);
			}
			const turn = () => new Promise<void>((send) => pages.add({ client, send }));
			const replaying = stream.replay(client, after, { journal, turn });
			replays.add(replaying);
			void replaying.finally(() => replays.delete(replaying));
			return { seq };
		},

		begin: (name) => streamOf(name).begin,

		hasRequest(name, requestId, after) {
			const seq = find(name)?.numberOf(requestId);
			if (seq === undefined || seq <= after) return false;
			return journal.events(name, seq - 1, 1)[0]?.seq === seq;
		},

		isSubscribed: (client, name) => find(name)?.isSubscribed(client) === true,

		unsubscribe: (client, name) => find(name)?.leave(client),

		drop(client) {
			for (const stream of streams.get(client.principal)?.values() ?? []) stream.leave(client);
		},

		remove(name) {
			// Live subscribers keep the detached stream until its queue drains.
			find(name)?.endReplays();
			const sessions = streams.get(name.principal);
			sessions?.delete(name.sessionId);
			if (sessions?.size === 0) streams.delete(name.principal);
		},

		async settled() {
			const all = [...streams.values()].flatMap((sessions) => [...sessions.values()]);
			await Promise.all([...replays, ...all.map((stream) => stream.drained())]);
		},
	};

	function emit({ principal, sessionId }: StreamName, event: Data<"SessionEvent">): void {
		const name = { principal, sessionId }; // callers may pass more
		streamOf(name).emit(event, (kept) => journal.append({ ...name, ...kept, atMs: now() }));
	}

	function find({ principal, sessionId }: StreamName): Stream | undefined {
		return streams.get(principal)?.get(sessionId);
	}

	function streamOf({ principal, sessionId }: StreamName): Stream {
		const sessions = streams.get(principal) ?? new Map<string, Stream>();
		const name = { principal, sessionId };
		const stream = sessions.get(sessionId) ?? new Stream(name, journal.extent(name).last);
		sessions.set(sessionId, stream);
		streams.set(principal, sessions);
		return stream;
	}
}

/** A page of a replay that waits for its turn. */
interface Page {
	readonly client: Client;
	send(): void;
}
