import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { CommandError } from "../../../src/server/engine/call.ts";
import { createMemoryJournal } from "../../support/memory-journal.ts";
import {
	createHarness,
	type Frame,
	finished,
	phases,
	response,
	settled,
	type TestClient,
	withSession,
} from "./harness.ts";

const list = (more = {}) => ({ type: "list_sessions", ...more });

function responses(client: TestClient): Frame[] {
	return client.frames.filter(({ type }) => type === "response");
}

describe("a repetition by id", () => {
	test("§7.4 a replay hit emits accepted and finished with replayed, and no started", async () => {
		const harness = createHarness();
		const client = harness.client();
		await harness.send(client, list({ id: "a" }));
		client.frames.length = 0;
		await harness.send(client, list({ id: "a" }));
		expect(phases(client, "a")).toEqual(["accepted", "finished", "response"]);
		expect(finished(client, "a")).toMatchObject({ success: true, replayed: true });
		expect(harness.calls).toHaveLength(1);
	});

	test("§8.1 the same id with the same content gets the same outcome, failures included", async () => {
		const harness = createHarness();
		const client = harness.client();
		let times = 0;
		harness.on("list_sessions", async () => {
			throw new Error(`failure ${++times}`);
		});
		await harness.send(client, list({ id: "a" }));
		await harness.send(client, list({ id: "a" }));
		const [first, second] = responses(client);
		expect(second).toEqual({ ...first, replayed: true });
	});

	test("§8.1 the same id with other content is a conflict, accepted and finished but not started, and changes nothing", async () => {
		const { harness, client } = await withSession();
		const name = { type: "set_session_name", sessionId: "s", id: "a" };
		await harness.send(client, { ...name, name: "one" });
		client.frames.length = 0;
		await harness.send(client, { ...name, name: "two" });
		expect(phases(client, "a")).toEqual(["accepted", "finished", "response"]);
		expect(response(client, "a")).toMatchObject({ success: false, code: "id_conflict" });
		client.frames.length = 0;
		await harness.send(client, { ...name, name: "one" });
		expect(response(client, "a")).toMatchObject({ success: true, replayed: true });
		expect(harness.engine.version("ann", "s")).toBe(1);
	});

	test("§8.3 the order of keys and the key itself do not matter; any field does, also an unknown one", async () => {
		const { harness, client } = await withSession();
		await harness.send(client, { type: "get_state", sessionId: "s", id: "a" });
		client.frames.length = 0;
		await harness.send(client, { id: "a", idempotencyKey: "k", sessionId: "s", type: "get_state" });
		expect(response(client, "a")).toMatchObject({ replayed: true });
		for (const more of [{ extra: 1 }, { dependsOn: [] }, { ifSessionVersion: 0 }]) {
			client.frames.length = 0;
			await harness.send(client, { type: "get_state", sessionId: "s", id: "a", ...more });
			expect(response(client, "a").code).toBe("id_conflict");
		}
	});

	test("ids belong to a principal: another one's outcome is never replayed", async () => {
		const harness = createHarness();
		const [ann, bob] = [harness.client("ann"), harness.client("bob")];
		harness.on("list_sessions", async ({ principal }) => ({ data: principal }));
		await harness.send(ann, list({ id: "a", idempotencyKey: "k" }));
		await harness.send(bob, list({ id: "a", idempotencyKey: "k" }));
		expect(response(bob, "a")).toMatchObject({ data: "bob" });
		expect(response(bob, "a")).not.toHaveProperty("replayed");
	});

	test("what the data of an outcome turns into later does not change the outcome", async () => {
		const harness = createHarness();
		const client = harness.client();
		const data = { count: 1 };
		harness.on("list_sessions", async () => ({ data }));
		await harness.send(client, list({ id: "a" }));
		data.count = 2;
		await harness.send(client, list({ id: "a" }));
		expect(responses(client).map((frame) => frame.data)).toEqual([{ count: 1 }, { count: 1 }]);
	});

	test("an outcome that memory had to forget comes from the journal; a change is never made twice", async () => {
		const { harness, client } = await withSession({ memory: { names: 2, characters: 1e6 } });
		const names = Array.from({ length: 10 }, (_, index) => ({
			type: "set_session_name",
			sessionId: "s",
			name: "x",
			id: `n${index}`,
			idempotencyKey: `k${index}`,
		}));
		await harness.send(client, ...names);
		const before = responses(client);
		client.frames.length = 0;
		await harness.send(client, ...names);
		expect(responses(client)).toEqual(before.map((frame) => ({ ...frame, replayed: true })));
		expect(harness.calls).toHaveLength(10);
	});

	test("memory is bounded by size too", async () => {
		const journal = createMemoryJournal();
		const harness = createHarness({ journal, memory: { names: 1_000, characters: 5_000 } });
		const client = harness.client();
		harness.on("list_sessions", async () => ({ data: "x".repeat(4_000) }));
		await harness.send(client, list({ id: "a" }), list({ id: "b" }));
		client.frames.length = 0;
		const byId = vi.spyOn(journal, "byId");
		await harness.send(client, list({ id: "a" }), list({ id: "b" }));
		expect(byId.mock.calls.map(([, id]) => id)).toEqual(["a"]);
		expect(responses(client).map(({ replayed }) => replayed)).toEqual([true, true]);
	});
});

