import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import {
	createHarness,
	finished,
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

async function withSessions() {
	const harness = createHarness();
	const client = harness.client();
	await harness.send(
		client,
		{ type: "create_session", sessionId: "s" },
		{ type: "create_session", sessionId: "t" },
	);
	client.frames.length = 0;
	harness.calls.length = 0;
	return { harness, client };
}

describe("dependencies", () => {
	beforeEach(() => {
		vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
	});
	afterEach(() => vi.useRealTimers());

	test("§9 a command waits until its dependencies in other lanes have succeeded", async () => {
		const { harness, client } = await withSessions();
		harness.hold("bash");
		await harness.send(client, run("a"), run("b", { sessionId: "t" }));
		await harness.send(client, name("c", { sessionId: "t2", dependsOn: ["a", "a", "b"] }));
		const get = { type: "get_state", sessionId: "s", id: "d", dependsOn: ["a", "b"] };
		await harness.send(client, get);
		expect(phases(client, "d")).toEqual(["accepted"]);
		await harness.held[0]?.finish();
		expect(phases(client, "d")).toEqual(["accepted"]);
		await harness.held[1]?.finish();
		expect(response(client, "d").success).toBe(true);
		const seen = trace(client);
		expect(seen.indexOf("finished b")).toBeLessThan(seen.indexOf("started d"));
	});

	test("§9 an unknown dependency fails the command at once, without started, and that outcome is kept", async () => {
		const { harness, client } = await withSessions();
		const command = name("a", { dependsOn: ["later"] });
		await harness.send(client, command, name("later"));
		expect(phases(client, "a")).toEqual(["accepted", "finished", "response"]);
		expect(finished(client, "a")).toMatchObject({ success: false, code: "dependency_unknown" });
		client.frames.length = 0;
		await harness.send(client, command);
		expect(response(client, "a")).toMatchObject({ code: "dependency_unknown", replayed: true });
	});

	test("§9 a dependency that failed, or fails while it is waited for, fails the command without started", async () => {
		const { harness, client } = await withSessions();
		harness.hold("bash");
		await harness.send(client, run("a"), name("b", { dependsOn: ["a"] }));
		await harness.held[0]?.fail(new Error("no"));
		await harness.send(client, name("c", { dependsOn: ["a"] }));
		for (const id of ["b", "c"]) {
			expect(phases(client, id)).toEqual(["accepted", "finished", "response"]);
			expect(response(client, id).code).toBe("dependency_failed");
		}
		expect(harness.calls).toEqual(["bash"]);
	});

	test("§9 dependencies are found by the ids of the same principal only", async () => {
		const { harness, client } = await withSessions();
		await harness.send(client, { type: "list_sessions", id: "a" });
		const other = harness.client("bob");
		await harness.send(other, { type: "list_sessions", id: "b", dependsOn: ["a"] });
		expect(response(other, "b").code).toBe("dependency_unknown");
	});

	test("§9 an id answered again, and one that only the journal knows, are known", async () => {
		const { harness, client } = await withSessions();
		await harness.send(client, { type: "list_sessions", id: "a", idempotencyKey: "k" });
		await harness.send(client, { type: "list_sessions", id: "b", idempotencyKey: "k" });
		const restarted = createHarness({ journal: harness.journal.reopen() });
		const later = restarted.client();
		await restarted.send(later, { type: "list_sessions", id: "c", dependsOn: ["a", "b"] });
		expect(response(later, "c").success).toBe(true);
	});

	test("§9 a command without an id may have dependencies", async () => {
		const { harness, client } = await withSessions();
		harness.hold("bash");
		await harness.send(client, run("a"), { type: "list_sessions", dependsOn: ["a"] });
		expect(harness.calls).toEqual(["bash"]);
		await harness.held[0]?.finish();
		expect(harness.calls).toEqual(["bash", "list_sessions"]);
	});

	test("§9.1 waiting for a dependency is limited, and the limit counts from the command's turn", async () => {
		const { harness, client } = await withSessions();
		harness.hold("bash");
		await harness.send(
			client,
			run("long", { sessionId: "t" }),
			run("first"),
			name("a", { dependsOn: ["long"] }),
			name("b"),
		);
		await vi.advanceTimersByTimeAsync(5_000);
		expect(phases(client, "a")).toEqual(["accepted"]);
		await harness.held[1]?.finish();
		await vi.advanceTimersByTimeAsync(1_999);
		await settled();
		expect(phases(client, "a")).toEqual(["accepted"]);
		expect(phases(client, "b")).toEqual(["accepted"]);
		await vi.advanceTimersByTimeAsync(1);
		await settled();
		expect(phases(client, "a")).toEqual(["accepted", "finished", "response"]);
		expect(response(client, "a").code).toBe("dependency_timeout");
		expect(response(client, "b").success).toBe(true);
	});

	test("§9.2 an earlier command of the same lane can be depended on", async () => {
		const { harness, client } = await withSessions();
		await harness.send(client, name("a"), name("b", { dependsOn: ["a"] }));
		expect(response(client, "b").success).toBe(true);
	});

	test("§9.2 a command that depends on itself, or on one that comes later, fails at once", async () => {
		const { harness, client } = await withSessions();
		harness.hold("bash");
		await harness.send(client, run("long"));
		await harness.send(
			client,
			name("self", { dependsOn: ["self"] }),
			name("x", { dependsOn: ["y"] }),
			name("y", { dependsOn: ["x"] }),
		);
		expect(response(client, "self").code).toBe("dependency_cycle");
		expect(response(client, "x").code).toBe("dependency_unknown");
		expect(response(client, "y").code).toBe("dependency_failed");
	});

	test("a command keeps its place in the lane while it waits for a dependency", async () => {
		const { harness, client } = await withSessions();
		harness.hold("bash");
		await harness.send(
			client,
			run("long", { sessionId: "t" }),
			name("a", { dependsOn: ["long"] }),
			name("b"),
		);
		expect(phases(client, "b")).toEqual(["accepted"]);
		await harness.held[0]?.finish();
		const seen = trace(client);
		expect(seen.indexOf("finished a")).toBeLessThan(seen.indexOf("started b"));
		expect(response(client, "b").success).toBe(true);
	});
});
