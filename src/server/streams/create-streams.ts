import type { SessionEvent } from "../../protocol/index.ts";
import { CommandError } from "../engine/call.ts";
import type { Client } from "../engine/message.ts";
import { ReadQueue } from "../engine/read-queue.ts";
import type { Journal, StreamName } from "../journal/journal.ts";
import { replay } from "./replay.ts";
import { Stream } from "./stream.ts";
import type { Streams } from "./streams.ts";

export interface StreamsOptions {
	journal: Pick<Journal, "append" | "events" | "extent">;
	/** Streams in which something was under way when the last process ended: each begins with the end of it. */
	cutOff?: readonly StreamName[];
	now?: () => number;
}

/** Makes the event streams of a server. A stream begins with the first event or subscriber since the server started. */
export function createStreams({ journal, cutOff = [], now = Date.now }: StreamsOptions): Streams {
	/** By principal and session. */
	const streams = new Map<string, Map<string, Stream>>();
	/** What each client is subscribed to, with what ends a replay that is under way. */
	const subscriptions = new Map<Client, Map<Stream, AbortController>>();
	const replays = new Set<Promise<void>>();
	/** Pages of replays take turns like reads: thousands may be asked for at once. */
	const pages = new ReadQueue<Page>({
		tenantOf: ({ client }) => streams.get(client.principal) ?? client,
		lineOf: ({ client }) => client,
		hasRoom: () => true, // a replay waits for it before
		whenRoom: async () => {},
		work: ({ send }) => send(),
		clock: () => performance.now(),
	});

	// The journal forgets that a stream was cut off with the transaction that keeps this event, so it comes once.
	for (const name of cutOff) emit(name, { type: "agent_settled", interrupted: true });

	return {
		emit,

		async subscribe(client, name, after) {
			const stream = streamOf(name);
			const seq = stream.last;
			if (after === undefined) {
				if (!subscriptions.get(client)?.has(stream)) {
					begin(client, stream);
					stream.join(client);
				}
				return { seq };
			}
			if (after > seq) {
				throw new CommandError(
					"not_found",
					`"after" is ${after}, but the last event of session "${name.sessionId}" is ${seq}: subscribe with ${seq} or less, or without "after"`,
				);
			}
			end(client, stream);
			const { signal } = begin(client, stream);
			const turn = () => new Promise<void>((send) => pages.add({ client, send }));
			const replaying = replay({ journal, stream, client, after, signal, turn });
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

		isSubscribed(client, name) {
			const stream = find(name);
			return stream !== undefined && subscriptions.get(client)?.has(stream) === true;
		},

		unsubscribe(client, name) {
			const stream = find(name);
			if (stream) end(client, stream);
		},

		drop(client) {
			for (const stream of subscriptions.get(client)?.keys() ?? []) end(client, stream);
		},

		remove(name) {
			const stream = find(name);
			if (!stream) return;
			const sessions = streams.get(name.principal);
			sessions?.delete(name.sessionId);
			if (sessions?.size === 0) streams.delete(name.principal);
			// Who is live stays so on this stream, which nothing holds any more, until its last events are out.
			for (const [client, subscribed] of subscriptions) {
				subscribed.get(stream)?.abort();
				subscribed.delete(stream);
				if (subscribed.size === 0) subscriptions.delete(client);
			}
		},

		subscribers(name) {
			const stream = find(name);
			if (!stream) return 0;
			let count = 0;
			for (const subscribed of subscriptions.values()) if (subscribed.has(stream)) count++;
			return count;
		},

		async settled() {
			const all = [...streams.values()].flatMap((sessions) => [...sessions.values()]);
			await Promise.all([...replays, ...all.map((stream) => stream.drained())]);
		},
	};

	function emit(name: StreamName, event: SessionEvent): void {
		streamOf(name).emit(event, (kept) => journal.append({ ...nameOf(name), ...kept, atMs: now() }));
	}

	function find({ principal, sessionId }: StreamName): Stream | undefined {
		return streams.get(principal)?.get(sessionId);
	}

	function streamOf(name: StreamName): Stream {
		const found = find(name);
		if (found) return found;
		const stream = new Stream(nameOf(name), journal.extent(name).last);
		const sessions = streams.get(name.principal);
		if (sessions) sessions.set(name.sessionId, stream);
		else streams.set(name.principal, new Map([[name.sessionId, stream]]));
		return stream;
	}

	function begin(client: Client, stream: Stream): AbortController {
		const controller = new AbortController();
		const subscribed = subscriptions.get(client);
		if (subscribed) subscribed.set(stream, controller);
		else subscriptions.set(client, new Map([[stream, controller]]));
		return controller;
	}

	function end(client: Client, stream: Stream): void {
		const subscribed = subscriptions.get(client);
		subscribed?.get(stream)?.abort();
		subscribed?.delete(stream);
		if (subscribed?.size === 0) subscriptions.delete(client);
		stream.leave(client);
	}
}

/** A page of a replay that waits for its turn. */
interface Page {
	readonly client: Client;
	send(): void;
}

/** Only the name: callers may pass more. */
function nameOf({ principal, sessionId }: StreamName): StreamName {
	return { principal, sessionId };
}
