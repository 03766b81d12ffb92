import { describe, expect, test } from "vitest";
import { createMemoryJournal } from "../../support/memory-journal.ts";
import {
	createHarness,
	type Harness,
	nameSession as name,
	phases,
	response,
	settled,
	trace,
} from "./harness.ts";

const run = (id: string, more = {}) => ({
	type: "bash",
	id,
	sessionId: "s",
	command: "x",
	...more,
});
const state = (id: string, more = {}) => ({ type: "get_state", id, sessionId: "s", ...more });

async function withSession(harness: Harness) {
	const client = harness.client();
	await harness.send(client, { type: "create_session", sessionId: "s" });
	client.frames.length = 0;
	harness.calls.length = 0;
	return client;
}

describe("lanes", () => {
	test("§7.3 commands of one session run one after the other, in the order in which they came", async () => {
		const harness = createHarness();
		const client = await withSession(harness);
		harness.hold("set_session_name");
		await harness.send(client, name("a"), name("b"), name("c"));
		expect(harness.held).toHaveLength(1);
		for (const index of [0, 1, 2]) await harness.held[index]?.finish();
		expect(trace(client)).toEqual([
			...["accepted a", "accepted b", "accepted c"],
			...["started a", "finished a", "response a"],
			...["started b", "finished b", "response b"],
			...["started c", "finished c", "response c"],
		]);
	});

	test("§7.3 commands of other sessions and other principals do not wait", async () => {
		const harness = createHarness();
		const client = await withSession(harness);
		const other = harness.client("bob");
		await harness.send(client, { type: "create_session", sessionId: "t" });
		await harness.send(other, { type: "create_session", sessionId: "s" });
		harness.hold("set_session_name");
		await harness.send(client, name("a"), name("b", { sessionId: "t" }));
		await harness.send(other, name("a"));
		expect(harness.held.map(({ call }) => call.principal)).toEqual(["ann", "ann", "bob"]);
	});

	test("a session created under a given id is there for the commands right behind", async () => {
		const harness = createHarness();
		const client = harness.client();
		await harness.send(
			client,
			{ type: "create_session", sessionId: "s", id: "create" },
			{ type: "steer", sessionId: "s", message: "left", id: "steer" },
			state("state"),
			name("name"),
		);
		for (const id of ["create", "steer", "state", "name"]) {
			expect(response(client, id).success).toBe(true);
		}
		expect(harness.calls.toSorted()).toEqual(
			["create_session", "get_state", "set_session_name", "steer"].toSorted(),
		);
		expect(harness.calls[0]).toBe("create_session");
	});

	test("the next command runs when the one before has run, without waiting for the disk, but is told of after it", async () => {
		const journal = createMemoryJournal();
		const harness = createHarness({ journal });
		const client = await withSession(harness);
		journal.mode = "manual";
		await harness.send(client, name("a"), name("b"), name("c"));
		expect(harness.calls).toEqual([]);
		journal.commit();
		await settled();
		expect(harness.calls).toHaveLength(3);
		expect(trace(client).slice(3)).toEqual(["started a"]);
		journal.commit();
		await settled();
		expect(trace(client).slice(3)).toEqual([
			...["started a", "finished a", "response a"],
			...["started b", "finished b", "response b"],
			...["started c", "finished c", "response c"],
		]);
		expect(["a", "b", "c"].map((id) => response(client, id).sessionVersion)).toEqual([1, 2, 3]);
	});

	test("a thousand commands that all fail at once do not exhaust the stack", {
		tags: "slow",
	}, async () => {
		const harness = createHarness();
		const client = await withSession(harness);
		harness.hold("bash");
		const doomed = Array.from({ length: 900 }, (_, index) =>
			name(`d${index}`, {
				ifSessionVersion: 7,
				dependsOn: [index === 0 ? "run" : `d${index - 1}`],
			}),
		);
		await harness.send(client, run("run"), ...doomed);
		await harness.held[0]?.finish();
		expect(response(client, "d0").code).toBe("version_mismatch");
		expect(response(client, "d899").code).toBe("dependency_failed");
		expect(harness.engine.counters()).toMatchObject({ pending: 0, lanes: 0 });
	});
});

