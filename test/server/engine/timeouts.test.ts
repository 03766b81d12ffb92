import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createMemoryJournal } from "../../support/memory-journal.ts";
import {
	createHarness,
	finished,
	nameSession as name,
	phases,
	response,
	settled,
	trace,
	withSession,
} from "./harness.ts";

async function pass(ms: number): Promise<void> {
	await vi.advanceTimersByTimeAsync(ms);
	await settled();
}

describe("timeouts", () => {
	beforeEach(() => {
		vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
	});
	afterEach(() => vi.useRealTimers());

	test("§11 a timeout is a failure with timedOut on finished and response, and the handler is told to stop", async () => {
		const { harness, client } = await withSession();
		harness.hold("set_session_name");
		await harness.send(client, name("a"));
		expect(harness.held[0]?.call.signal.aborted).toBe(false);
		await pass(999);
		expect(phases(client, "a")).toEqual(["accepted", "started"]);
		await pass(1);
		expect(phases(client, "a")).toEqual(["accepted", "started", "finished", "response"]);
		expect(finished(client, "a")).toMatchObject({ success: false, timedOut: true });
		expect(response(client, "a")).toMatchObject({ code: "timeout", timedOut: true });
		expect(harness.held[0]?.call.signal.aborted).toBe(true);
	});

	test("a handler that asks for its signal after the timeout finds it aborted", async () => {
		const { harness, client } = await withSession();
		harness.hold("get_state");
		await harness.send(client, { type: "get_state", sessionId: "s", id: "a" });
		await pass(1_000);
		expect(harness.held[0]?.call.signal.aborted).toBe(true);
	});

	test("§11 a late completion raises the version but never touches the stored timeout", async () => {
		const { harness, client } = await withSession();
		harness.hold("set_session_name");
		await harness.send(client, name("a"));
		await pass(1_000);
		await harness.held[0]?.finish({ data: "late" });
		expect(harness.engine.version("ann", "s")).toBe(1);
		const first = response(client, "a");
		client.frames.length = 0;
		await harness.send(client, name("a"));
		expect(response(client, "a")).toEqual({ ...first, replayed: true });
		const restarted = createHarness({ journal: harness.journal.reopen() });
		const again = restarted.client();
		await restarted.send(again, name("a"));
		expect(response(again, "a")).toEqual({ ...first, replayed: true });
		expect(restarted.engine.version("ann", "s")).toBe(1);
	});

	test("a session created too late exists, is announced, and the outcome stays a timeout", async () => {
		const { harness, client } = await withSession();
		harness.hold("create_session");
		await harness.send(client, { type: "create_session", sessionId: "late", id: "c" });
		await pass(1_000);
		expect(harness.engine.version("ann", "late")).toBeUndefined();
		const session = { principal: "ann", id: "late", cwd: "/", createdAtMs: 0, settings: {} };
		await harness.held[0]?.finish({ session, opened: true });
		expect(harness.engine.version("ann", "late")).toBe(0);
		expect(trace(client).filter((line) => line === "session_created")).toHaveLength(1);
		expect(response(client, "c").timedOut).toBe(true);
	});

	test("§11 the timeout is on disk before it is told, also that of a read", async () => {
		const journal = createMemoryJournal();
		const { harness, client } = await withSession({ journal });
		journal.mode = "manual";
		harness.hold("get_state");
		await harness.send(client, { type: "get_state", sessionId: "s", id: "a" });
		await pass(1_000);
		expect(phases(client, "a")).toEqual(["accepted", "started"]);
		journal.commit();
		await settled();
		expect(response(client, "a").timedOut).toBe(true);
		expect(journal.reopen().byId("ann", "a")?.response).toMatchObject({ timedOut: true });
	});

	test("the lane waits for the work to end after a timeout, within a grace", async () => {
		const { harness, client } = await withSession();
		harness.hold("set_session_name");
		await harness.send(client, name("a"), name("b"), name("c"));
		await pass(1_000);
		expect(phases(client, "b")).toEqual(["accepted"]);
		await harness.held[0]?.fail(new Error("stopped"));
		expect(phases(client, "b")).toEqual(["accepted", "started"]);
		await pass(1_000);
		expect(response(client, "b").timedOut).toBe(true);
		await pass(499);
		expect(phases(client, "c")).toEqual(["accepted"]);
		await pass(1);
		expect(phases(client, "c")).toEqual(["accepted", "started"]);
		await harness.held[2]?.finish();
		await harness.held[1]?.finish();
		expect(harness.engine.version("ann", "s")).toBe(2);
		expect(harness.engine.counters()).toMatchObject({ pending: 0, lanes: 0 });
	});

	test("the control path does not wait out the grace", async () => {
		const { harness, client } = await withSession();
		harness.hold("set_session_name");
		await harness.send(client, name("a"), { type: "abort", sessionId: "s", id: "abort" });
		expect(phases(client, "abort")).toEqual(["accepted"]);
		await pass(1_000);
		expect(response(client, "abort").success).toBe(true);
	});

	test("the clock of a command starts when it does, and the long ones have more time", async () => {
		const { harness, client } = await withSession();
		harness.hold("bash", "set_session_name");
		await harness.send(
			client,
			{ type: "bash", sessionId: "s", command: "x", id: "long" },
			name("a"),
		);
		await pass(9_999);
		expect(phases(client, "long")).toEqual(["accepted", "started"]);
		await harness.held[0]?.finish();
		await pass(999);
		expect(phases(client, "a")).toEqual(["accepted", "started"]);
		await pass(1);
		expect(response(client, "a").timedOut).toBe(true);
	});

	test("a command that waits too long for its turn ends as a timeout and never runs", async () => {
		const { harness, client } = await withSession();
		harness.hold("prompt");
		const prompt = { type: "prompt", sessionId: "s", message: "x", waitFor: "settled", id: "p" };
		await harness.send(client, prompt, name("a"));
		await pass(20_000);
		expect(phases(client, "a")).toEqual(["accepted", "finished", "response"]);
		expect(finished(client, "a")).toMatchObject({ code: "timeout", timedOut: true });
		await pass(1_000_000);
		await harness.held[0]?.finish();
		expect(response(client, "p").success).toBe(true);
		expect(harness.calls).toEqual(["prompt"]);
		expect(harness.engine.version("ann", "s")).toBe(1);
	});

	test("who joined a command that times out gets the timeout", async () => {
		const { harness, client } = await withSession();
		const other = harness.client();
		harness.hold("set_session_name");
		await harness.send(client, name("a"));
		await pass(600);
		await harness.send(other, name("a"));
		await pass(400);
		expect(response(other, "a")).toMatchObject({ timedOut: true, replayed: true });
	});

	test("§11 a command that depends on one that timed out fails", async () => {
		const { harness, client } = await withSession();
		harness.hold("set_session_name");
		await harness.send(client, name("a"), {
			type: "list_sessions",
			id: "b",
			dependsOn: ["a"],
		});
		await pass(1_000);
		expect(response(client, "b").code).toBe("dependency_failed");
	});
});