describe("a repetition while the first is in flight", () => {
	test("by id: accepted at once, no second start, and the same outcome with replayed", async () => {
		const harness = createHarness();
		const [client, other] = [harness.client(), harness.client()];
		harness.hold("list_sessions");
		await harness.send(client, list({ id: "a" }));
		await harness.send(other, list({ id: "a" }));
		expect(phases(other, "a")).toEqual(["accepted", "started", "accepted"]);
		await harness.held[0]?.finish({ data: 7 });
		expect(response(client, "a")).not.toHaveProperty("replayed");
		expect(response(other, "a")).toMatchObject({ data: 7, replayed: true });
		expect(phases(other, "a").slice(3)).toEqual(["finished", "finished", "response"]);
		expect(harness.calls).toHaveLength(1);
	});

	test("by key: another id joins, is answered under its own id, and is known from then on", async () => {
		const { harness, client } = await withSession();
		harness.hold("set_session_name");
		const name = { type: "set_session_name", sessionId: "s", name: "x", idempotencyKey: "k" };
		await harness.send(client, { ...name, id: "a" }, { ...name, id: "b" });
		await harness.send(
			client,
			{ ...name, id: "b" },
			{ type: "get_messages", sessionId: "s", id: "c", dependsOn: ["b"] },
		);
		expect(phases(client, "c")).toEqual(["accepted"]);
		await harness.held[0]?.finish({ data: 1 });
		expect(responses(client).map(({ id, replayed }) => [id, replayed])).toEqual([
			["a", undefined],
			["b", true],
			["b", true],
			["c", undefined],
		]);
		expect(harness.engine.version("ann", "s")).toBe(1);
		expect(harness.journal.byId("ann", "b")).toMatchObject({ response: { success: true } });
	});

	test("other content under the id or the key of a command under way is a conflict at once", async () => {
		const { harness, client } = await withSession();
		harness.hold("bash");
		const bash = { type: "bash", sessionId: "s", command: "one" };
		await harness.send(client, { ...bash, id: "a", idempotencyKey: "k" });
		await harness.send(client, { ...bash, command: "two", id: "a" });
		await harness.send(client, { ...bash, command: "two", id: "b", idempotencyKey: "k" });
		expect(response(client, "a").code).toBe("id_conflict");
		expect(response(client, "b").code).toBe("key_conflict");
	});

	test("who joins waits for the disk as the first one does", async () => {
		const journal = createMemoryJournal();
		const { harness, client } = await withSession({ journal });
		journal.mode = "manual";
		const name = { type: "set_session_name", sessionId: "s", name: "x", idempotencyKey: "k" };
		await harness.send(client, { ...name, id: "a" }, { ...name, id: "b" });
		journal.commit();
		await settled();
		expect(responses(client)).toEqual([]);
		journal.commit();
		await settled();
		expect(responses(client).map(({ id }) => id)).toEqual(["a"]);
		journal.commit();
		await settled();
		expect(responses(client).map(({ id }) => id)).toEqual(["a", "b"]);
	});
});