describe("the control path", () => {
	test("reads, abort and steer get through while something long runs, and what queues behind it waits", async () => {
		const harness = createHarness();
		const client = await withSession(harness);
		harness.hold("bash");
		await harness.send(
			client,
			run("run"),
			name("name"),
			state("state"),
			{ type: "abort", id: "abort", sessionId: "s" },
			{ type: "steer", id: "steer", sessionId: "s", message: "x" },
		);
		for (const id of ["state", "abort", "steer"]) expect(response(client, id).success).toBe(true);
		expect(phases(client, "name")).toEqual(["accepted"]);
		await harness.held[0]?.finish();
		expect(response(client, "name").success).toBe(true);
	});

	test("it waits for earlier short commands", async () => {
		const harness = createHarness();
		const client = await withSession(harness);
		harness.hold("set_session_name");
		await harness.send(client, name("a"), name("b"), state("state"), run("run"), state("later"));
		expect(phases(client, "state")).toEqual(["accepted"]);
		await harness.held[0]?.finish();
		expect(phases(client, "state")).toEqual(["accepted"]);
		harness.hold("bash");
		await harness.held[1]?.finish();
		expect(phases(client, "state").at(-1)).toBe("response");
		expect(phases(client, "later").at(-1)).toBe("response");
		expect(phases(client, "run").at(-1)).toBe("started");
	});

	test("it does not wait for a short command that itself waits for something long elsewhere", async () => {
		const harness = createHarness();
		const client = await withSession(harness);
		await harness.send(client, { type: "create_session", sessionId: "t" });
		harness.hold("bash");
		await harness.send(
			client,
			run("long", { sessionId: "t" }),
			name("behind", { sessionId: "t" }),
			name("waits", { dependsOn: ["behind"] }),
			{ type: "abort", id: "abort", sessionId: "s" },
		);
		expect(phases(client, "waits")).toEqual(["accepted"]);
		expect(response(client, "abort").success).toBe(true);
	});

	test("a read is not answered before the changes it may have seen are on disk", async () => {
		const journal = createMemoryJournal();
		const harness = createHarness({ journal });
		const client = await withSession(harness);
		journal.mode = "manual";
		await harness.send(client, name("a"));
		journal.commit();
		await settled();
		await harness.send(client, state("read"));
		expect(phases(client, "read")).toEqual(["accepted", "started"]);
		journal.commit();
		await settled();
		expect(trace(client).slice(-4)).toEqual([
			...["finished a", "response a"],
			...["finished read", "response read"],
		]);
		expect(response(client, "read").sessionVersion).toBe(1);
		await harness.send(client, state("again"));
		expect(response(client, "again").success).toBe(true);
	});
});

describe("handlers that misbehave", () => {
	test.each([
		["an error", new Error("it broke"), "it broke"],
		[
			"paths of the server",
			new Error("ENOENT: open '/srv/secret/data.json'"),
			"ENOENT: open 'data.json'",
		],
		["a text", "just words", "just words"],
		["something without a text", Object.create(null), "The command failed."],
	])("§12 throwing %s is a failure without stack or folders", async (_, thrown, error) => {
		const harness = createHarness();
		const client = harness.client();
		harness.on("list_sessions", async () => {
			throw thrown;
		});
		await harness.send(client, { type: "list_sessions", id: "a" });
		expect(phases(client, "a")).toEqual(["accepted", "started", "finished", "response"]);
		expect(response(client, "a")).toEqual({
			type: "response",
			command: "list_sessions",
			success: false,
			id: "a",
			code: "failed",
			error,
		});
	});

	test("throwing before returning a promise is a failure too", async () => {
		const harness = createHarness();
		const client = harness.client();
		harness.on("list_sessions", () => {
			throw new Error("at once");
		});
		await harness.send(client, { type: "list_sessions", id: "a" });
		expect(response(client, "a")).toMatchObject({ success: false, error: "at once" });
	});

	test("a result that cannot be JSON is a failure, but the change counts", async () => {
		const harness = createHarness();
		const client = await withSession(harness);
		const circle: Record<string, unknown> = {};
		circle.self = circle;
		harness.on("set_session_name", async () => ({ data: circle }));
		harness.on("list_sessions", async () => ({ data: { big: 1n } }));
		await harness.send(client, name("a"), { type: "list_sessions", id: "b" });
		expect(response(client, "a")).toMatchObject({ code: "failed", sessionVersion: 1 });
		expect(response(client, "b")).toMatchObject({ code: "failed" });
	});

	test("returning nothing is an empty result", async () => {
		const harness = createHarness();
		const client = harness.client();
		harness.on("list_sessions", async () => undefined as never);
		await harness.send(client, { type: "list_sessions", id: "a" });
		expect(response(client, "a")).toEqual({
			type: "response",
			command: "list_sessions",
			success: true,
			id: "a",
		});
	});
});

describe("sessions come and go", () => {
	test("session_created and session_deleted come once, after the response, to all of the principal", async () => {
		const harness = createHarness();
		const [issuer, friend, stranger] = [harness.client(), harness.client(), harness.client("bob")];
		const create = { type: "create_session", id: "c", sessionId: "s" };
		const remove = { type: "delete_session", id: "d", sessionId: "s" };
		await harness.send(issuer, create);
		await harness.send(issuer, create);
		await harness.send(issuer, remove, remove);
		const told = (type: string) => friend.frames.filter((frame) => frame.type === type);
		expect(told("session_created")).toEqual([
			{ type: "session_created", data: { sessionId: "s", sessionInfo: { sessionId: "s" } } },
		]);
		expect(told("session_deleted")).toEqual([
			{ type: "session_deleted", data: { sessionId: "s" } },
		]);
		expect(stranger.frames).toHaveLength(1);
		const seen = trace(issuer);
		expect(seen.indexOf("session_created")).toBe(seen.indexOf("response c") + 1);
		expect(seen.indexOf("session_deleted")).toBe(seen.indexOf("response d") + 1);
	});
});
