import { describe, expect, test } from "vitest";
import type { Data } from "../../../src/protocol/index.ts";
import { Message } from "../../../src/server/engine/message.ts";
import { DEFAULT_LIMITS } from "../../../src/server/limits.ts";
import { Outbox, OutboxPool } from "../../../src/server/transports/outbox.ts";
import { fc, runs } from "../../support/property.ts";

const limits = {
	...DEFAULT_LIMITS,
	softQueueBytes: 1_000,
	hardQueueBytes: 5_000,
	maxQueueBytes: 500_000,
};

describe("an outbox whose client reads", () => {
	test("sends everything of one turn in one write, in order", async () => {
		const { outbox, wire } = setUp();
		for (let i = 0; i < 5; i++) outbox.send(response(i));
		expect(wire.writes).toBe(0);
		await turn();
		expect(wire.writes).toBe(1);
		expect(wire.received).toEqual([0, 1, 2, 3, 4].map((i) => response(i).value));
		expect(outbox.pending).toBe(0);
	});

	test("sends what can wait with the next that cannot, in order and in one write", async () => {
		const { outbox, wire } = setUp();
		outbox.send(response(0), true);
		await turn();
		expect(wire.writes).toBe(0);
		outbox.send(response(1), true);
		outbox.send(response(2));
		outbox.send(response(3), true);
		await turn();
		expect(wire.writes).toBe(1);
		expect(wire.received).toEqual([0, 1, 2, 3].map((i) => response(i).value));
	});

	test("sends what can wait by itself, too, each time", async () => {
		const { outbox, wire } = setUp();
		for (let i = 0; i < 3; i++) {
			outbox.send(response(i), true);
			await outbox.whenEmpty();
		}
		expect(wire.received).toEqual([0, 1, 2].map((i) => response(i).value));
	});

	test("does not wait when much has come up", async () => {
		const { outbox, wire } = setUp();
		outbox.send(filler(100_000), true);
		await turn();
		expect(wire.received).toHaveLength(1);
	});

	test("joins nothing and leaves nothing out", async () => {
		const { outbox, wire } = setUp();
		for (let seq = 1; seq <= 500; seq++) {
			outbox.send(delta("s", seq, "word "));
			await turn();
		}
		expect(wire.received).toHaveLength(500);
		expect(wire.received.every((message) => !("fromSeq" in message))).toBe(true);
	});
});

