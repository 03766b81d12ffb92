import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createMemoryJournal } from "../../support/memory-journal.ts";
import {
	createHarness,
	nameSession as name,
	phases,
	response,
	settled,
	trace,
	withSession,
} from "./harness.ts";

describe("the journal", () => {
	test("a change runs only once the disk knows of it, and is answered only once its outcome is there", async () => {
		const journal = createMemoryJournal();
		const { harness, client } = await withSession({ journal });
		journal.mode = "manual";
		await harness.send(client, name("a"));
		expect(harness.calls).toEqual([]);
		expect(trace(client)).toEqual(["accepted a"]);
		journal.commit();
		await settled();
		expect(harness.calls).toEqual(["set_session_name"]);
		expect(trace(client)).toEqual(["accepted a", "started a"]);
		journal.commit();
		await settled();
		expect(trace(client)).toEqual(["accepted a", "started a", "finished a", "response a"]);
	});

	test("a read does not wait for the disk", async () => {
		const journal = createMemoryJournal();
		const { harness, client } = await withSession({ journal });
		journal.mode = "manual";
		await harness.send(client, { type: "get_state", sessionId: "s", id: "a" });
		expect(response(client, "a").success).toBe(true);
		expect(journal.written.at(-1)).toMatchObject({ kind: "note", command: { id: "a" } });
	});

	test("a pipeline of changes takes two commits", async () => {
		const journal = createMemoryJournal();
		const { harness, client } = await withSession({ journal });
		journal.mode = "manual";
		const ids = Array.from({ length: 64 }, (_, index) => `n${index}`);
		await harness.send(client, ...ids.map((id) => name(id)));
		journal.commit();
		await settled();
		journal.commit();
		await settled();
		expect(ids.map((id) => response(client, id).sessionVersion)).toEqual(
			ids.map((_, index) => index + 1),
		);
	});

	test("what refuses the disk refuses changes without starting them, reads go on, and later the change may be sent again", async () => {
		const { harness, client } = await withSession();
		harness.journal.break("the disk is full");
		await harness.send(client, name("a"), { type: "get_state", sessionId: "s", id: "b" });
		expect(phases(client, "a")).toEqual(["accepted", "finished", "response"]);
		expect(response(client, "a")).toMatchObject({
			code: "journal_unavailable",
			error: expect.stringContaining("the disk is full"),
		});
		expect(response(client, "b").success).toBe(true);
		harness.journal.mend();
		client.frames.length = 0;
		await harness.send(client, name("a"));
		expect(response(client, "a")).toMatchObject({ success: true, sessionVersion: 1 });
	});

	test("a disk that refuses between admission and start keeps the command from running", async () => {
		const journal = createMemoryJournal();
		const { harness, client } = await withSession({ journal });
		const other = harness.client();
		journal.mode = "manual";
		await harness.send(client, name("a"));
		await harness.send(other, name("a"));
		journal.break("the disk is full");
		await settled();
		expect(phases(client, "a").filter((phase) => phase === "started")).toEqual([]);
		for (const each of [client, other]) {
			expect(response(each, "a").code).toBe("journal_unavailable");
		}
		expect(harness.calls).toEqual([]);
		expect(harness.engine.counters()).toMatchObject({ pending: 0, lanes: 0 });
	});

	test("a disk that refuses the outcome of a change turns it into a failure that says so, until the outcome is on disk", async () => {
		const journal = createMemoryJournal();
		const { harness, client } = await withSession({ journal });
		journal.mode = "manual";
		await harness.send(client, name("a"));
		journal.commit();
		await settled();
		journal.break("the disk is full");
		await settled();
		const lost = { success: false, code: "not_durable" };
		expect(response(client, "a")).toMatchObject(lost);
		expect(harness.engine.version("ann", "s")).toBe(1);
		client.frames.length = 0;
		await harness.send(client, name("a"), { ...name("b"), name: "a", idempotencyKey: "k" });
		expect(response(client, "a")).toMatchObject({ ...lost, replayed: true });
		expect(response(client, "b").code).toBe("journal_unavailable");
		journal.mode = "at-once";
		journal.mend();
		client.frames.length = 0;
		await harness.send(client, name("a"));
		expect(response(client, "a")).toMatchObject({
			success: true,
			sessionVersion: 1,
			replayed: true,
		});
		expect(harness.calls).toEqual(["set_session_name"]);
	});

	test("a failure that the disk refuses is not final: repetitions get it from when it is on disk", async () => {
		const journal = createMemoryJournal();
		const { harness, client } = await withSession({ journal });
		harness.hold("set_session_name");
		await harness.send(client, name("a"));
		journal.break("the disk is full");
		await harness.held[0]?.fail(new Error("no such name"));
		await settled();
		expect(response(client, "a")).toMatchObject({
			success: false,
			code: "not_durable",
			error: expect.stringMatching(/^The command failed, but/),
		});
		client.frames.length = 0;
		await harness.send(client, name("a"));
		expect(response(client, "a")).toMatchObject({ code: "not_durable", replayed: true });
		journal.mend();
		await settled();
		client.frames.length = 0;
		await harness.send(client, name("a"));
		expect(response(client, "a")).toMatchObject({ code: "failed", replayed: true });
		expect(harness.calls).toEqual(["set_session_name"]);
	});

	test("a change whose own effect may be lost is not_durable for good, and raises the version", async () => {
		const { harness, client } = await withSession();
		harness.on("set_session_name", async () => ({ data: {}, notDurable: "it may be lost" }));
		await harness.send(client, name("a"));
		const lost = {
			success: false,
			code: "not_durable",
			error: "it may be lost",
			sessionVersion: 1,
		};
		expect(response(client, "a")).toMatchObject(lost);
		expect(response(client, "a")).not.toHaveProperty("data");
		const restarted = createHarness({ journal: harness.journal.reopen() });
		expect(restarted.engine.version("ann", "s")).toBe(1);
		const again = restarted.client();
		await restarted.send(again, name("a"));
		expect(response(again, "a")).toMatchObject({ ...lost, replayed: true });
		expect(restarted.calls).toEqual([]);
	});

	test("who joined a change, and who repeats it by its key, hears of the same failure", async () => {
		const journal = createMemoryJournal();
		const { harness, client } = await withSession({ journal });
		journal.mode = "manual";
		const keyed = (id: string) => ({ ...name(id), name: "x", idempotencyKey: "k" });
		await harness.send(client, keyed("a"), keyed("b"));
		journal.commit();
		await settled();
		journal.break("the disk is full");
		await settled();
		await harness.send(client, keyed("c"));
		for (const id of ["a", "b", "c"]) expect(response(client, id).code).toBe("not_durable");
		journal.mode = "at-once";
		journal.mend();
		await harness.send(client, keyed("d"));
		expect(response(client, "d")).toMatchObject({ success: true, replayed: true });
		expect(harness.calls).toEqual(["set_session_name"]);
	});

	test("a change whose outcome never reached the disk is interrupted for the next process", async () => {
		const journal = createMemoryJournal();
		const { harness, client } = await withSession({ journal });
		journal.mode = "manual";
		await harness.send(client, name("a"));
		journal.commit();
		await settled();
		journal.break("the disk is full");
		await settled();
		const restarted = createHarness({ journal: journal.reopen() });
		const again = restarted.client();
		await restarted.send(again, name("a"));
		expect(response(again, "a")).toMatchObject({ code: "interrupted", replayed: true });
		expect(restarted.calls).toEqual([]);
	});

	test("where ids cannot be looked up, changes are refused and reads go on", async () => {
		const { harness, client } = await withSession();
		harness.journal.unreadable = true;
		await harness.send(
			client,
			name("a"),
			{ type: "get_state", sessionId: "s", id: "b" },
			{ type: "get_state", sessionId: "s", dependsOn: ["long ago"], id: "c" },
		);
		expect(response(client, "a").code).toBe("journal_unavailable");
		expect(response(client, "b").success).toBe(true);
		expect(response(client, "c").code).toBe("dependency_unknown");
	});
});

