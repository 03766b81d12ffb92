import { setImmediate as nextTick } from "node:timers/promises";
import { expect, test } from "vitest";
import { Streams } from "../../../src/server/streams/streams.ts";
import { fc } from "../../support/property.ts";
import { createEventStore } from "./event-store.ts";
import { type RecordingClient, recordingClient, short } from "./recording-client.ts";

const STREAMS = ["s", "t"].map((sessionId) => ({ principal: "ann", sessionId }));
const which = fc.nat({ max: 1 });
const step = fc.oneof(
	fc.record({ do: fc.constant("emit" as const), stream: which, count: fc.nat({ max: 400 }) }),
	fc.record({ do: fc.constant("keep" as const), count: fc.nat({ max: 300 }) }),
	fc.record({ do: fc.constant("refuse" as const), count: fc.nat({ max: 3 }) }),
	fc.record({
		do: fc.constant("subscribe" as const),
		stream: which,
		after: fc.double({ min: 0, max: 1, noNaN: true }),
	}),
	fc.record({
		do: fc.constant("forget" as const),
		stream: which,
		part: fc.double({ min: 0, max: 1, noNaN: true }),
	}),
	fc.record({ do: fc.constant("drain" as const) }),
	fc.record({ do: fc.constant("tick" as const) }),
);

/** A subscriber and what it has been promised. */
interface Follower {
	client: RecordingClient;
	stream: (typeof STREAMS)[0];
	after: number;
}

test("stored and live events together have neither a gap nor a duplicate, however they interleave", async () => {
	let followed = 0;
	await fc.assert(
		fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
			const store = createEventStore();
			const streams = new Streams({ journal: store });
			const followers: Follower[] = [];
			const emitted = new Map<string, number>();
			const paused: (() => void)[] = [];

			const follow = async (stream: Follower["stream"], part: number) => {
				const after = Math.floor(store.extent(stream).last * part);
				const client = recordingClient(`c${followers.length}`, {
					whenDrained: () => new Promise<void>((resolve) => paused.push(resolve)),
				});
				const { send } = client;
				client.send = (message) => {
					// Nobody may see what the journal does not have.
					const value = message.value;
					if (value.type === "event" && value.seq) {
						expect(store.isKept(stream, value.seq)).toBe(true);
					}
					send(message);
				};
				const subscribed = await streams.subscribe(client, stream, after).catch(() => undefined);
				// The journal may have events that no subscriber got yet.
				if (subscribed) followers.push({ client, stream, after });
			};

			for (const next of steps) {
				const stream = STREAMS["stream" in next ? next.stream : 0] as Follower["stream"];
				if (next.do === "emit") {
					for (let n = 0; n < next.count; n++) {
						const number = (emitted.get(stream.sessionId) ?? 0) + 1;
						emitted.set(stream.sessionId, number);
						streams.emit(stream, { type: "session_info_changed", name: `${number}` });
					}
				} else if (next.do === "keep") store.settle(next.count, true);
				else if (next.do === "refuse") store.settle(next.count, false);
				else if (next.do === "subscribe") await follow(stream, next.after);
				else if (next.do === "forget") {
					store.forget(stream, Math.floor(store.extent(stream).last * next.part));
				} else if (next.do === "drain") for (const resolve of paused.splice(0)) resolve();
				else await nextTick();
			}
			// One more of each that is kept, so that everybody gets to know of what was not.
			for (const stream of STREAMS) {
				emitted.set(stream.sessionId, (emitted.get(stream.sessionId) ?? 0) + 1);
				const name = String(emitted.get(stream.sessionId));
				streams.emit(stream, { type: "session_info_changed", name });
			}
			store.settle(Number.POSITIVE_INFINITY, true);
			let isSettled = false;
			void streams.whenDrained().then(() => (isSettled = true));
			while (!isSettled) {
				for (const resolve of paused.splice(0)) resolve();
				await nextTick();
			}
			followed += followers.length;
			for (const follower of followers) {
				expectUnbroken(follower, emitted.get(follower.stream.sessionId) ?? 0);
			}
		}),
		{ numRuns: 60 },
	);
	expect(followed).toBeGreaterThan(20);
});

/** Numbers and gaps follow one another from `after` to the last event, and each number has its own event. */
function expectUnbroken({ client, after }: Follower, last: number): void {
	let at = after;
	for (const { value } of client.messages) {
		if (value.type === "gap") {
			expect(value.fromSeq).toBe(at + 1);
			expect(value.toSeq).toBeGreaterThanOrEqual(value.fromSeq);
			at = value.toSeq;
		} else if (value.type === "event" && value.seq !== undefined) {
			expect(value.seq).toBe(at + 1);
			expect(value.event).toEqual({ type: "session_info_changed", name: `${value.seq}` });
			at = value.seq;
		} else expect(short(value)).toBe("?");
	}
	expect(at).toBe(last);
}