describe("an outbox whose client lags", () => {
	test("joins the deltas of one text, and says which events the joined one stands for", async () => {
		const { outbox, wire } = setUp();
		wire.stop();
		outbox.send(filler(400_000));
		await turn(); // the system holds the filler, the rest waits with us
		for (let seq = 1; seq <= 10; seq++) outbox.send(delta("s", seq, `${seq} `));
		outbox.send(event("s", 11, { type: "agent_settled" }));
		wire.go();
		await outbox.whenEmpty();
		expect(wire.received.slice(1)).toEqual([
			{ ...delta("s", 10, "1 2 3 4 5 6 7 8 9 10 ").value, fromSeq: 1 },
			event("s", 11, { type: "agent_settled" }).value,
		]);
	});

	test("keeps texts, kinds and sessions apart", async () => {
		const { outbox, wire } = setUp();
		wire.stop();
		outbox.send(filler(400_000));
		await turn();
		outbox.send(delta("s", 1, "a", 0));
		outbox.send(delta("t", 1, "A", 0));
		outbox.send(delta("s", 2, "b", 0));
		outbox.send(delta("s", 3, "c", 1));
		outbox.send(delta("t", 2, "B", 0));
		outbox.send(bash("s", 4, "d"));
		outbox.send(bash("s", 5, "e"));
		wire.go();
		await outbox.whenEmpty();
		expect(wire.received.slice(1)).toEqual([
			{ ...delta("s", 2, "ab", 0).value, fromSeq: 1 },
			{ ...delta("t", 2, "AB", 0).value, fromSeq: 1 },
			delta("s", 3, "c", 1).value,
			{ ...bash("s", 5, "de").value, fromSeq: 4 },
		]);
	});

	test("leaves deltas out above the hard cap, with a gap in their place, and nothing else", async () => {
		const { outbox, wire } = setUp();
		wire.stop();
		outbox.send(filler(400_000));
		await turn();
		outbox.send(delta("s", 1, "x".repeat(3_000)));
		outbox.send(response(1));
		outbox.send(event("s", 2, { type: "turn_start" }));
		outbox.send(delta("s", 3, "x".repeat(3_000)));
		outbox.send(delta("s", 4, "y"));
		outbox.send(event("s", 5, { type: "agent_settled" }));
		outbox.send(filler(6_000));
		wire.go();
		await outbox.whenEmpty();
		expect(wire.received.slice(1)).toEqual([
			{ type: "gap", sessionId: "s", fromSeq: 1, toSeq: 1 },
			response(1).value,
			event("s", 2, { type: "turn_start" }).value,
			{ type: "gap", sessionId: "s", fromSeq: 3, toSeq: 4 },
			event("s", 5, { type: "agent_settled" }).value,
			filler(6_000).value,
		]);
	});

	test("stops reading from it above the hard cap and goes on when it has caught up", async () => {
		const { outbox, wire, pressure } = setUp();
		wire.stop();
		outbox.send(filler(400_000));
		await turn();
		pressure.length = 0;
		outbox.send(filler(6_000));
		expect(pressure).toEqual([true]);
		wire.go();
		await outbox.whenEmpty();
		expect(pressure).toEqual([true, false]);
	});

	test("gives up when too much waits that must not be lost, and holds nothing any more", async () => {
		const { outbox, wire, pool, gaveUp } = setUp();
		wire.stop();
		for (let i = 0; i < 60; i++) outbox.send(filler(10_000));
		expect(gaveUp).toEqual(["the client has too much unread output"]);
		expect(outbox.pending).toBe(0);
		expect(pool.queued).toBe(0);
		await outbox.whenDrained();
	});

	test("takes one message of any size, and does not give up because of it alone", async () => {
		const { outbox, wire, gaveUp } = setUp();
		for (let i = 0; i < 3; i++) {
			outbox.send(filler(2 * limits.maxQueueBytes));
			await outbox.whenEmpty();
		}
		outbox.send(filler(2 * limits.maxQueueBytes));
		outbox.send(response(1)); // what comes before it was read is too much
		expect(gaveUp).toEqual(["the client has too much unread output"]);
		expect(wire.received).toHaveLength(3);
	});

	test("when all outboxes together hold too much, those give up that hold most", async () => {
		const pool = new OutboxPool();
		const most = { ...limits, maxQueueBytesInAll: 30_000 };
		const [hog, other, healthy] = [setUp(pool, most), setUp(pool, most), setUp(pool, most)];
		for (const { wire } of [hog, other, healthy]) wire.stop();
		hog.outbox.send(filler(20_000));
		other.outbox.send(filler(9_000));
		healthy.outbox.send(filler(6_000));
		expect(hog.gaveUp).toEqual(["the server has no room for more unread output"]);
		expect(other.gaveUp).toEqual([]);
		expect(healthy.gaveUp).toEqual([]);
		for (let i = 0; i < 40; i++) healthy.outbox.send(filler(500));
		expect(other.gaveUp).toEqual([]);
		expect(healthy.gaveUp).toEqual(["the server has no room for more unread output"]);
	});

	test("gives up when nothing is taken for too long, and not while something is", async () => {
		const { outbox, wire, clock, gaveUp } = setUp();
		wire.stop();
		outbox.send(response(1));
		await turn();
		clock.ms += limits.stallMs;
		outbox.checkStall();
		wire.go();
		await turn();
		wire.stop();
		clock.ms += limits.stallMs;
		outbox.checkStall(); // nothing waits: silence is no fault
		outbox.send(response(2));
		await turn();
		clock.ms += limits.stallMs;
		outbox.checkStall();
		expect(gaveUp).toEqual([]);
		clock.ms += 1;
		outbox.checkStall();
		expect(gaveUp).toEqual(["the client has read nothing for too long"]);
	});

	test("tells a subscriber that catches up when it may go on", async () => {
		const { outbox, wire } = setUp();
		wire.stop();
		outbox.send(filler(400_000));
		await turn();
		let mayGoOn = false;
		const waiting = outbox.whenDrained().then(() => {
			mayGoOn = true;
		});
		await turn();
		expect(mayGoOn).toBe(false);
		wire.go();
		await waiting;
	});

	test("whatever happens, each event arrives once, in order, as itself or in a gap, and the rest is complete", {
		tags: "slow",
	}, async () => {
		await fc.assert(
			fc.asyncProperty(fc.array(step, { maxLength: 150 }), async (steps) => {
				const { outbox, wire, pool, gaveUp } = setUp();
				const next = new Map([
					["s", 1],
					["t", 1],
				]);
				const sent: Data<"ServerMessage">[] = [];
				const texts = new Map<string, string>();
				const first = filler(400_000); // more than the system takes before it is read
				sent.push(first.value);
				wire.stop();
				outbox.send(first);
				await turn();
				for (const one of steps) {
					if (one.kind === "turn") {
						await turn();
					} else if (one.kind === "stop") {
						wire.stop();
					} else if (one.kind === "go") {
						wire.go();
					} else if (one.kind === "response") {
						const message = response(sent.length, one.size);
						sent.push(message.value);
						outbox.send(message);
					} else {
						const seq = next.get(one.session) ?? 1;
						next.set(one.session, seq + 1);
						const text = `${seq};`.repeat(one.size);
						texts.set(`${one.session} ${seq}`, text);
						const message =
							one.kind === "delta"
								? delta(one.session, seq, text)
								: event(one.session, seq, { type: "turn_start" });
						if (one.kind === "event") sent.push(message.value);
						outbox.send(message);
					}
				}
				wire.go();
				await outbox.whenEmpty();
				expect(gaveUp).toEqual([]);
				const isKept = (message: Data<"ServerMessage">) =>
					message.type === "response" ||
					(message.type === "event" && message.event.type === "turn_start");
				expect(wire.received.filter(isKept)).toEqual(sent);
				for (const [session, end] of next) expect(covered(wire.received, session)).toBe(end);
				for (const message of wire.received) checkText(message, texts);
				expect(pool.queued).toBe(0);
			}),
			{ numRuns: runs(150) },
		);
	});
});

