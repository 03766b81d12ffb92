import { describe, expect, test } from "vitest";
import { createHarness, finished, phases, response, trace } from "./harness.ts";

describe("admission", () => {
	test("§14 the first message of a connection is server_ready with the protocol's version", async () => {
		const { client } = createHarness();
		expect(client().frames).toEqual([
			{
				type: "server_ready",
				data: { serverVersion: "9.9.9", protocolVersion: "1.0.0", transports: ["test"] },
			},
		]);
	});

	test.each([
		["text that is not JSON", "{", "invalid_json", "unknown"],
		["bytes that are not UTF-8", new Uint8Array([0x22, 0xff, 0x22]), "invalid_json", "unknown"],
		["an array", "[]", "invalid_command", "unknown"],
		["null", "null", "invalid_command", "unknown"],
		["a number", "7", "invalid_command", "unknown"],
		["a type nobody knows", '{"type":"constructor"}', "unknown_command", "constructor"],
		["a field of the wrong kind", '{"type":"get_state"}', "invalid_command", "get_state"],
		["a frame that is too large", `"${"x".repeat(100_000)}"`, "too_large", "unknown"],
		["a frame too large in bytes", `"${"é".repeat(50_000)}"`, "too_large", "unknown"],
	])("§4.2 %s is answered with a failure and nothing else", async (_, frame, code, command) => {
		const harness = createHarness();
		const client = harness.client();
		const other = harness.client();
		await harness.send(client, frame);
		expect(client.frames.slice(1)).toEqual([
			{ type: "response", command, success: false, code, error: expect.any(String) },
		]);
		expect(other.frames).toHaveLength(1);
		expect(harness.engine.counters()).toMatchObject({ rejected: 1, accepted: 0 });
	});

	test("a frame in bytes is as good as one in text", async () => {
		const harness = createHarness();
		const client = harness.client();
		await harness.send(client, new TextEncoder().encode('{"type":"list_sessions","id":"é"}'));
		expect(response(client, "é").success).toBe(true);
	});

	test("§7.2 an admitted command is accepted, started, finished and answered, in this order", async () => {
		const harness = createHarness();
		const client = harness.client();
		await harness.send(client, { type: "list_sessions", id: "a" });
		expect(trace(client)).toEqual([
			"server_ready",
			"accepted a",
			"started a",
			"finished a",
			"response a",
		]);
		expect(response(client, "a")).toEqual({
			type: "response",
			command: "list_sessions",
			success: true,
			id: "a",
			data: { did: "list_sessions" },
		});
	});

	test("§6.2 lifecycle events carry what the command said of itself, and its outcome at the end", async () => {
		const harness = createHarness();
		const client = harness.client();
		await harness.send(client, { type: "create_session", id: "s", sessionId: "s" });
		await harness.send(client, {
			type: "set_session_name",
			id: "n",
			sessionId: "s",
			name: "N",
			dependsOn: ["s"],
			ifSessionVersion: 0,
			idempotencyKey: "k",
		});
		const about = {
			commandId: "n",
			commandType: "set_session_name",
			sessionId: "s",
			dependsOn: ["s"],
			ifSessionVersion: 0,
			idempotencyKey: "k",
		};
		const events = client.frames.filter(({ data }) => data?.commandId === "n");
		expect(events).toEqual([
			{ type: "command_accepted", data: about },
			{ type: "command_started", data: about },
			{ type: "command_finished", data: { ...about, success: true, sessionVersion: 1 } },
		]);
	});

	test("a command without an id is told of under one made up for it, and answered without", async () => {
		const harness = createHarness({ now: () => 5 });
		const client = harness.client();
		await harness.send(client, { type: "list_sessions" }, { type: "list_sessions" });
		const ids = [...new Set(client.frames.flatMap(({ data }) => data?.commandId ?? []))];
		expect(ids.map((id) => id.replace(/:.*:/, ":"))).toEqual(["anon:1", "anon:2"]);
		for (const id of ids) expect(phases(client, id)).toEqual(["accepted", "started", "finished"]);
		// Servers that start at the same moment share a journal.
		const other = createHarness({ now: () => 5 });
		const stranger = other.client();
		await other.send(stranger, { type: "list_sessions" });
		expect(ids).not.toContain(stranger.frames.find(({ data }) => data?.commandId)?.data?.commandId);
		const responses = client.frames.filter(({ type }) => type === "response");
		expect(responses.map((frame) => "id" in frame)).toEqual([false, false]);
	});

	test("names like __proto__ and constructor are ids and keys like any other", async () => {
		const harness = createHarness();
		const client = harness.client();
		for (const name of ["__proto__", "constructor", "toString"]) {
			const command = { type: "list_sessions", id: name, idempotencyKey: name };
			await harness.send(client, command);
			expect(phases(client, name)).toEqual(["accepted", "started", "finished", "response"]);
		}
	});

	test("frames of a client that is not connected are not looked at", async () => {
		const harness = createHarness();
		const client = harness.client();
		harness.engine.disconnect(client);
		harness.engine.disconnect(client);
		await harness.send(client, { type: "list_sessions" });
		expect(client.frames).toHaveLength(1);
		expect(harness.calls).toEqual([]);
	});
});

