import type { Client } from "../engine/message.ts";
import type { Journal } from "../journal/journal.ts";
import { gapMessage, storedMessage } from "./event-message.ts";
import type { Stream } from "./stream.ts";

export interface ReplayOptions {
	journal: Pick<Journal, "events">;
	stream: Stream;
	client: Client;
	/** The last number that the client has. */
	after: number;
	/** The subscription is over: nothing more is sent. */
	signal: AbortSignal;
	/** Resolves when it is the client's turn to be sent a page. */
	turn(): Promise<void>;
}

/**
 * Sends a client the events above `after` out of the journal, a page at a time, and has it join the live ones when it has
 * all that they got. Reaching that point and joining are one step, so nothing can come in between.
 */
export async function replay({
	journal,
	stream,
	client,
	after,
	signal,
	turn,
}: ReplayOptions): Promise<void> {
	const { sessionId } = stream.name;
	let cursor = after;
	for (;;) {
		if (cursor > after || client.hasRoom === false) await client.drained?.();
		await turn();
		if (signal.aborted || client.gone) return;
		cursor = sendPage(cursor);
		if (cursor === stream.last) {
			stream.join(client);
			return;
		}
	}

	/** Returns the number up to which the client now knows what there is. */
	function sendPage(from: number): number {
		// The journal also has what it has not written yet, which nobody may see.
		const to = stream.last;
		let sent = from;
		for (const { seq, body } of journal.events(stream.name, from, PAGE_EVENTS)) {
			if (seq > to) break;
			if (seq > sent + 1) client.send(gapMessage(sessionId, sent + 1, seq - 1));
			client.send(storedMessage({ sessionId, seq }, body));
			sent = seq;
		}
		if (sent > from || sent === to) return sent;
		client.send(gapMessage(sessionId, from + 1, to));
		return to;
	}
}

const PAGE_EVENTS = 256;
