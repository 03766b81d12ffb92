import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { Call } from "../../../src/server/engine/call.ts";
import { WrittenData } from "../../../src/server/engine/message.ts";
import { SLICE_MS } from "../../../src/server/engine/read-queue.ts";
import { nameSession, phases, response, settled, type TestClient, withSession } from "./harness.ts";

const state = (id: string, more = {}) => ({ type: "get_state", id, sessionId: "s", ...more });

/** Takes a client's room, until it is given back. */
function crowd(client: TestClient) {
	let waiting: (() => void)[] = [];
	const crowded = {
		hasRoom: false,
		whenRoom: () => new Promise<void>((resolve) => waiting.push(resolve)),
	};
	Object.assign(client, crowded);
	return {
		/** Tells those who wait to look again. */
		async release(hasRoom = true) {
			Object.assign(client, { hasRoom });
			const told = waiting;
			waiting = [];
			for (const resolve of told) resolve();
			await settled();
		},
	};
}

/** A harness whose reads take a slice of the loop each, by a clock that only they move. */
async function withSlowReads() {
	let clock = 0;
	const { harness, client } = await withSession({ clock: () => clock });
	const order: string[] = [];
	harness.on("get_state", async ({ command }) => {
		clock += SLICE_MS;
		order.push(command.id ?? "");
		return { data: {} };
	});
	return { harness, client, order };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe("reads", () => {
	test("of one client leave the loop between them, and another principal's comes next", async () => {
		const { harness, client, order } = await withSlowReads();
		const other = harness.client("bob");
		await harness.send(other, { type: "create_session", sessionId: "s" });
		for (let n = 0; n < 100; n++) {
			harness.engine.receive(client, JSON.stringify(state(`a${n}`)));
		}
		await turn();
		const before = order.length;
		expect(before).toBeLessThan(5);
		harness.engine.receive(other, JSON.stringify(state("b")));
		while (!order.includes("b")) await turn();
		expect(order.indexOf("b") - before).toBeLessThanOrEqual(1);
		while (order.length < 101) await turn();
		expect(order.filter((id) => id !== "b")).toEqual(
			Array.from({ length: 100 }, (_, n) => `a${n}`),
		);
	});

	test("hold up neither changes nor what stops a run nor a subscription", async () => {
		const { harness, client, order } = await withSlowReads();
		for (let n = 0; n < 50; n++) harness.engine.receive(client, JSON.stringify(state(`a${n}`)));
		await harness.send(
			client,
			{ type: "abort", id: "stop", sessionId: "s" },
			nameSession("change"),
			{ type: "subscribe", id: "sub", lifecycle: "all" },
		);
		for (const id of ["stop", "change", "sub"]) expect(response(client, id).success).toBe(true);
		expect(order.length).toBeLessThan(40);
	});

	test("tell that they started when they begin", async () => {
		const { harness, client } = await withSlowReads();
		harness.engine.receive(client, JSON.stringify(state("first")));
		harness.engine.receive(client, JSON.stringify(state("second")));
		expect(phases(client, "first")).toEqual(["accepted", "started"]);
		expect(phases(client, "second")).toEqual(["accepted"]);
		await settled();
		expect(phases(client, "second")).toEqual(["accepted", "started", "finished", "response"]);
	});

	test("begin only while their client has room, and others of the principal go on", async () => {
		const { harness, client } = await withSession();
		const second = harness.client();
		const room = crowd(client);
		await harness.send(client, state("a"), state("b"));
		await harness.send(second, state("c"));
		expect(harness.calls).toEqual(["get_state"]);
		expect(phases(client, "a")).toEqual(["accepted"]);
		expect(response(second, "c").success).toBe(true);
		await room.release();
		expect(response(client, "a").success).toBe(true);
		expect(response(client, "b").success).toBe(true);
	});

	test("on the lane do not wait for room: others wait for the lane", async () => {
		const { harness, client } = await withSession();
		crowd(client);
		await harness.send(client, state("blocked"), { type: "list_sessions", id: "list" });
		expect(response(client, "list").success).toBe(true);
		expect(phases(client, "blocked")).toEqual(["accepted"]);
	});

	test("that wait for room for too long end with a timeout and never begin", async () => {
		vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
		onTestFinished(() => void vi.useRealTimers());
		const { harness, client } = await withSession({ limits: { queueMs: 3_000 } });
		const room = crowd(client);
		await harness.send(client, state("late"));
		await vi.advanceTimersByTimeAsync(3_100);
		expect(response(client, "late")).toMatchObject({ success: false, code: "timeout" });
		await room.release();
		expect(harness.calls).toEqual([]);
		expect(phases(client, "late")).toEqual(["accepted", "finished", "response"]);
	});

	test("that took their time are written down when their client has room, once, and are not late then", async () => {
		vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
		onTestFinished(() => void vi.useRealTimers());
		const { harness, client } = await withSession({ limits: { shortMs: 1_000 } });
		harness.hold("get_messages");
		await harness.send(client, { type: "get_messages", id: "m", sessionId: "s" });
		const room = crowd(client);
		const data = ["at first"];
		await harness.held[0]?.finish({ data });
		expect(phases(client, "m")).toEqual(["accepted", "started"]);
		data.push("by now");
		await vi.advanceTimersByTimeAsync(5_000);
		await room.release();
		expect(response(client, "m")).toMatchObject({ success: true, data });
	});

	test("that waited for a thing of many take a turn each before they go on", async () => {
		const { harness, client, order } = await withSlowReads();
		const opened = Promise.withResolvers<void>();
		let atOnce = 0;
		let most = 0;
		harness.on("get_messages", async (call: Call) => {
			await opened.promise;
			await call.turn?.();
			most = Math.max(most, ++atOnce);
			await undefined;
			atOnce--;
			return { data: {} };
		});
		const reads = Array.from({ length: 20 }, (_, n) => ({
			type: "get_messages",
			id: `m${n}`,
			sessionId: "s",
		}));
		await harness.send(client, ...reads);
		opened.resolve();
		await settled();
		for (const { id } of reads) expect(response(client, id).success).toBe(true);
		expect(most).toBe(1);
		expect(order).toEqual([]);
	});

	test("of a client that is gone end as they would have, for whoever repeats them", async () => {
		const { harness, client } = await withSession();
		const room = crowd(client);
		const second = harness.client();
		await harness.send(client, state("a"), state("b"));
		await harness.send(second, state("a"));
		client.gone = true;
		harness.engine.disconnect(client);
		await room.release();
		expect(response(second, "a")).toMatchObject({ success: true, replayed: true });
		expect(harness.calls).toEqual(["get_state", "get_state"]);
		expect(harness.engine.counters().pending).toBe(0);
	});

	test("that wait when the server stops end with a stored failure, and nothing is waited for", async () => {
		const { harness, client } = await withSession();
		const room = crowd(client);
		await harness.send(client, state("a"));
		await harness.engine.shutdown("test", 5);
		expect(response(client, "a")).toMatchObject({ success: false, code: "interrupted" });
		await room.release();
		expect(harness.calls).toEqual([]);
	});

	test.each(["before", "while"])(
		"of a client that went %s the server stops do not hold it up",
		async (when) => {
			const { harness, client, order } = await withSlowReads();
			const second = harness.client();
			for (let n = 0; n < 20; n++) harness.engine.receive(client, JSON.stringify(state(`a${n}`)));
			harness.engine.receive(second, JSON.stringify(state("a19")));
			const go = () => {
				client.gone = true;
				harness.engine.disconnect(client);
			};
			if (when === "before") go();
			const stopped = harness.engine.shutdown("test", 60_000);
			if (when === "while") go();
			await stopped;
			expect(order.length).toBeLessThan(5);
			expect(response(second, "a19")).toMatchObject({ success: true, replayed: true });
		},
	);

	test("of a client that does not read hold up a stop for a moment, not for its whole grace", async () => {
		const { harness, client } = await withSession();
		const second = harness.client();
		crowd(client);
		await harness.send(client, state("a"));
		await harness.send(second, state("b"));
		vi.useFakeTimers({ toFake: ["setTimeout"] });
		onTestFinished(() => void vi.useRealTimers());
		const stopped = harness.engine.shutdown("test", 60_000);
		await vi.advanceTimersByTimeAsync(2_000);
		await stopped;
		expect(response(client, "a")).toMatchObject({ success: false, code: "interrupted" });
		expect(response(second, "b")).toMatchObject({ success: true });
	});

	test("of a server that stops are answered first, if there is time", async () => {
		const { harness, client, order } = await withSlowReads();
		for (let n = 0; n < 20; n++) harness.engine.receive(client, JSON.stringify(state(`a${n}`)));
		await harness.engine.shutdown("test", 60_000);
		expect(order).toHaveLength(20);
	});

	test("that others repeat meanwhile are answered to each in turn, and only while that client has room", async () => {
		const { harness, client } = await withSession();
		const [second, third] = [harness.client(), harness.client()];
		const read = { type: "get_messages", id: "m", sessionId: "s" };
		harness.hold("get_messages");
		await harness.send(client, read);
		for (const joining of [second, third]) await harness.send(joining, read, read, state("after"));
		const [room] = [crowd(second), crowd(third)];
		await harness.held[0]?.finish({ data: "x".repeat(5_000) });
		const answersTo = ({ frames }: TestClient) => frames.filter(({ id }) => id === "m");
		expect(answersTo(client)).toHaveLength(1);
		expect([...answersTo(second), ...answersTo(third)]).toEqual([]);
		await room?.release();
		expect(answersTo(second)).toMatchObject([{ replayed: true }, { replayed: true }]);
		expect(answersTo(third)).toEqual([]);
		await harness.engine.shutdown("test", 5);
		expect(answersTo(third)).toMatchObject([{ replayed: true }, { replayed: true }]);
		expect(answersTo(third)[0]).toEqual(answersTo(second)[0]);
	});

	test("wait for earlier short commands of their session, and for what they depend on", async () => {
		const { harness, client } = await withSession();
		harness.hold("set_session_name");
		await harness.send(
			client,
			nameSession("change"),
			state("after"),
			state("free", { sessionId: "none" }),
			{ type: "get_metrics", id: "dependent", dependsOn: ["after"] },
		);
		expect(harness.calls).toEqual(["set_session_name"]);
		expect(response(client, "free")).toMatchObject({ code: "unknown_session" });
		await harness.held[0]?.finish();
		expect(harness.calls).toEqual(["set_session_name", "get_state", "get_metrics"]);
	});

	test("tell the version at which they were read, not that at which there was room", async () => {
		const { harness, client } = await withSession();
		harness.hold("get_messages");
		await harness.send(client, { type: "get_messages", id: "m", sessionId: "s" });
		const room = crowd(client);
		await harness.held[0]?.finish({ data: "as it was" });
		await harness.send(client, nameSession("change"));
		expect(response(client, "change")).toMatchObject({ success: true, sessionVersion: 1 });
		await room.release();
		expect(response(client, "m")).toMatchObject({ data: "as it was", sessionVersion: 0 });
	});
});

describe("an answer that was written before", () => {
	test("is the same as one that is written now, with and without an id, and when it is repeated", async () => {
		const data = { text: 'é "x" \u2028', list: [1, null] };
		const answers = [];
		for (const written of [undefined, new WrittenData(JSON.stringify(data))]) {
			const { harness, client } = await withSession();
			harness.on("get_messages", async () => ({ data, ...(written && { written }) }));
			const read = { type: "get_messages", sessionId: "s" };
			await harness.send(client, read, { ...read, id: "m" });
			await harness.send(client, { ...read, id: "m" });
			answers.push(client.frames.filter(({ type }) => type === "response"));
		}
		expect(answers[0]).toHaveLength(3);
		expect(answers[1]).toEqual(answers[0]);
	});

	test("that is too large fails like any other", async () => {
		const { harness, client } = await withSession({ limits: { maxAnswerBytes: 1_000 } });
		const data = "x".repeat(2_000);
		harness.on("get_messages", async () => ({ data, written: new WrittenData(`"${data}"`) }));
		await harness.send(client, { type: "get_messages", id: "m", sessionId: "s" });
		expect(response(client, "m")).toMatchObject({ success: false, code: "too_large" });
	});
});
