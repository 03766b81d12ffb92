import type { SessionEvent } from "../../protocol/index.ts";
import type { Client } from "../engine/message.ts";
import type { StreamName } from "../journal/journal.ts";

/**
 * The event streams of all sessions. Every event gets the next number of its session, is journalled, and only then
 * reaches subscribers: a number that a client has seen is never given to another event, also after a crash. An event that
 * the journal refuses (the disk is full) reaches subscribers without a number, and the next one comes behind a `gap`.
 */
export interface Streams {
	/** Adds an event. Returns at once; events of one session keep their order. */
	emit(stream: StreamName, event: SessionEvent): void;
	/**
	 * From now on the client gets the session's events. With `after`, first those above that number, from the journal;
	 * between them and the live ones is neither a gap nor a duplicate. Where the journal no longer has them, a `gap`
	 * message says which are missing. Resolves with the number of the last event at the time of subscribing, while the
	 * replay goes on; the client gets everything above `seq` and, with `after`, everything from there to `seq`. Without
	 * `after`, who is subscribed stays so; with it, the replay begins anew. Rejects with a `CommandError` when `after` is
	 * above the last number.
	 */
	subscribe(client: Client, stream: StreamName, after?: number): Promise<{ seq: number }>;
	/** The number before the first event that this process has for the stream: of a session that it opened, all are above. */
	begin(stream: StreamName): number;
	/** Whether the events above `after` have this request of an extension in them. If that is not known any more, not. */
	hasRequest(stream: StreamName, requestId: string, after: number): boolean;
	isSubscribed(client: Client, stream: StreamName): boolean;
	unsubscribe(client: Client, stream: StreamName): void;
	/** The client is gone. */
	drop(client: Client): void;
	/** The session is gone. Its subscribers still get the events it had; a session of the same name goes on above their numbers. */
	remove(stream: StreamName): void;
	subscribers(stream: StreamName): number;
	/** Resolves when all events so far are journalled and handed to their clients. */
	settled(): Promise<void>;
}