describe("a repetition by key", () => {
	beforeEach(() => vi.useFakeTimers({ toFake: ["Date"] }));
	afterEach(() => vi.useRealTimers());

	test("§8.2 the same key with the same content replays, within its life and not after", async () => {
		const { harness, client } = await withSession();
		const name = { type: "set_session_name", sessionId: "s", name: "x", idempotencyKey: "k" };
		await harness.send(client, name);
		vi.advanceTimersByTime(599_999);
		await harness.send(client, name);
		expect(harness.engine.version("ann", "s")).toBe(1);
		vi.advanceTimersByTime(1);
		await harness.send(client, name);
		expect(harness.engine.version("ann", "s")).toBe(2);
		expect(responses(client).map(({ replayed }) => replayed)).toEqual([undefined, true, undefined]);
	});

	test("§8.2 a key is scoped by session; server commands share a scope of their own", async () => {
		const { harness, client } = await withSession();
		const key = { idempotencyKey: "k" };
		await harness.send(
			client,
			{ type: "create_session", sessionId: "t", ...key },
			{ type: "set_session_name", sessionId: "s", name: "x", ...key },
			{ type: "set_session_name", sessionId: "t", name: "x", ...key },
			{ type: "create_session", sessionId: "u", ...key },
		);
		expect(responses(client).map(({ code }) => code)).toContain("key_conflict");
		expect(responses(client).filter(({ success }) => success)).toHaveLength(3);
		expect(harness.engine.version("ann", "u")).toBeUndefined();
	});

	test("a session that takes the id of a deleted one does not know its keys, also after a restart", async () => {
		const { harness, client } = await withSession();
		const { send, journal, engine } = harness;
		const name = { type: "set_session_name", sessionId: "s", name: "x", idempotencyKey: "k" };
		const remove = { type: "delete_session", id: "d", sessionId: "s", idempotencyKey: "k" };
		await send(client, name, remove);
		// Sent in one burst, its commands are those of the new one.
		await send(client, { type: "create_session", sessionId: "s" }, { ...name, id: "new" });
		expect(response(client, "new")).not.toHaveProperty("replayed");
		expect(engine.version("ann", "s")).toBe(1);
		await send(client, { ...name, id: "again" }, { ...remove, id: "e" });
		expect(response(client, "again")).toMatchObject({ replayed: true, sessionVersion: 1 });
		expect(response(client, "e")).toMatchObject({ replayed: true, success: true });
		const next = createHarness({ journal: journal.reopen() });
		const late = next.client();
		await next.send(late, { ...name, id: "later" }, { ...remove, id: "f" });
		expect(response(late, "later")).toMatchObject({ replayed: true, sessionVersion: 1 });
		expect(response(late, "f")).toMatchObject({ replayed: true, success: true });
		await next.send(late, { type: "delete_session", sessionId: "s" });
		await next.send(late, { type: "create_session", sessionId: "s" }, { ...name, id: "latest" });
		expect(response(late, "latest")).not.toHaveProperty("replayed");
	});

	test("§8.2 the same key with other content is a conflict", async () => {
		const { harness, client } = await withSession();
		const name = { type: "set_session_name", sessionId: "s", idempotencyKey: "k" };
		await harness.send(client, { ...name, name: "x" });
		await harness.send(client, { ...name, name: "y", id: "b" });
		expect(response(client, "b")).toMatchObject({ success: false, code: "key_conflict" });
	});

	test("§5.1 a replay without an id has none, and one with a new id has that", async () => {
		const harness = createHarness();
		const client = harness.client();
		await harness.send(client, list({ id: "a", idempotencyKey: "k" }));
		await harness.send(client, list({ idempotencyKey: "k" }));
		await harness.send(client, list({ id: "b", idempotencyKey: "k" }));
		expect(responses(client).map(({ id }) => id)).toEqual(["a", undefined, "b"]);
	});

	test("a conflict of either name wins over a hit of the other", async () => {
		const { harness, client } = await withSession();
		const name = (more: object) => ({ type: "set_session_name", sessionId: "s", ...more });
		await harness.send(client, name({ name: "x", id: "a", idempotencyKey: "k" }));
		await harness.send(client, name({ name: "y", id: "b", idempotencyKey: "l" }));
		client.frames.length = 0;
		await harness.send(client, name({ name: "x", id: "a", idempotencyKey: "l" }));
		await harness.send(client, name({ name: "x", id: "b", idempotencyKey: "k" }));
		expect(responses(client).map(({ code }) => code)).toEqual(["key_conflict", "id_conflict"]);
	});

	test("an id answered through a key is replayed by id when the key is long gone, also after a restart", async () => {
		const { harness, client } = await withSession();
		const name = { type: "set_session_name", sessionId: "s", name: "x", idempotencyKey: "k" };
		await harness.send(client, { ...name, id: "a" });
		await harness.send(client, { ...name, id: "b" });
		vi.advanceTimersByTime(700_000);
		const restarted = createHarness({ journal: harness.journal.reopen() });
		const again = restarted.client();
		await restarted.send(again, { ...name, id: "b" });
		expect(response(again, "b")).toMatchObject({ success: true, replayed: true });
		expect(restarted.engine.version("ann", "s")).toBe(1);
	});

	test("a key that came with a repeated id stands for that command from then on", async () => {
		const { harness, client } = await withSession();
		const name = { type: "set_session_name", sessionId: "s", name: "x" };
		await harness.send(client, { ...name, id: "a" });
		await harness.send(client, { ...name, id: "a", idempotencyKey: "k" });
		const restarted = createHarness({ journal: harness.journal.reopen() });
		for (const { engine, send, client: connect } of [harness, restarted]) {
			const later = connect();
			await send(later, { ...name, id: "z", idempotencyKey: "k" });
			expect(response(later, "z")).toMatchObject({ replayed: true });
			expect(engine.version("ann", "s")).toBe(1);
		}
	});
});

