import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import {
	type Client,
	type ClientOptions,
	type ClientState,
	createClient,
	type StreamFrame,
} from "../../src/protocol/client.ts";
import type { Data } from "../../src/protocol/index.ts";
import { createFakeServer, type FakeServer } from "./fake-server.ts";

let server: FakeServer;
let client: Client;

beforeEach(() => {
	vi.useFakeTimers();
	server = createFakeServer();
});

afterEach(() => {
	client.close();
	vi.useRealTimers();
});

describe("a request", () => {
	test("waits for the connection, carries an id and a key, and resolves with the answer", async () => {
		const answer = connect().request("list_sessions");
		await settle();
		const [sent] = server.latest.sent;
		expect(sent).toMatchObject({ type: "list_sessions", idempotencyKey: sent?.id });
		expect(sent?.id).toMatch(/.{36}:\d+/);
		server.latest.answer("list_sessions", { data: { sessions: [] } });
		expect((await answer).data).toEqual({ sessions: [] });
	});

	test("fails with the server's code and text", async () => {
		const answer = connect().request("get_state", { sessionId: "s" });
		await settle();
		server.latest.answer("get_state", {
			success: false,
			code: "unknown_session",
			error: "no session s",
		});
		await expect(answer).rejects.toMatchObject({
			name: "ClientError",
			code: "unknown_session",
			message: "no session s",
			response: { command: "get_state" },
		});
	});

	test("carries dependencies and the version it expects, under the id it was given", async () => {
		const options = { id: "mine", dependsOn: ["a"], ifSessionVersion: 3 };
		connect()
			.request("abort", { sessionId: "s" }, options)
			.catch(() => undefined);
		await settle();
		expect(server.latest.sent).toEqual([
			{ type: "abort", sessionId: "s", idempotencyKey: "mine", ...options },
		]);
	});

	test("is repeated to the letter and in order on the next connection, until it is answered", async () => {
		const first = connect().request("set_session_name", { sessionId: "s", name: "a" });
		const second = client.request("set_session_name", { sessionId: "s", name: "b" });
		await settle();
		const sent = server.latest.sent;
		server.latest.answer("set_session_name", { sessionVersion: 2 });
		await second;
		server.latest.end();
		await reconnect();
		expect(server.connections).toHaveLength(2);
		expect(server.latest.sent).toEqual(sent.slice(0, 1));
		server.latest.answer("set_session_name", { replayed: true, sessionVersion: 1 });
		expect(await first).toMatchObject({ replayed: true, sessionVersion: 1 });
	});

	test("that was refused by a server that is shutting down is for the next server", async () => {
		const answer = connect().request("list_sessions");
		await settle();
		server.latest.answer("list_sessions", { success: false, code: "shutting_down" });
		server.latest.end({ code: 1001 });
		await reconnect();
		server.latest.answer("list_sessions", { data: { sessions: [] } });
		expect((await answer).success).toBe(true);
	});

	test("that is refused for being too much fails, as it has had no effect", async () => {
		const answer = connect().request("list_sessions");
		await settle();
		server.latest.answer("list_sessions", { success: false, code: "busy", error: "too much" });
		await expect(answer).rejects.toMatchObject({ code: "busy" });
	});

	test("that was sent before and is then refused for being too much is offered again, as it may have had an effect", async () => {
		const answer = connect().request("list_sessions");
		await settle();
		server.latest.end();
		await reconnect();
		server.latest.answer("list_sessions", { success: false, code: "busy" });
		await vi.advanceTimersByTimeAsync(1000);
		expect(server.latest.sent).toHaveLength(2);
		expect(server.latest.sent[1]).toEqual(server.latest.sent[0]);
		server.latest.answer("list_sessions", { replayed: true });
		expect((await answer).replayed).toBe(true);
	});

	test("whose answer was lost with a connection and is gone on the server is asked again under a new id", async () => {
		const answer = connect().request("list_sessions", {}, { id: "mine" });
		await settle();
		server.latest.end();
		await reconnect();
		server.latest.answer("list_sessions", { success: false, code: "answer_gone" });
		await settle();
		const [first, second] = server.latest.sent;
		expect(first).toMatchObject({ type: "list_sessions", id: "mine" });
		expect(second).toMatchObject({ type: "list_sessions" });
		expect(second?.id).not.toBe("mine");
		server.latest.answer("list_sessions", { data: { sessions: [] } });
		expect((await answer).success).toBe(true);
	});

	test("gives up after its timeout, and a late answer is of no interest", async () => {
		const answer = connect().request("list_sessions", {}, { timeoutMs: 100 });
		const outcome = expect(answer).rejects.toMatchObject({ code: "no_answer" });
		await vi.advanceTimersByTimeAsync(100);
		await outcome;
		server.latest.answer("list_sessions");
		server.latest.end();
		await reconnect();
		expect(server.latest.sent).toEqual([]);
	});

	test("gives up when its signal is aborted for no reason at all", async () => {
		const controller = new AbortController();
		const answer = connect().request("list_sessions", {}, { signal: controller.signal });
		await settle();
		controller.abort(null);
		await expect(answer).rejects.toBeNull();
	});

	test("gives up when its signal is aborted, before or after it was sent", async () => {
		const controller = new AbortController();
		const answer = connect().request("list_sessions", {}, { signal: controller.signal });
		const outcome = expect(answer).rejects.toThrow("enough");
		await settle();
		controller.abort(new Error("enough"));
		await outcome;
		const { signal } = controller;
		await expect(client.request("list_sessions", {}, { signal })).rejects.toThrow("enough");
		expect(server.latest.sent).toHaveLength(1);
	});

	test("too large for the server is not sent", async () => {
		connect({ maxFrameBytes: 1000 });
		const fields = { sessionId: "s", message: "ß".repeat(500) };
		await expect(client.request("prompt", fields)).rejects.toMatchObject({ code: "too_large" });
		await settle();
		expect(server.latest.sent).toEqual([]);
	});

	test("that makes the server hang up for its size fails, and the others are repeated", async () => {
		const large = connect().request("prompt", { sessionId: "s", message: "long ".repeat(99) });
		const outcome = expect(large).rejects.toMatchObject({ code: "too_large" });
		void client.request("list_sessions").catch(() => undefined);
		await settle();
		server.latest.end({ code: 1009 });
		await outcome;
		await reconnect();
		expect(server.latest.sent.map(({ type }) => type)).toEqual(["list_sessions"]);
	});

	test("fails when the client is closed, and afterwards at once", async () => {
		const answer = connect().request("list_sessions");
		const outcome = expect(answer).rejects.toMatchObject({ code: "closed" });
		await settle();
		client.close();
		await outcome;
		expect(server.latest.isClosed).toBe(true);
		await expect(client.request("list_sessions")).rejects.toMatchObject({ code: "closed" });
	});
});

