import type { SessionEvent } from "../../protocol/index.ts";
import type { Client } from "../engine/client.ts";
import type { StreamName } from "../journal/journal.ts";

/**
 * The event streams of all sessions. Every event gets the next number of its session, is journalled, and only then
 * reaches subscribers: a number that a client has seen is never given to another event, also after a crash.
 */
export interface Streams {
	/** Adds an event. Returns at once; events of one session keep their order. */
	emit(stream: StreamName, event: SessionEvent): void;
	/**
	 * From now on the client gets the session's events. With `after`, first those above that number, from the journal;
	 * between them and the live ones is neither a gap nor a duplicate. Where the journal no longer has them, a `gap`
	 * message says which are missing. Resolves with the number of the last event at the time of subscribing.
	 */
	subscribe(client: Client, stream: StreamName, after?: number): Promise<{ seq: number }>;
	unsubscribe(client: Client, stream: StreamName): void;
	/** The client is gone. */
	drop(client: Client): void;
	/** The session is gone. */
	remove(stream: StreamName): void;
	subscribers(stream: StreamName): number;
	/** Resolves when all events so far are journalled and handed to their clients. */
	settled(): Promise<void>;
}
