import type { StreamEvent, StreamName } from "../journal.ts";
import { streamKey } from "../uncommitted.ts";

interface Tail {
	events: StreamEvent[];
	characters: number;
}

const MAX_EVENTS = 512;
const MAX_CHARACTERS = 2 ** 19;
const MAX_CHARACTERS_IN_ALL = 2 ** 25;

/** The last written events of each stream, without a hole. A client that connects again usually lacks no others. */
export class RecentEvents {
	readonly #tails = new Map<string, Tail>();
	#characters = 0;

	add(event: StreamEvent): void {
		const key = streamKey(event);
		const tail = this.#tails.get(key) ?? { events: [], characters: 0 };
		const last = tail.events.at(-1)?.seq;
		if (last !== undefined && event.seq !== last + 1) this.#drop(tail, tail.events.length);
		tail.events.push(event);
		tail.characters += event.body.length;
		this.#characters += event.body.length;
		// Half at once, so that most additions move nothing.
		if (tail.events.length > MAX_EVENTS || tail.characters > MAX_CHARACTERS) {
			this.#drop(tail, Math.ceil(tail.events.length / 2));
		}
		// The stream that was used last is at the end.
		this.#tails.delete(key);
		this.#tails.set(key, tail);
		for (const [oldest, { characters }] of this.#tails) {
			if (this.#characters <= MAX_CHARACTERS_IN_ALL) break;
			this.#characters -= characters;
			this.#tails.delete(oldest);
		}
	}

	/** `undefined` if an event above `after` may be missing here. */
	after(stream: StreamName, after: number, limit: number): StreamEvent[] | undefined {
		const events = this.#tails.get(streamKey(stream))?.events;
		const first = events?.[0]?.seq;
		if (!events || first === undefined || first > after + 1) return undefined;
		return events.slice(after + 1 - first, after + 1 - first + limit);
	}

	forget(stream: StreamName): void {
		const key = streamKey(stream);
		this.#characters -= this.#tails.get(key)?.characters ?? 0;
		this.#tails.delete(key);
	}

	#drop(tail: Tail, count: number): void {
		for (const { body } of tail.events.splice(0, count)) {
			tail.characters -= body.length;
			this.#characters -= body.length;
		}
	}
}