describe("after a crash", () => {
	test("outcomes, versions and sessions are there; interrupted ids replay their failure and are not run again", async () => {
		const journal = createMemoryJournal();
		const { harness, client } = await withSession({ journal });
		await harness.send(client, name("a"));
		harness.hold("bash");
		const bash = { type: "bash", sessionId: "s", command: "x", id: "b", idempotencyKey: "k" };
		await harness.send(client, bash);
		const restarted = createHarness({ journal: journal.reopen() });
		const again = restarted.client();
		await restarted.send(
			again,
			name("a"),
			bash,
			{ ...bash, id: "c" },
			name("d", { ifSessionVersion: 1 }),
		);
		expect(response(again, "a")).toMatchObject({ sessionVersion: 1, replayed: true });
		expect(response(again, "b")).toMatchObject({ code: "interrupted", replayed: true });
		expect(response(again, "c")).toMatchObject({ code: "interrupted", replayed: true });
		expect(response(again, "d")).toMatchObject({ success: true, sessionVersion: 2 });
		expect(restarted.calls).toEqual(["set_session_name"]);
	});

	test("a change whose admission was lost never ran, and runs when it is sent again", async () => {
		const journal = createMemoryJournal();
		const { harness, client } = await withSession({ journal });
		journal.mode = "manual";
		await harness.send(client, name("a"));
		expect(harness.calls).toEqual([]);
		const restarted = createHarness({ journal: journal.reopen() });
		restarted.journal.mode = "at-once";
		const again = restarted.client();
		await restarted.send(again, name("a"));
		expect(response(again, "a")).toMatchObject({ success: true, sessionVersion: 1 });
		expect(response(again, "a")).not.toHaveProperty("replayed");
	});
});

