import type { Data } from "../../protocol/index.ts";
import { CommandError } from "../engine/call.ts";
import type { Client } from "../engine/message.ts";
import { ReadQueue } from "../engine/read-queue.ts";
import type { Journal, StreamName } from "../journal/journal.ts";
import { Stream } from "./stream.ts";

/** An event is journalled before it is sent: its number never names another, even after a crash. */
export interface Streams {
	/** Returns at once; events of one session keep their order. */
	emit(stream: StreamName, event: Data<"SessionEvent">): void;
	/**
	 * With `after`, first replays the journalled events above it, with a `gap` for evicted ones.
	 * Resolves with the last number, not waiting for the replay; rejects if `after` is above it.
	 */
	subscribe(client: Client, stream: StreamName, after?: number): Promise<{ seq: number }>;
	/** The number before this process's first event of the stream. */
	begin(stream: StreamName): number;
	hasRequest(stream: StreamName, requestId: string, after: number): boolean;
	isSubscribed(client: Client, stream: StreamName): boolean;
	unsubscribe(client: Client, stream: StreamName): void;
	drop(client: Client): void;
	/** Live subscribers still get pending events. A session of the same name keeps counting. */
	remove(stream: StreamName): void;
	settled(): Promise<void>;
}

export interface StreamsOptions {
	journal: Pick<Journal, "append" | "events" | "extent">;
	/** Streams interrupted by the end of the last process: each gets an `agent_settled` first. */
	cutOff?: readonly StreamName[];
	now?: () => number;
}

export function createStreams({ journal, cutOff = [], now = Date.now }: StreamsOptions): Streams {
	const streams = new Map<string, Map<string, Stream>>();
	const replays = new Set<Promise<void>>();
	/** Replay pages take turns like reads: thousands may be requested at once. */
	const pages = new ReadQueue<Page>({
		tenantOf: ({ client }) => streams.get(client.principal) ?? client,
		lineOf: ({ client }) => client,
		hasRoom: () => true, // the replay has waited for it
		whenRoom: async () => {},
		work: ({ send }) => send(),
		clock: () => performance.now(),
	});

	// The journal clears the interrupted mark with this event, in one transaction: it comes once.
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
			// Live subscribers keep the detached stream alive until its queue drains.
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

interface Page {
	readonly client: Client;
	send(): void;
}