const session = fc.constantFrom("s", "t");
const step = fc.oneof(
	{ weight: 6, arbitrary: fc.record({ kind: fc.constant("delta"), session, size: fc.nat(400) }) },
	{ weight: 1, arbitrary: fc.record({ kind: fc.constant("event"), session, size: fc.nat(1) }) },
	{
		weight: 2,
		arbitrary: fc.record({ kind: fc.constant("response"), size: fc.nat(2_000) }),
	},
	fc.record({ kind: fc.constantFrom("turn", "stop", "go") }),
) as fc.Arbitrary<
	| { kind: "delta"; session: string; size: number }
	| { kind: "event"; session: string; size: number }
	| { kind: "response"; size: number }
	| { kind: "turn" }
	| { kind: "stop" }
	| { kind: "go" }
>;

/** One more than the last event covered, if those of the session follow on each other. */
function covered(received: Data<"ServerMessage">[], sessionId: string): number {
	let next = 1;
	for (const message of received) {
		if (message.type === "gap" && message.sessionId === sessionId) {
			expect(message.fromSeq).toBe(next);
			next = message.toSeq + 1;
		} else if (message.type === "event" && message.sessionId === sessionId) {
			expect(message.fromSeq ?? message.seq).toBe(next);
			next = (message.seq ?? 0) + 1;
		}
	}
	return next;
}

function checkText(message: Data<"ServerMessage">, texts: Map<string, string>): void {
	if (message.type !== "event" || message.event.type !== "message_update") return;
	const { seq = 0, fromSeq = seq, sessionId } = message;
	let text = "";
	for (let at = fromSeq; at <= seq; at++) text += texts.get(`${sessionId} ${at}`);
	expect(message.event.assistantMessageEvent).toMatchObject({ delta: text });
}

function setUp(pool = new OutboxPool(), given = limits) {
	const clock = { ms: 0 };
	const gaveUp: string[] = [];
	const pressure: boolean[] = [];
	const wire = fakeWire();
	const outbox = new Outbox({
		writer: wire,
		limits: given,
		pool,
		disconnect: (why) => gaveUp.push(why),
		onBackpressure: (isHigh) => pressure.push(isHigh),
		now: () => clock.ms,
	});
	return { outbox, wire, pool, clock, gaveUp, pressure };
}

/** A wire that takes what it is given at the end of the turn, or once it may `go` again. */
function fakeWire() {
	let isStopped = false;
	let held: (() => void)[] = [];
	const wire = {
		writes: 0,
		received: [] as Data<"ServerMessage">[],
		encode: (message: { json(): string }) => [Buffer.from(`${message.json()}\n`)],
		write(parts: Uint8Array[], done: () => void) {
			wire.writes++;
			const text = Buffer.concat(parts).toString();
			wire.received.push(
				...text
					.split("\n")
					.slice(0, -1)
					.map((line) => JSON.parse(line)),
			);
			if (isStopped) held.push(done);
			else process.nextTick(done);
		},
		stop() {
			isStopped = true;
		},
		go() {
			isStopped = false;
			for (const done of held) process.nextTick(done);
			held = [];
		},
	};
	return wire;
}

function turn(): Promise<void> {
	return new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
}

function response(number: number, size = 0) {
	return new Message({
		type: "response",
		command: "get_state",
		success: true,
		id: String(number),
		data: "x".repeat(size),
	});
}

function filler(size: number) {
	return response(0, size);
}

function event(sessionId: string, seq: number, happened: Data<"SessionEvent">) {
	return new Message({ type: "event", sessionId, seq, event: happened });
}

function delta(sessionId: string, seq: number, text: string, contentIndex = 0) {
	return event(sessionId, seq, {
		type: "message_update",
		assistantMessageEvent: { type: "text_delta", contentIndex, delta: text },
	});
}

function bash(sessionId: string, seq: number, text: string) {
	return event(sessionId, seq, { type: "bash_execution_update", delta: text });
}