test("a session that another server took while it was deleted here is lost, not deleted", async () => {
	const journal = createMemoryJournal();
	const { harness, client } = await withSession({ journal });
	journal.mode = "manual";
	await harness.send(client, { type: "delete_session", sessionId: "s", id: "d" });
	journal.commit();
	await settled();
	expect(harness.calls).toEqual(["delete_session"]);
	harness.engine.lose([{ principal: client.principal, sessionId: "s" }]);
	journal.break("fenced off");
	await settled();
	expect(response(client, "d")).toMatchObject({ success: false, code: "busy" });
});

test("a server that cannot confirm its lease begins no read of a session", async () => {
	let isValid = true;
	const { harness, client } = await withSession({ mayAnswer: () => isValid });
	const read = (id: string) => harness.send(client, { type: "get_state", sessionId: "s", id });
	await read("before");
	isValid = false;
	await read("while");
	isValid = true;
	await read("after");
	const codes = ["before", "while", "after"].map((id) => response(client, id)?.code);
	expect(codes).toEqual([undefined, "journal_unavailable", undefined]);
	expect(harness.calls.filter((type) => type === "get_state")).toHaveLength(2);
});

test("a command whose session moved goes back to where it came from, and gets no response", async () => {
	const { harness, client } = await withSession();
	const { engine } = harness;
	harness.on("bash", () => new Promise(() => {}));
	const moved: string[] = [];
	const send = (id: string) =>
		engine.receive(client, JSON.stringify({ type: "bash", sessionId: "s", command: "x", id }), {
			moved: (why) => void moved.push(`${id} ${why}`),
		});
	send("one");
	send("two");
	await settled();
	engine.lose([{ principal: client.principal, sessionId: "s" }]);
	await settled();
	expect(moved).toEqual(["one elsewhere", "two elsewhere"]);
	expect(client.frames.filter(({ type }) => type === "response")).toEqual([]);
});

describe("shutdown", () => {
	beforeEach(() => {
		vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
	});
	afterEach(() => vi.useRealTimers());

	test("§7.1 everybody is told, new commands are refused without lifecycle, and running ones may end", async () => {
		const { harness, client } = await withSession();
		const other = harness.client("bob");
		harness.hold("bash");
		await harness.send(client, { type: "bash", sessionId: "s", command: "x", id: "a" }, name("b"));
		let over = false;
		const shutdown = harness.engine.shutdown("SIGTERM", 5_000).then(() => {
			over = true;
		});
		await harness.send(other, { type: "list_sessions", id: "c" });
		const told = { type: "server_shutdown", data: { reason: "SIGTERM", timeoutMs: 5_000 } };
		expect(client.frames).toContainEqual(told);
		expect(other.frames).toContainEqual(told);
		expect(phases(other, "c")).toEqual(["response"]);
		expect(response(other, "c").code).toBe("shutting_down");
		expect(over).toBe(false);
		await harness.held[0]?.finish();
		await shutdown;
		expect(response(client, "a").success).toBe(true);
		expect(response(client, "b").success).toBe(true);
	});

	test("what does not end in time is aborted and ends as interrupted; what waits never begins", async () => {
		const { harness, client } = await withSession();
		harness.hold("bash");
		await harness.send(
			client,
			{ type: "bash", sessionId: "s", command: "x", id: "a" },
			name("b"),
			name("c"),
			{ type: "list_sessions", dependsOn: ["a"], id: "d" },
		);
		const shutdown = harness.engine.shutdown("SIGTERM", 1_500);
		await vi.advanceTimersByTimeAsync(1_500);
		await shutdown;
		expect(harness.held[0]?.call.signal.aborted).toBe(true);
		for (const id of ["a", "b", "c", "d"]) expect(response(client, id).code).toBe("interrupted");
		expect(harness.calls).toEqual(["bash"]);
		await vi.advanceTimersByTimeAsync(500);
		expect(harness.engine.counters()).toMatchObject({ pending: 0, lanes: 0 });
		expect(vi.getTimerCount()).toBe(0);
		const restarted = createHarness({ journal: harness.journal.reopen() });
		const again = restarted.client();
		await restarted.send(again, name("b"));
		expect(response(again, "b")).toMatchObject({ code: "interrupted", replayed: true });
	});

	test("a command that still waits for the journal's answer is refused, and does not keep the server", async () => {
		const { harness, client } = await withSession();
		const answer = Promise.withResolvers<undefined[]>();
		harness.journal.find = () => answer.promise as never;
		await harness.send(client, name("late"));
		let over = false;
		const shutdown = harness.engine.shutdown("SIGTERM", 1_500).then(() => {
			over = true;
		});
		await vi.advanceTimersByTimeAsync(1_500);
		expect(over).toBe(false);
		answer.resolve([undefined]);
		await settled();
		expect(response(client, "late").code).toBe("shutting_down");
		expect(over).toBe(true);
		await shutdown;
		expect(vi.getTimerCount()).toBe(0);
	});

	test("a server with nothing to do stops at once", async () => {
		const { harness } = await withSession();
		await harness.engine.shutdown("SIGTERM", 5_000);
		expect(vi.getTimerCount()).toBe(0);
	});
});
