import { setImmediate as nextTick } from "node:timers/promises";
import { beforeEach, describe, expect, test } from "vitest";
import type { Data } from "../../../src/protocol/index.ts";
import { SLICE_MS } from "../../../src/server/engine/read-queue.ts";
import { Streams } from "../../../src/server/streams/streams.ts";
import { PATIENCE } from "../../support/patience.ts";
import { createEventStore, type EventStore } from "./event-store.ts";
import { recordingClient } from "./recording-client.ts";

const stream = { principal: "ann", sessionId: "s" };
const happened = (text: string): Data<"SessionEvent"> => ({
	type: "session_info_changed",
	name: text,
});

let store: EventStore;
let streams: Streams;
beforeEach(() => {
	store = createEventStore();
	streams = new Streams({ journal: store, now: () => 5 });
});

/** Emits events that are kept at once. */
async function emit(count: number): Promise<void> {
	store.atOnce = true;
	for (let n = 0; n < count; n++) streams.emit(stream, happened(`event ${n}`));
	await streams.whenDrained();
	store.atOnce = false;
}

describe("an event", () => {
	test("reaches subscribers only when the journal has it, in the order of its number", async () => {
		const client = recordingClient();
		await streams.subscribe(client, stream);
		for (const text of ["a", "b", "c"]) streams.emit(stream, happened(text));
		await nextTick();
		expect(client.seen()).toEqual([]);
		store.settle(2, true);
		await nextTick();
		expect(client.seen()).toEqual([1, 2]);
		store.settle(1, true);
		await streams.whenDrained();
		expect(client.seen()).toEqual([1, 2, 3]);
		expect(client.messages[0]?.value).toEqual({
			type: "event",
			sessionId: "s",
			seq: 1,
			event: happened("a"),
		});
		for (const message of client.messages) {
			expect(JSON.parse(message.json())).toEqual(message.value);
			expect(message.json()).not.toContain("\n");
		}
	});

	test("is one message for all of its subscribers, and nobody else's", async () => {
		const clients = [recordingClient("a"), recordingClient("b")];
		const stranger = recordingClient("c", { principal: "bob" });
		for (const client of clients) await streams.subscribe(client, stream);
		await streams.subscribe(stranger, { principal: "bob", sessionId: "s" });
		await emit(1);
		expect(clients[0]?.messages[0]).toBe(clients[1]?.messages[0]);
		expect(stranger.seen()).toEqual([]);
		expect(clients.map((client) => streams.isSubscribed(client, stream))).toEqual([true, true]);
		expect(streams.isSubscribed(stranger, stream)).toBe(false);
	});

	test("that the journal refuses comes without a number, and the next one behind a gap", async () => {
		const client = recordingClient();
		await streams.subscribe(client, stream);
		await emit(1);
		for (const text of ["a", "b", "c"]) streams.emit(stream, happened(text));
		store.settle(2, false);
		await nextTick();
		expect(client.seen()).toEqual([1, "?", "?"]);
		const late = recordingClient("late");
		expect(await streams.subscribe(late, stream)).toEqual({ seq: 1 });
		store.settle(1, true);
		await streams.whenDrained();
		expect(client.seen()).toEqual([1, "?", "?", "gap 2-3", 4]);
		expect(late.seen()).toEqual(["gap 2-3", 4]);
		const later = recordingClient("later");
		await streams.subscribe(later, stream, 0);
		expect(later.seen()).toEqual([1, "gap 2-3", 4]);
		streams.emit(stream, happened("lost alone"));
		store.settle(1, false);
		await emit(1);
		expect(later.seen()).toEqual([1, "gap 2-3", 4, "?", "gap 5-5", 6]);
	});

	test("that the journal refuses is not sent while another server may have the session", async () => {
		let isOwner = false;
		streams = new Streams({ journal: store, maySend: () => isOwner });
		const client = recordingClient();
		await streams.subscribe(client, stream);
		await emit(1);
		for (const text of ["a", "b", "c"]) streams.emit(stream, happened(text));
		store.settle(2, false);
		await nextTick();
		expect(client.seen()).toEqual([1]);
		isOwner = true;
		store.settle(1, false);
		await streams.whenDrained();
		expect(client.seen()).toEqual([1, "?"]);
		await emit(1);
		expect(client.seen()).toEqual([1, "?", "gap 2-4", 5]);
	});

	test("after a restart has the number after the last one that is kept", async () => {
		const client = recordingClient();
		await streams.subscribe(client, stream);
		await emit(2);
		streams.emit(stream, happened("lost"));
		store.settle(1, false);
		await streams.whenDrained();
		streams = new Streams({ journal: store });
		await streams.subscribe(client, stream, 2);
		await emit(1);
		expect(client.seen()).toEqual([1, 2, "?", 3]);
	});
});

