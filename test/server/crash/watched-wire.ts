import type { Connection, Transport } from "../../../src/protocol/client.ts";
import type { Data } from "../../../src/protocol/index.ts";

/** What went over the connections of one client, judged frame by frame, before the client has mended anything. */
export interface WatchedWire {
	readonly transport: Transport;
	/** The events of a session by their numbers, as JSON. */
	events(sessionId: string): ReadonlyMap<number, string>;
	/** What was wrong with the streams, in words. */
	readonly faults: string[];
	readonly connections: number;
	/** Hangs up; the client comes back by itself. */
	hangUp(): void;
}

/**
 * Listens in on a transport. On each connection a session's events have to begin with the number that was asked for and
 * go on without a hole or a repetition, and a number has to mean the same event on every connection.
 */
export function watchWire(inner: Transport): WatchedWire {
	const events = new Map<string, Map<number, string>>();
	const faults: string[] = [];
	let connections = 0;
	let current: Connection | undefined;

	return {
		transport: {
			async open(listener) {
				/** By session, the number that comes next. */
				const expected = new Map<string, number>();
				const wire = await inner.open({
					message(text) {
						hear(JSON.parse(text), text, expected);
						listener.message(text);
					},
					closed: listener.closed,
				});
				connections++;
				current = wire;
				return {
					send(text) {
						const { type, sessionId, after } = JSON.parse(text);
						if (type === "subscribe" && after !== undefined) expected.set(sessionId, after + 1);
						wire.send(text);
					},
					close: () => wire.close(),
				};
			},
		},
		events: (sessionId) => events.get(sessionId) ?? new Map(),
		faults,
		get connections() {
			return connections;
		},
		hangUp: () => current?.close(),
	};

	function hear(message: Data<"ServerMessage">, text: string, expected: Map<string, number>): void {
		if (message.type === "gap") faults.push(`a gap: ${text}`);
		if (message.type !== "event" || message.seq === undefined) return;
		const { sessionId, seq, fromSeq = seq } = message;
		const next = expected.get(sessionId);
		if (next !== undefined && fromSeq !== next) {
			faults.push(`connection ${connections}: ${next} was due in ${sessionId}, got ${text}`);
		}
		if (next !== undefined) expected.set(sessionId, seq + 1);
		if (fromSeq !== seq) return; // several in one, for a client that lags
		const known = events.get(sessionId) ?? new Map<number, string>();
		events.set(sessionId, known);
		const body = JSON.stringify(message.event);
		const before = known.get(seq);
		if (before !== undefined && before !== body) {
			faults.push(`number ${seq} of ${sessionId} was ${before} and is now ${body}`);
		}
		known.set(seq, body);
	}
}