describe("an answer to a read that is too long to keep", () => {
	const messages = (more = {}) => ({ type: "get_messages", sessionId: "s", ...more });

	/** A session whose messages are long, and change when they are told to. */
	async function withMessages(options: Parameters<typeof withSession>[0] = {}) {
		const started = await withSession(options);
		const text = { now: "x".repeat(10_000) };
		started.harness.on("get_messages", async () => ({ data: text.now }));
		return { ...started, text };
	}

	test("is read again for a repetition, and is answered again where it is the same", async () => {
		const { harness, client } = await withMessages();
		await harness.send(client, messages({ id: "a", idempotencyKey: "k" }));
		await harness.send(client, messages({ id: "a" }));
		await harness.send(client, messages({ idempotencyKey: "k", id: "b" }));
		const [first, ...others] = responses(client);
		expect(first?.data).toHaveLength(10_000);
		expect(others).toEqual([
			{ ...first, replayed: true },
			{ ...first, id: "b", replayed: true },
		]);
		expect(phases(client, "b")).toEqual(["accepted", "finished", "response"]);
		expect(harness.engine.counters()).toMatchObject({ replayed: 2, pending: 0 });
		const restarted = createHarness({ journal: harness.journal.reopen() });
		restarted.on("get_messages", async () => ({ data: "x".repeat(10_000) }));
		const again = restarted.client();
		await restarted.send(again, messages({ id: "a" }), messages({ id: "b" }));
		expect(responses(again)).toEqual([
			{ ...first, replayed: true },
			{ ...first, id: "b", replayed: true },
		]);
	});

	test("is gone once the session gives another one, and never another one under the old id", async () => {
		const { harness, client, text } = await withMessages();
		await harness.send(client, messages({ id: "a", idempotencyKey: "k" }));
		const [first] = responses(client);
		text.now = "y".repeat(10_000);
		client.frames.length = 0;
		await harness.send(client, messages({ id: "a" }), messages({ id: "b", idempotencyKey: "k" }));
		for (const id of ["a", "b"]) {
			expect(phases(client, id)).toEqual(["accepted", "finished", "response"]);
			expect(response(client, id)).toMatchObject({ success: false, code: "answer_gone" });
			expect(response(client, id)).not.toHaveProperty("data");
		}
		text.now = "x".repeat(10_000);
		client.frames.length = 0;
		// The id stands for its first answer. The other one was never answered, and may be used again.
		await harness.send(client, messages({ id: "a" }), messages({ id: "b", limit: 1 }));
		expect(response(client, "a")).toEqual({ ...first, replayed: true });
		expect(response(client, "b")).toMatchObject({ success: true });
	});

	test.each([
		["fails", async () => Promise.reject(new Error("no"))],
		["is short by now", async () => ({ data: "short" })],
	])("is gone when reading again %s", async (_, handler) => {
		const { harness, client } = await withMessages();
		await harness.send(client, messages({ id: "a" }));
		harness.on("get_messages", handler);
		client.frames.length = 0;
		await harness.send(client, messages({ id: "a" }));
		expect(response(client, "a")).toMatchObject({ success: false, code: "answer_gone" });
	});

	test("is gone with its session, and with the version that it has", async () => {
		const { harness, client } = await withMessages();
		await harness.send(client, messages({ id: "a" }), messages({ id: "b" }));
		await harness.send(client, { type: "set_session_name", sessionId: "s", name: "x" });
		client.frames.length = 0;
		await harness.send(client, messages({ id: "a" }));
		expect(response(client, "a").code).toBe("answer_gone");
		await harness.send(client, { type: "delete_session", sessionId: "s" });
		await harness.send(client, messages({ id: "b" }));
		expect(response(client, "b").code).toBe("answer_gone");
	});

	test("is the first one's answer for who asks while that is under way, and the second one's while it is read again", async () => {
		const { harness, client } = await withMessages();
		const other = harness.client();
		harness.hold("get_messages");
		const data = "x".repeat(10_000);
		await harness.send(client, messages({ id: "a" }));
		await harness.send(other, messages({ id: "a" }));
		await harness.held[0]?.finish({ data });
		expect(response(other, "a")).toMatchObject({ data, replayed: true });
		for (const each of [client, other]) each.frames.length = 0;
		await harness.send(client, messages({ id: "a" }));
		await harness.send(other, messages({ id: "a" }));
		expect(harness.calls).toHaveLength(2);
		await harness.held[1]?.finish({ data });
		for (const each of [client, other]) {
			expect(response(each, "a")).toMatchObject({ data, replayed: true });
		}
	});

	test("is not waited for by a repetition whose dependency is long forgotten, but other content is a conflict", async () => {
		const { harness, client } = await withMessages();
		await harness.send(client, list({ id: "first" }), messages({ id: "a", dependsOn: ["first"] }));
		client.frames.length = 0;
		const records = harness.journal.written.filter(
			({ kind, ...record }) => kind === "note" && "command" in record && record.command.id === "a",
		);
		const created = harness.journal.written.slice(0, 2);
		const restarted = createHarness({
			journal: createMemoryJournal({ records: [...created, ...records] }),
		});
		restarted.on("get_messages", async () => ({ data: "x".repeat(10_000) }));
		const again = restarted.client();
		await restarted.send(again, messages({ id: "a", dependsOn: ["first"] }));
		expect(response(again, "a")).toMatchObject({ success: true, replayed: true });
		again.frames.length = 0;
		await restarted.send(again, messages({ id: "a" }));
		expect(response(again, "a").code).toBe("id_conflict");
	});

	test("that is gone is still a success for those who depend on it", async () => {
		const { harness, client } = await withMessages();
		await harness.send(client, messages({ id: "a" }));
		harness.hold("get_messages");
		client.frames.length = 0;
		await harness.send(client, messages({ id: "a" }), list({ id: "b", dependsOn: ["a"] }));
		await harness.held[0]?.finish({ data: "another one" });
		expect(response(client, "a").code).toBe("answer_gone");
		expect(response(client, "b").success).toBe(true);
	});

	test("takes hardly any room, in memory and in the journal; a failure is kept as it is", async () => {
		const journal = createMemoryJournal();
		const memory = { names: 1_000, characters: 2_000 };
		const { harness, client } = await withMessages({ journal, memory });
		const ids = ["a", "b", "c", "d"];
		await harness.send(client, ...ids.map((id) => messages({ id })));
		expect(JSON.stringify(journal.written).length).toBeLessThan(5_000);
		client.frames.length = 0;
		const byId = vi.spyOn(journal, "byId");
		await harness.send(client, ...ids.map((id) => messages({ id })));
		expect(byId).not.toHaveBeenCalled();
		const error = "e".repeat(5_000);
		harness.on("get_messages", async () => Promise.reject(new CommandError("failed", error)));
		await harness.send(client, messages({ id: "e" }));
		harness.on("get_messages", async () => ({}));
		client.frames.length = 0;
		await harness.send(client, messages({ id: "e" }));
		expect(response(client, "e")).toMatchObject({ error, replayed: true });
	});
});
