import type { Data } from "../../protocol/index.ts";
import { CommandError } from "../engine/call.ts";
import type { Client } from "../engine/message.ts";
import { ReadQueue } from "../engine/read-queue.ts";
import type { StreamName } from "../journal/journal.ts";
import { Stream, type StreamsJournal } from "./stream.ts";

export type Streams = ReturnType<typeof createStreams>;

interface StreamsOptions {
	journal: StreamsJournal;
	/** Streams interrupted by the end of the last process: each gets an `agent_settled` first. */
	cutOff?: readonly StreamName[];
	now?: () => number;
}

/** An event is journalled before it is sent: its number never names another, even after a crash. */
export function createStreams({ journal, cutOff = [], now = Date.now }: StreamsOptions) {
	const streams = new Map<string, Map<string, Stream>>();
	const replays = new Set<Promise<void>>();
	/** Replay pages take turns like reads: thousands may be requested at once. */
	const pages = new ReadQueue<{ readonly client: Client; send(): void }>({
		tenantOf: ({ client }) => streams.get(client.principal) ?? client,
		lineOf: ({ client }) => client,
		hasRoom: () => true, // the replay has waited for it
		whenRoom: async () => {},
		work: ({ send }) => send(),
		clock: () => performance.now(),
	});

	// The journal clears the interrupted mark with this event, in one transaction: it comes once.
	for (const name of cutOff) streamOf(name).emit({ type: "agent_settled", interrupted: true });

	return {
		/** Returns at once; events of one session keep their order. */
		emit: (name: StreamName, event: Data<"SessionEvent">) => streamOf(name).emit(event),

		/**
		 * With `after`, first replays the journalled events above it, with a `gap` for evicted ones.
		 * Resolves with the last number, not waiting for the replay; rejects if `after` is above it.
		 */
		async subscribe(client: Client, name: StreamName, after?: number): Promise<{ seq: number }> {
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
			const replaying = stream.replay(client, after, turn);
			replays.add(replaying);
			void replaying.finally(() => replays.delete(replaying));
			return { seq };
		},

		/** The number before this process's first event of the stream. */
		begin: (name: StreamName) => streamOf(name).begin,

		hasRequest: (name: StreamName, requestId: string, after: number) =>
			find(name)?.hasRequest(requestId, after) === true,

		isSubscribed: (client: Client, name: StreamName) => find(name)?.isSubscribed(client) === true,

		unsubscribe: (client: Client, name: StreamName) => find(name)?.leave(client),

		drop(client: Client) {
			for (const stream of streams.get(client.principal)?.values() ?? []) stream.leave(client);
		},

		/** Live subscribers still get pending events. A session of the same name keeps counting. */
		remove(name: StreamName) {
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

	function find({ principal, sessionId }: StreamName): Stream | undefined {
		return streams.get(principal)?.get(sessionId);
	}

	/** Callers may pass more than the name. */
	function streamOf({ principal, sessionId }: StreamName): Stream {
		const sessions = streams.get(principal) ?? new Map<string, Stream>();
		const stream = sessions.get(sessionId) ?? new Stream({ principal, sessionId }, journal, now);
		sessions.set(sessionId, stream);
		streams.set(principal, sessions);
		return stream;
	}
}