describe("the connection", () => {
	test("is tried again after waits that double up to the longest, spread by chance", async () => {
		server.isDown = true;
		connect({ firstRetryMs: 100, lastRetryMs: 500, random: () => 0.5 });
		const states = statesOf(client);
		await vi.advanceTimersByTimeAsync(2000);
		const waits = states.flatMap((state) => (state.name === "waiting" ? [state.retryMs] : []));
		expect(waits.slice(0, 5)).toEqual([75, 150, 300, 375, 375]);
		expect(states.at(-1)).toMatchObject({ why: "the server is down" });
		server.isDown = false;
		await vi.advanceTimersByTimeAsync(500);
		expect(client.state).toMatchObject({ name: "open", server: { protocolVersion: "1.0.0" } });
	});

	test("the waits grow when the server takes the connection and drops it, and start anew when it has lasted", async () => {
		connect({ firstRetryMs: 100, lastRetryMs: 1000, random: () => 0.999 });
		await settle();
		for (const wait of [100, 200, 400]) {
			server.latest.end();
			expect(client.state).toMatchObject({ name: "waiting", retryMs: wait });
			await vi.advanceTimersByTimeAsync(wait);
		}
		await vi.advanceTimersByTimeAsync(1000);
		server.latest.end();
		expect(client.state).toMatchObject({ name: "waiting", retryMs: 100 });
	});

	test("is given up for good when the server refuses the client", async () => {
		const answer = connect().request("list_sessions");
		const outcome = expect(answer).rejects.toThrow("a valid token is needed");
		await settle();
		server.latest.end({ code: 1008, reason: "a valid token is needed" });
		await outcome;
		expect(client.state).toEqual({ name: "closed", why: "a valid token is needed" });
		await vi.advanceTimersByTimeAsync(60_000);
		expect(server.connections).toHaveLength(1);
	});

	test("is given up for good with a server of another protocol", async () => {
		server = createFakeServer("2.0.0");
		connect();
		await settle();
		expect(client.state).toMatchObject({ name: "closed", why: expect.stringContaining("2.0.0") });
		expect(server.latest.isClosed).toBe(true);
	});

	test("is replaced when the server is silent and does not answer when asked", async () => {
		connect({ silenceMs: 1000 });
		await settle();
		const [first] = server.connections;
		await vi.advanceTimersByTimeAsync(2000);
		expect(first?.sent).toEqual([{ type: "health_check" }]);
		first?.answer("health_check");
		await vi.advanceTimersByTimeAsync(1000);
		expect(first?.isClosed).toBe(false);
		await vi.advanceTimersByTimeAsync(3000);
		expect(first?.isClosed).toBe(true);
		expect(server.connections.length).toBeGreaterThan(1);
	});

	test("is replaced when the server takes it and never says that it is ready", async () => {
		server = createFakeServer("");
		server.transport.open = async () => ({ send: () => undefined, close: () => undefined });
		connect({ silenceMs: 1000 });
		const states = statesOf(client);
		await vi.advanceTimersByTimeAsync(1500);
		expect(states).toContainEqual(
			expect.objectContaining({ name: "waiting", why: "the server does not answer" }),
		);
	});

	test("frames that are no messages, and messages of unknown types, do no harm", async () => {
		const answer = connect().request("list_sessions");
		await settle();
		for (const text of ["{", "null", "7", "[]", '{"a":1}', '{"type":"new_thing"}', "\u0000"]) {
			server.latest.sayText(text);
		}
		server.latest.say({ type: "response", command: "list_sessions", success: true, id: "other" });
		server.latest.answer("list_sessions");
		expect((await answer).success).toBe(true);
	});

	test("asks for the lifecycle events it is to get on every connection", async () => {
		const frames: string[] = [];
		const { open } = server.transport;
		server.transport.open = async (listener) => {
			const wire = await open(listener);
			return { ...wire, send: (text) => frames.push(text) };
		};
		connect({ lifecycle: "own" });
		await settle();
		server.latest.end();
		await reconnect();
		const asked = frames.map((text) => JSON.parse(text));
		expect(asked).toEqual([
			{ type: "subscribe", lifecycle: "own", id: expect.any(String) },
			{ type: "subscribe", lifecycle: "own", id: expect.any(String) },
		]);
		expect(asked[0].id).not.toBe(asked[1].id);
	});

	test("asks for the events of traffic while there is a listener, also on the next connection", async () => {
		const frames: { type: string; traffic?: boolean }[] = [];
		const { open } = server.transport;
		server.transport.open = async (listener) => {
			const wire = await open(listener);
			return { ...wire, send: (text) => frames.push(JSON.parse(text)) };
		};
		connect();
		const heard: number[] = [];
		const asked = () => frames.splice(0).map(({ traffic }) => traffic);
		const stops = [1, 2].map((listener) =>
			client.onRequestBilled(({ request }) => heard.push(listener * request.id)),
		);
		await settle();
		expect(asked()).toEqual([true]);
		server.latest.end();
		await reconnect();
		expect(asked()).toEqual([true]);
		stops[0]?.();
		expect(asked()).toEqual([]);
		const tokens = { read: 0, write: 0, input: 0, output: 0 };
		const request = { id: 7, atMs: 0, model: "m", step: "next", ...tokens };
		server.latest.say({ type: "request_billed", data: { conversation: 1, request } });
		expect(heard).toEqual([14]);
		for (const stop of stops) stop();
		expect(asked()).toEqual([false]);
		client.onRequestBilled(() => {});
		expect(asked()).toEqual([true]);
	});

	test("a listener that throws keeps nobody else from hearing", async () => {
		const errors: unknown[] = [];
		const onError = (error: unknown) => errors.push(error);
		const before = process.listeners("uncaughtException");
		process.removeAllListeners("uncaughtException").on("uncaughtException", onError);
		connect().onEvent(() => {
			throw new Error("careless");
		});
		const heard: string[] = [];
		client.onEvent(({ type }) => heard.push(type));
		await settle();
		vi.useRealTimers();
		await new Promise((resolve) => setTimeout(resolve, 10));
		process.off("uncaughtException", onError);
		for (const listener of before) process.on("uncaughtException", listener);
		expect(heard).toEqual(["server_ready"]);
		expect(errors).toEqual([new Error("careless")]);
	});
});