describe("limits", () => {
	test("too many commands of one connection are refused before admission, and others are not affected", async () => {
		const harness = createHarness({ limits: { maxPendingPerClient: 2 } });
		const [client, other] = [harness.client(), harness.client()];
		harness.hold("get_metrics");
		const commands = ["a", "b", "c"].map((id) => ({ type: "get_metrics", id }));
		await harness.send(client, ...commands);
		expect(phases(client, "c")).toEqual(["response"]);
		expect(response(client, "c")).toMatchObject({ success: false, code: "busy" });
		await harness.send(other, { type: "get_metrics", id: "d" });
		expect(phases(other, "d")).toEqual(["accepted", "started"]);
		for (let next = harness.held.shift(); next; next = harness.held.shift()) await next.finish();
		await harness.send(client, { type: "list_sessions", id: "c" });
		expect(phases(client, "c")).toEqual([
			"response",
			"accepted",
			"started",
			"finished",
			"response",
		]);
	});

	test("too many commands in all are accepted and finished as busy, not started, and may be sent again", async () => {
		const harness = createHarness({ limits: { maxPending: 1 } });
		const client = harness.client();
		harness.hold("get_metrics");
		await harness.send(
			client,
			{ type: "get_metrics", id: "a" },
			{ type: "get_metrics", id: "a" },
			{ type: "get_metrics", id: "b" },
		);
		expect(phases(client, "b")).toEqual(["accepted", "finished", "response"]);
		expect(response(client, "b")).toMatchObject({ success: false, code: "busy" });
		expect(response(client, "a")).toMatchObject({ success: false, code: "busy" });
		await harness.held[0]?.finish();
		client.frames.length = 0;
		await harness.send(client, { type: "list_sessions", id: "b" });
		expect(response(client, "b").success).toBe(true);
	});

	test("too many commands of one principal are busy, and another's are not", async () => {
		const harness = createHarness({ limits: { maxPendingPerPrincipal: 2 } });
		const [ann, bob] = [harness.client("ann"), harness.client("bob")];
		harness.hold("get_metrics");
		await harness.send(ann, ...["a", "b", "c"].map((id) => ({ type: "get_metrics", id })));
		await harness.send(bob, { type: "get_metrics", id: "d" });
		expect(response(ann, "c")).toMatchObject({ success: false, code: "busy" });
		expect(phases(bob, "d")).toEqual(["accepted", "started"]);
		for (let next = harness.held.shift(); next; next = harness.held.shift()) await next.finish();
		await harness.send(ann, { type: "list_sessions", id: "c2" });
		expect(response(ann, "c2").success).toBe(true);
	});

	test("commands under way that are too large together are busy, small ones and another's are not", async () => {
		const harness = createHarness({ limits: { maxPendingBytesPerPrincipal: 1_000 } });
		const [ann, bob] = [harness.client("ann"), harness.client("bob")];
		await harness.send(ann, { type: "create_session", sessionId: "s" });
		await harness.send(bob, { type: "create_session", sessionId: "s" });
		harness.hold("prompt");
		const large = (id: string, length: number) => ({
			type: "prompt",
			sessionId: "s",
			id,
			message: "x".repeat(length),
		});
		// One alone may be as large as a frame.
		await harness.send(ann, large("a", 1_500));
		await harness.send(ann, large("b", 1));
		expect(phases(ann, "a")).toEqual(["accepted", "started"]);
		expect(response(ann, "b")).toMatchObject({ success: false, code: "busy" });
		await harness.send(bob, large("c", 500), large("d", 100), large("e", 500));
		expect(phases(bob, "c")).toEqual(["accepted", "started"]);
		expect(phases(bob, "d")).toEqual(["accepted"]);
		expect(response(bob, "e")).toMatchObject({ success: false, code: "busy" });
		for (let next = harness.held.shift(); next; next = harness.held.shift()) await next.finish();
		await harness.send(bob, large("f", 900));
		expect(phases(bob, "f")).toEqual(["accepted", "started"]);
	});

	test("commands of all principals that are too large together are busy", async () => {
		const harness = createHarness({ limits: { maxPendingBytes: 1_000 } });
		const [ann, bob] = [harness.client("ann"), harness.client("bob")];
		harness.hold("get_metrics");
		const large = (id: string) => ({ type: "get_metrics", id, padding: "x".repeat(900) });
		await harness.send(ann, large("a"));
		await harness.send(bob, large("b"));
		expect(response(bob, "b")).toMatchObject({ success: false, code: "busy" });
		await harness.held[0]?.finish();
		await harness.send(bob, large("b"));
		expect(phases(bob, "b").at(-1)).toBe("started");
	});

	test("an answer that is too large to send fails and says so, and a change is told without its data", async () => {
		const harness = createHarness({ limits: { maxAnswerBytes: 1_000 } });
		const client = harness.client();
		const data = { text: "x".repeat(2_000) };
		harness.on("list_sessions", async () => ({ data }));
		harness.on("reload", async () => ({ data }));
		const reload = { type: "reload", id: "change", sessionId: "s" };
		await harness.send(client, { type: "list_sessions", id: "read" });
		await harness.send(client, { type: "create_session", sessionId: "s" }, reload);
		expect(response(client, "read")).toMatchObject({ success: false, code: "too_large" });
		expect(response(client, "read").error).toMatch(/2,?\d+ characters.*1000/);
		expect(response(client, "change")).toMatchObject({ success: true, sessionVersion: 1 });
		expect(response(client, "change").data).toBeUndefined();
	});

	test("§12 the rate of a principal is limited, and a refusal is accepted and finished but not stored", async () => {
		const harness = createHarness({ limits: { commandsPerMinute: 2 } });
		const client = harness.client("ann");
		const other = harness.client("bob");
		const commands = ["a", "b", "c"].map((id) => ({ type: "list_sessions", id }));
		await harness.send(client, ...commands);
		expect(phases(client, "c")).toEqual(["accepted", "finished", "response"]);
		expect(finished(client, "c")).toMatchObject({ success: false, code: "rate_limited" });
		await harness.send(other, { type: "list_sessions", id: "c" });
		expect(response(other, "c").success).toBe(true);
		expect(harness.journal.byId("ann", "c")).toBeUndefined();
	});

	test("repetitions are not charged", async () => {
		const harness = createHarness({ limits: { commandsPerMinute: 1 } });
		const client = harness.client();
		const command = { type: "list_sessions", id: "a" };
		await harness.send(client, command, command, command);
		await harness.send(client, command);
		const responses = client.frames.filter(({ type }) => type === "response");
		expect(responses.map(({ success }) => success)).toEqual([true, true, true, true]);
		expect(harness.calls).toHaveLength(1);
	});
});