describe("who subscribes", () => {
	test("gets what comes from then on, and is told the last number", async () => {
		await emit(3);
		const client = recordingClient();
		expect(await streams.subscribe(client, stream)).toEqual({ seq: 3 });
		expect(await streams.subscribe(client, stream)).toEqual({ seq: 3 });
		await emit(1);
		expect(client.seen()).toEqual([4]);
	});

	test("after a number gets what is above it first, page by page", async () => {
		await emit(1_000);
		const client = recordingClient();
		expect(await streams.subscribe(client, stream, 10)).toEqual({ seq: 1_000 });
		await emit(2);
		await streams.whenDrained();
		expect(client.seen()).toEqual(Array.from({ length: 992 }, (_, index) => index + 11));
		expect(client.messages[5]?.value).toEqual({
			type: "event",
			sessionId: "s",
			seq: 16,
			event: happened("event 15"),
		});
		expect(store.pages).toBeGreaterThan(2);
	});

	test("after a number that is no longer kept is told of the gap", async () => {
		await emit(10);
		store.forget(stream, 6);
		const client = recordingClient();
		await streams.subscribe(client, stream, 2);
		expect(client.seen()).toEqual(["gap 3-6", 7, 8, 9, 10]);
		store.forget(stream, 10);
		const late = recordingClient("late");
		await streams.subscribe(late, stream, 2);
		await emit(1);
		expect(late.seen()).toEqual(["gap 3-10", 11]);
	});

	test("after a number that is not there yet is told so", async () => {
		await emit(3);
		streams.emit(stream, happened("not kept yet"));
		const client = recordingClient();
		await expect(streams.subscribe(client, stream, 4)).rejects.toMatchObject({
			code: "not_found",
			message: expect.stringMatching(/"after" is 4.*"s" is 3/),
		});
		expect(streams.isSubscribed(client, stream)).toBe(false);
	});

	test("and takes its time is sent a page when it has room, and no more", async () => {
		await emit(1_000);
		const waiting: (() => void)[] = [];
		const client = recordingClient("slow", {
			whenDrained: () => new Promise<void>((resolve) => waiting.push(resolve)),
		});
		await streams.subscribe(client, stream, 0);
		let before = 0;
		for (let page = 0; page < 3; page++) {
			await nextTick();
			await nextTick();
			expect(waiting).toHaveLength(1);
			expect(client.messages.length).toBeGreaterThan(before);
			expect(client.messages.length).toBeLessThan(1_000);
			before = client.messages.length;
			waiting.pop()?.();
		}
		await streams.whenDrained();
		expect(client.seen()).toEqual(Array.from({ length: 1_000 }, (_, index) => index + 1));
	});

	test("many times at once after a number gets that part once", async () => {
		await emit(3);
		const client = recordingClient();
		const all = Array.from({ length: 100 }, () => streams.subscribe(client, stream, 0));
		expect(await Promise.all(all)).toEqual(all.map(() => ({ seq: 3 })));
		await streams.whenDrained();
		expect(client.seen()).toEqual([1, 2, 3]);
		expect(store.pages).toBe(1);
	});

	test("with many others after a number leaves the loop between pages, one principal after the other", {
		tags: "slow",
	}, async () => {
		await emit(3);
		const { events } = store;
		const asked: string[] = [];
		store.events = (...query) => {
			asked.push(query[0].principal);
			const begun = performance.now();
			while (performance.now() - begun < SLICE_MS); // a disk that takes its time
			return events(...query);
		};
		const clients = Array.from({ length: 50 }, (_, n) => recordingClient(`c${n}`));
		for (const client of clients) void streams.subscribe(client, stream, 0);
		const other = recordingClient("other", { principal: "bob" });
		void streams.subscribe(other, { principal: "bob", sessionId: "s" }, 0);
		for (let turn = 0; turn < 4; turn++) await nextTick();
		expect(asked.length).toBeLessThan(10);
		await streams.whenDrained();
		expect(asked).toHaveLength(51);
		expect(asked.indexOf("bob")).toBeLessThan(3);
		for (const client of clients) expect(client.seen()).toEqual([1, 2, 3]);
	});

	test("again after a number gets that part again, and everything live once", async () => {
		const client = recordingClient();
		await streams.subscribe(client, stream);
		await emit(3);
		await streams.subscribe(client, stream, 1);
		await emit(1);
		expect(client.seen()).toEqual([1, 2, 3, 2, 3, 4]);
		expect(streams.isSubscribed(client, stream)).toBe(true);
	});
});

describe("a subscription ends", () => {
	test("when the client says so, disconnects, or the session is gone", async () => {
		const clients = ["a", "b", "c"].map((id) => recordingClient(id));
		const [a, b, c] = clients as [(typeof clients)[0], (typeof clients)[0], (typeof clients)[0]];
		for (const client of clients) await streams.subscribe(client, stream);
		await emit(1);
		streams.unsubscribe(a, stream);
		await emit(1);
		streams.unsubscribeAll(b);
		await emit(1);
		streams.emit(stream, happened("the last"));
		streams.remove(stream);
		for (const client of clients) expect(streams.isSubscribed(client, stream)).toBe(false);
		store.settle(1, true);
		await nextTick();
		await emit(1);
		expect(a.seen()).toEqual([1]);
		expect(b.seen()).toEqual([1, 2]);
		expect(c.seen()).toEqual([1, 2, 3, 4]);
	});

	test.each(["unsubscribe", "drop", "remove", "gone"] as const)(
		"while it catches up: %s",
		async (way) => {
			await emit(2_000);
			const client = recordingClient();
			await streams.subscribe(client, stream, 0);
			const { length } = client.messages;
			expect(length).toBeLessThan(2_000);
			if (way === "unsubscribe") streams.unsubscribe(client, stream);
			else if (way === "drop") streams.unsubscribeAll(client);
			else if (way === "remove") streams.remove(stream);
			else client.gone = true;
			await streams.whenDrained();
			expect(client.messages).toHaveLength(length);
		},
	);
});

test("a client that catches up gets every event, although the journal could not answer at first", async () => {
	await emit(3);
	const client = recordingClient();
	const read = store.events;
	let failures = 0;
	store.events = (name, after, limit) => {
		if (failures++ === 0) return Promise.reject(new Error("the database is away")) as never;
		return Promise.resolve(read(name, after, limit)) as never;
	};
	await streams.subscribe(client, stream, 1);
	await expect.poll(() => client.seen(), PATIENCE).toEqual([2, 3]);
	expect(streams.isSubscribed(client, stream)).toBe(true);
	await emit(1);
	expect(client.seen()).toEqual([2, 3, 4]);
});