describe("a subscription", () => {
	test("delivers what happens from now on, also what arrives before the server has said where the stream is", async () => {
		const frames = listen("s");
		await settle();
		expect(server.latest.sent[0]).toMatchObject({ type: "subscribe", sessionId: "s" });
		server.latest.say(event(4));
		server.latest.say(event(5));
		server.latest.answer("subscribe", { data: { seq: 4, lifecycle: "none" } });
		server.latest.say(event(6));
		await settle();
		expect(numbers(frames)).toEqual([5, 6]);
	});

	test("goes on after a lost connection where it broke off, under a new id, and skips what it had", async () => {
		const frames = listen("s", { after: 0 });
		await settle();
		server.latest.answer("subscribe", { data: { seq: 0, lifecycle: "none" } });
		for (const seq of [1, 2, 3]) server.latest.say(event(seq));
		const first = server.latest.sent[0];
		server.latest.end();
		await reconnect();
		expect(server.latest.sent).toEqual([
			{ type: "subscribe", sessionId: "s", after: 3, id: expect.any(String) },
		]);
		expect(server.latest.sent[0]?.id).not.toBe(first?.id);
		for (const seq of [2, 3, 4, 5]) server.latest.say(event(seq));
		server.latest.answer("subscribe", { data: { seq: 5, lifecycle: "none" } });
		await settle();
		expect(numbers(frames)).toEqual([1, 2, 3, 4, 5]);
	});

	test("hears of gaps, of holes that nobody announced, and not twice of what joined events stand for", async () => {
		const frames = listen("s", { after: 0 });
		await settle();
		server.latest.say(event(1));
		server.latest.say({ type: "gap", sessionId: "s", fromSeq: 1, toSeq: 3 });
		server.latest.say({ ...event(6), fromSeq: 4 });
		server.latest.say(event(5));
		server.latest.answer("subscribe", { data: { seq: 6, lifecycle: "none" } });
		await settle();
		server.latest.say(event(9));
		expect(numbers(frames)).toEqual([1, "2-3", 6, "7-8", 9]);
	});

	test("that begins in the past is not put off by what happens while it asks for it", async () => {
		const live = listen("s");
		await settle();
		server.latest.answer("subscribe", { data: { seq: 2, lifecycle: "none" } });
		await settle();
		const whole = listen("s", { after: 0 });
		await settle();
		// On its way before the server has read the question; what it sends behind it begins with what was asked for.
		server.latest.say(event(3));
		for (const seq of [1, 2, 3]) server.latest.say(event(seq));
		server.latest.answer("subscribe", { data: { seq: 3, lifecycle: "none" } });
		await settle();
		server.latest.say(event(4));
		expect([numbers(live), numbers(whole)]).toEqual([
			[3, 4],
			[1, 2, 3, 4],
		]);
	});

	test("shows a dialog that the server shows again, though it has no number", async () => {
		const frames = listen("s", { after: 7 });
		await settle();
		const { seq: _, ...dialog } = event(1);
		server.latest.say(dialog);
		expect(frames).toEqual([dialog]);
	});

	test("says so when the stream starts over, and delivers the new one from its beginning", async () => {
		const frames = listen("s", { after: 40 });
		await settle();
		server.latest.answer("subscribe", { data: { seq: 2, lifecycle: "none" } });
		await settle();
		expect(server.latest.sent.at(-1)).toMatchObject({ type: "subscribe", after: 0 });
		for (const seq of [1, 2, 3]) server.latest.say(event(seq));
		expect(numbers(frames)).toEqual(["restart", 1, 2, 3]);
	});

	test("says the same when the server does not know the number it goes on from", async () => {
		const frames = listen("s", { after: 40 });
		await settle();
		const error = '"after" is 40, but the last event of session "s" is 2';
		server.latest.answer("subscribe", { success: false, code: "not_found", error });
		await settle();
		expect(server.latest.sent.at(-1)).toMatchObject({ type: "subscribe", after: 0 });
		for (const seq of [1, 2]) server.latest.say(event(seq));
		expect(numbers(frames)).toEqual(["restart", 1, 2]);
	});

	test("says so only to those who are ahead of the server: others on the session see nothing of it", async () => {
		const fine = listen("s", { after: 0 });
		await settle();
		server.latest.answer("subscribe", { data: { seq: 2, lifecycle: "none" } });
		for (const seq of [1, 2]) server.latest.say(event(seq));
		const ahead = listen("s", { after: 99 });
		await settle();
		expect(server.latest.sent.at(-1)).toMatchObject({ type: "subscribe", after: 2 });
		server.latest.say(event(3)); // on its way before the server has read the question
		server.latest.answer("subscribe", { data: { seq: 2, lifecycle: "none" } });
		await settle();
		expect(server.latest.sent.at(-1)).toMatchObject({ type: "subscribe", after: 0 });
		server.latest.answer("subscribe", { data: { seq: 3, lifecycle: "none" } });
		for (const seq of [1, 2, 3, 4]) server.latest.say(event(seq));
		expect(numbers(fine)).toEqual([1, 2, 3, 4]);
		expect(numbers(ahead)).toEqual(["restart", 1, 2, 3, 4]);
	});

	test("that begins now is not told of a restart of others", async () => {
		const ahead = listen("s", { after: 99 });
		const fresh = listen("s");
		await settle();
		server.latest.answer("subscribe", { success: false, code: "not_found", error: "99" });
		await settle();
		server.latest.answer("subscribe", { data: { seq: 1, lifecycle: "none" } });
		await settle();
		for (const seq of [1, 2]) server.latest.say(event(seq));
		expect(numbers(ahead)).toEqual(["restart", 1, 2]);
		expect(numbers(fresh)).toEqual([2]);
	});

	test("shares the server's one subscription with others, each with a place of its own", async () => {
		const early = listen("s", { after: 2 });
		await settle();
		server.latest.answer("subscribe", { data: { seq: 3, lifecycle: "none" } });
		server.latest.say(event(3));
		const late = listen("s");
		await settle();
		expect(server.latest.sent.at(-1)).toMatchObject({ type: "subscribe", after: 3 });
		server.latest.say(event(4));
		server.latest.answer("subscribe", { data: { seq: 4, lifecycle: "none" } });
		await settle();
		server.latest.say(event(5));
		expect([numbers(early), numbers(late)]).toEqual([[3, 4, 5], [5]]);
	});

	test("ends without an error with its session, and with one when the session is unknown", async () => {
		const ended: unknown[] = [];
		connect().subscribe("s", () => undefined, { onEnd: (error) => ended.push(error?.code) });
		await settle();
		server.latest.say({ type: "session_deleted", data: { sessionId: "s" } });
		client.subscribe("t", () => undefined, { onEnd: (error) => ended.push(error?.code) });
		server.latest.answer("subscribe", { success: false, code: "unknown_session" });
		await settle();
		expect(ended).toEqual([undefined, "unknown_session"]);
		server.latest.end();
		await reconnect();
		expect(server.latest.sent).toEqual([]);
	});

	test("asks a busy server again", async () => {
		listen("s");
		await settle();
		server.latest.answer("subscribe", { success: false, code: "rate_limited" });
		await vi.advanceTimersByTimeAsync(1000);
		expect(server.latest.sent.map(({ type }) => type)).toEqual(["subscribe", "subscribe"]);
	});

	test("tells the server when the last one of a session is closed, and delivers no more", async () => {
		const frames: StreamFrame[] = [];
		const subscription = connect().subscribe("s", (frame) => frames.push(frame), { after: 0 });
		const other = client.subscribe("s", () => undefined, { after: 0 });
		await settle();
		subscription.close();
		expect(server.latest.sent.map(({ type }) => type)).not.toContain("unsubscribe");
		other.close();
		other.close();
		server.latest.say(event(1));
		expect(server.latest.sent.filter(({ type }) => type === "unsubscribe")).toHaveLength(1);
		expect(frames).toEqual([]);
	});

	test("of a closed client ends at once", async () => {
		connect().close();
		const code = await new Promise((resolve) => {
			client.subscribe("s", () => undefined, { onEnd: (error) => resolve(error?.code) });
		});
		expect(code).toBe("closed");
	});
});