describe("who is told", () => {
	test("§6.2 lifecycle events go to every client of the principal, and to no other principal's", async () => {
		const harness = createHarness();
		const [issuer, friend, stranger] = [
			harness.client("ann"),
			harness.client("ann"),
			harness.client("bob"),
		];
		await harness.send(issuer, { type: "list_sessions", id: "a" });
		expect(phases(friend, "a")).toEqual(["accepted", "started", "finished"]);
		expect(stranger.frames).toHaveLength(1);
	});

	test("a client that wants its own lifecycle, or none, gets just that", async () => {
		const harness = createHarness();
		const [all, own, none] = [
			harness.client("ann", "all"),
			harness.client("ann", "own"),
			harness.client("ann", "none"),
		];
		await harness.send(own, { type: "list_sessions", id: "own" });
		await harness.send(none, { type: "list_sessions", id: "none" });
		await harness.send(all, { type: "list_sessions", id: "all" });
		expect(trace(own).slice(1)).toEqual([
			"accepted own",
			"started own",
			"finished own",
			"response own",
		]);
		expect(trace(none).slice(1)).toEqual(["response none"]);
		expect(phases(all, "own")).toEqual(["accepted", "started", "finished"]);
		expect(phases(all, "none")).toEqual(["accepted", "started", "finished"]);
	});

	test("what a client started goes on when it is gone, and others are told", async () => {
		const harness = createHarness();
		const [issuer, friend] = [harness.client(), harness.client()];
		harness.hold("get_metrics");
		await harness.send(issuer, { type: "get_metrics", id: "a" });
		harness.engine.disconnect(issuer);
		issuer.gone = true;
		await harness.held[0]?.finish({ data: 1 });
		expect(phases(friend, "a")).toEqual(["accepted", "started", "finished"]);
		expect(harness.engine.counters()).toMatchObject({ clients: 1, pending: 0 });
		const again = harness.client();
		await harness.send(again, { type: "get_metrics", id: "a" });
		expect(response(again, "a")).toMatchObject({ data: 1, replayed: true });
	});
});
