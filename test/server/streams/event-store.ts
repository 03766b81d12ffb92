import type { Journal, StreamEvent, StreamName } from "../../../src/server/journal/journal.ts";

/** As much of a journal as streams use, which keeps or refuses each event when it is told to. */
export interface EventStore extends Pick<Journal, "append" | "lastSeq"> {
	events(stream: StreamName, after: number, limit: number): StreamEvent[];
	extent(stream: StreamName): { first: number; last: number };
	/** Decides about the oldest `count` events that wait. */
	settle(count: number, isKept: boolean): void;
	/** Forgets the oldest events of a stream, up to this number. */
	forget(stream: StreamName, upTo: number): void;
	isKept(stream: StreamName, seq: number): boolean;
	/** Whether events are kept as soon as they come. */
	atOnce: boolean;
	/** How often a page was asked for. */
	pages: number;
}

export function createEventStore(): EventStore {
	const kept: StreamEvent[] = [];
	const waiting: { event: StreamEvent; resolve(): void; reject(error: Error): void }[] = [];
	let forgotten: { stream: StreamName; upTo: number }[] = [];
	const isOf = (stream: StreamName) => (event: StreamName) =>
		event.principal === stream.principal && event.sessionId === stream.sessionId;
	const store: EventStore = {
		atOnce: false,
		pages: 0,
		append(event) {
			if (store.atOnce) {
				kept.push(event);
				return Promise.resolve();
			}
			return new Promise((resolve, reject) => waiting.push({ event, resolve, reject }));
		},
		events(stream, after, limit) {
			store.pages++;
			const from = Math.max(after, forgottenUpTo(stream));
			// Like the real one, it also shows what it has not written yet.
			return [...kept, ...waiting.map(({ event }) => event)]
				.filter(isOf(stream))
				.filter(({ seq }) => seq > from)
				.slice(0, limit);
		},
		extent(stream) {
			const events = kept.filter(isOf(stream));
			return { first: events[0]?.seq ?? 0, last: events.at(-1)?.seq ?? 0 };
		},
		lastSeq: (stream) => store.extent(stream).last,
		settle(count, isKept) {
			for (const { event, resolve, reject } of waiting.splice(0, count)) {
				if (isKept) {
					kept.push(event);
					resolve();
				} else reject(new Error("the disk is full"));
			}
		},
		forget(stream, upTo) {
			forgotten = [...forgotten, { stream, upTo }];
		},
		isKept: (stream, seq) => kept.some((event) => isOf(stream)(event) && event.seq === seq),
	};
	return store;

	function forgottenUpTo(stream: StreamName): number {
		const marks = forgotten.filter((mark) => isOf(stream)(mark.stream));
		return Math.max(0, ...marks.map(({ upTo }) => upTo));
	}
}