describe("a stream", () => {
	test("is looped over until its session is gone", async () => {
		const stream = connect().stream("s", { after: 0 });
		await settle();
		server.latest.say(event(1));
		server.latest.say(event(2));
		server.latest.say({ type: "session_deleted", data: { sessionId: "s" } });
		expect(numbers(await all(stream))).toEqual([1, 2]);
	});

	test("wakes a loop that waits, and closes its subscription when the loop is left", async () => {
		const stream = connect().stream("s", { after: 0 });
		await settle();
		const next = stream.next();
		server.latest.say(event(1));
		expect((await next).value).toMatchObject({ seq: 1 });
		await stream.return?.();
		expect(server.latest.sent.at(-1)).toMatchObject({ type: "unsubscribe", sessionId: "s" });
		expect(await stream.next()).toEqual({ value: undefined, done: true });
	});

	test("ends with its signal", async () => {
		const controller = new AbortController();
		const frames = all(connect().stream("s", { signal: controller.signal }));
		await settle();
		controller.abort();
		expect(await frames).toEqual([]);
		expect(await all(client.stream("s", { signal: controller.signal }))).toEqual([]);
	});

	test("throws what ended it, after what came before", async () => {
		const stream = connect().stream("s", { after: 0 });
		await settle();
		server.latest.say(event(1));
		client.close();
		expect((await stream.next()).value).toMatchObject({ seq: 1 });
		await expect(stream.next()).rejects.toMatchObject({ code: "closed" });
		expect((await stream.next()).done).toBe(true);
	});

	test("keeps a bounded number of frames for a slow loop, and says which are gone", async () => {
		const stream = connect().stream("s", { after: 0, maxWaiting: 10 });
		await settle();
		for (let seq = 1; seq <= 25; seq++) server.latest.say(event(seq));
		server.latest.say({ type: "session_deleted", data: { sessionId: "s" } });
		const frames = numbers(await all(stream));
		expect(frames.length).toBeLessThanOrEqual(10);
		const [gap, ...rest] = frames;
		expect(gap).toBe(`1-${Number(rest[0]) - 1}`);
		expect(rest.at(-1)).toBe(25);
	});
});

function connect(options: Partial<ClientOptions> = {}): Client {
	client = createClient({ transport: server.transport, ...options });
	return client;
}

function listen(sessionId: string, options = {}): StreamFrame[] {
	const frames: StreamFrame[] = [];
	if (!client || client.state.name === "closed") connect();
	client.subscribe(sessionId, (frame) => frames.push(frame), options);
	return frames;
}

function statesOf({ onState }: Client): ClientState[] {
	const states: ClientState[] = [];
	onState((state) => states.push(state));
	return states;
}

/** Everything that needs no time has happened. */
async function settle(): Promise<void> {
	await vi.advanceTimersByTimeAsync(0);
}

async function reconnect(): Promise<void> {
	await vi.advanceTimersByTimeAsync(500);
}

async function all(stream: AsyncIterable<StreamFrame>): Promise<StreamFrame[]> {
	const frames: StreamFrame[] = [];
	for await (const frame of stream) frames.push(frame);
	return frames;
}

function event(seq: number): Data<"SessionEventFrame"> {
	return { type: "event", sessionId: "s", seq, event: { type: "turn_start" } };
}

/** Numbers of events, spans of gaps. */
function numbers(frames: StreamFrame[]): (number | string | undefined)[] {
	return frames.map((frame) => {
		if (frame.type === "gap") return `${frame.fromSeq}-${frame.toSeq}`;
		return frame.type === "restart" ? "restart" : frame.seq;
	});
}
