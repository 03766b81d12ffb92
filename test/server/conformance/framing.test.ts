import { describe, expect, test } from "vitest";
import type { Data } from "../../../src/protocol/index.ts";
import { holdLane, openSession, transports, useServer } from "../support/conformance-server.ts";
import { course, fresh, isLifecycle, type WireClient } from "../support/wire-client.ts";

const MAX_FRAME = 20_000;
const MAX_PENDING = 20;
const server = useServer({
	limits: [`maxFrameBytes=${MAX_FRAME}`, `maxPendingPerClient=${MAX_PENDING}`],
});

describe.each(transports)("over %s", (transport) => {
	test("§3.1 every frame of the server is exactly one JSON object", {
		tags: "slow",
	}, async () => {
		const client = await server.client(transport);
		const sessionId = await openSession(client);
		const name = "two\u2028lines\u2029and \u0085 more";
		await client.ask({ type: "set_session_name", sessionId, name: name.replace("\u0085", "") });
		await client.ask({ type: "no\nsuch\r\ncommand", id: "line\nfeed\u2028" });
		await client.ask({ type: "prompt", sessionId, message: "say a\nb\u2028c", waitFor: "settled" });
		expect(client.frames.length).toBeGreaterThan(20);
		for (const frame of client.frames) {
			expect(Array.isArray(frame)).toBe(false);
			expect(typeof frame.type).toBe("string");
		}
		const lines = transport === "stdio" ? server.stdioLines() : [];
		for (const line of lines) expect(typeof JSON.parse(line)).toBe("object");
	});

	test("§3.1 a frame with two objects is refused as a whole", async () => {
		const client = await server.client(transport);
		client.send('{"type":"list_sessions","id":"one"}{"type":"list_sessions","id":"two"}');
		await expectRefused(client, { command: "unknown", code: "invalid_json" });
	});

	test.each([
		["an array", "[]", "invalid_command"],
		["an array around a command", '[{"type":"list_sessions","id":"x"}]', "invalid_command"],
		["null", "null", "invalid_command"],
		["a number", "42", "invalid_command"],
		["a text", '"list_sessions"', "invalid_command"],
		["half an object", '{"type":"list_sessions"', "invalid_json"],
		["no JSON at all", "list_sessions", "invalid_json"],
		["bytes that are not UTF-8", Buffer.from([0x7b, 0xff, 0xfe, 0x7d]), "invalid_json"],
	])("§3.2 %s gets one failure, for the command `unknown`", async (_what, frame, code) => {
		const client = await server.client(transport);
		client.send(frame);
		await expectRefused(client, { command: "unknown", code });
	});

	test("§3.2 a frame above the size limit is refused, and one at the limit is not", async () => {
		const client = await server.client(transport);
		const id = fresh("wide");
		const command = JSON.stringify({ type: "list_sessions", id, padding: "" });
		const padding = "x".repeat(MAX_FRAME - command.length);
		expect(await client.ask({ type: "list_sessions", id, padding })).toMatchObject({
			success: true,
		});
		const other = await server.client("websocket");
		client.send({ type: "list_sessions", padding: "x".repeat(MAX_FRAME + 1) });
		if (transport === "stdio") {
			await client.next((frame) => frame.type === "response" && frame.code === "too_large");
			await client.caughtUp();
		}
		await other.caughtUp();
		expect(other.frames.filter(isLifecycle).map(({ data }) => data.commandType)).not.toContain(
			"list_sessions",
		);
	});

	test("§3.1 U+2028 and U+2029 are ordinary characters of a frame", { tags: "slow" }, async () => {
		const client = await server.client(transport);
		const sessionId = await openSession(client);
		const name = "a\u2028b\u2029c";
		const id = fresh("u");
		client.send(
			`{"type":"set_session_name","id":"${id}","sessionId":"${sessionId}","name":"${name}"}`,
		);
		expect(await client.response(id)).toMatchObject({ success: true });
		const state = await client.ask({ type: "get_state", sessionId });
		expect(state.data?.sessionName).toBe(name);
	});

	test("§3.1 bytes are as good as text, also in pieces and with CR before the LF", async () => {
		const client = await server.client(transport);
		const sessionId = await openSession(client);
		const id = fresh("bytes");
		const name = "größer als 漢字";
		const bytes = Buffer.from(
			JSON.stringify({ type: "set_session_name", id, sessionId, name: name }),
		);
		if (transport === "stdio") {
			const { stdin } = server.process.child;
			const inside = bytes.indexOf("ö") + 1;
			stdin.write(bytes.subarray(0, inside));
			await new Promise((resolve) => setTimeout(resolve, 20));
			stdin.write(Buffer.concat([bytes.subarray(inside), Buffer.from("\r\n")]));
		} else client.send(bytes);
		expect(await client.response(id)).toMatchObject({ success: true });
		const state = await client.ask({ type: "get_state", sessionId });
		expect(state.data?.sessionName).toBe(name);
	});

	test.each([
		["without type", {}],
		["whose type is a number", { type: 7 }],
		["whose type is null", { type: null }],
		["whose type is an object", { type: {} }],
	])("§4 a command %s is refused", async (_what, frame) => {
		const client = await server.client(transport);
		client.send(frame);
		await expectRefused(client, { command: "unknown", code: "invalid_command" });
	});

	test("§4 a command may carry all of id, dependsOn, ifSessionVersion and idempotencyKey", async () => {
		const client = await server.client(transport);
		const sessionId = await openSession(client);
		const first = fresh("first");
		await client.ask({ type: "get_state", id: first, sessionId });
		const all = {
			id: fresh("all"),
			dependsOn: [first],
			ifSessionVersion: 0,
			idempotencyKey: "key",
		};
		const name = "all";
		expect(await client.ask({ type: "set_session_name", sessionId, name, ...all })).toMatchObject({
			success: true,
			sessionVersion: 1,
		});
	});

	test.each<[string, string, object]>([
		["an unknown command", "unknown_command", { type: "launch" }],
		["a name of Object.prototype", "unknown_command", { type: "constructor" }],
		["a blank id", "invalid_command", { type: "list_sessions", id: "  " }],
		["an id of 257 characters", "invalid_command", { type: "list_sessions", id: "i".repeat(257) }],
		["an id of the server's own kind", "invalid_command", { type: "list_sessions", id: "anon:1" }],
		["an id that is a number", "invalid_command", { type: "list_sessions", id: 7 }],
		["dependsOn that is a text", "invalid_command", { type: "list_sessions", dependsOn: "a" }],
		[
			"33 dependencies",
			"invalid_command",
			{ type: "list_sessions", dependsOn: Array.from({ length: 33 }, (_, i) => `d${i}`) },
		],
		["a blank dependency", "invalid_command", { type: "list_sessions", dependsOn: [" "] }],
		["a blank key", "invalid_command", { type: "list_sessions", idempotencyKey: "" }],
		[
			"a key of 257 characters",
			"invalid_command",
			{ type: "list_sessions", idempotencyKey: "k".repeat(257) },
		],
		...[-1, 1.5, "1", null].map((ifSessionVersion): [string, string, object] => [
			`the version ${JSON.stringify(ifSessionVersion)}`,
			"invalid_command",
			{ type: "get_state", sessionId: "s", ifSessionVersion },
		]),
		["a session command without sessionId", "invalid_command", { type: "get_state" }],
		["the session ..", "invalid_command", { type: "get_state", sessionId: ".." }],
		["the session .", "invalid_command", { type: "create_session", sessionId: "." }],
		["a path as session", "invalid_command", { type: "create_session", sessionId: "a/b" }],
		["a missing field", "invalid_command", { type: "prompt", sessionId: "s" }],
		["a folder that is not absolute", "invalid_command", { type: "create_session", cwd: "rel" }],
		[
			"an export out of its folder",
			"invalid_command",
			{ type: "export_html", sessionId: "s", outputPath: "../x.html" },
		],
		[
			"a field of the wrong type",
			"invalid_command",
			{ type: "bash", sessionId: "s", command: ["x"] },
		],
		[
			"a word that is none",
			"invalid_command",
			{ type: "set_thinking_level", sessionId: "s", level: "none" },
		],
		...["create_session", "list_sessions", "switch_session", "load_session"].map(
			(type): [string, string, object] => [
				`ifSessionVersion on ${type}`,
				"invalid_command",
				{ type, sessionId: "s", sessionPath: "/x.jsonl", ifSessionVersion: 0 },
			],
		),
	])("§4.2 %s returns success false and no lifecycle event", async (_what, code, frame) => {
		const client = await server.client(transport);
		client.send(frame);
		const { type } = frame as { type: string };
		await expectRefused(client, { command: type, code });
	});

	test("§4.2 more commands than a connection may have under way are refused before admission", async () => {
		const client = await server.client(transport);
		const sessionId = await openSession(client);
		const held = await holdLane(client, sessionId);
		const ids = Array.from({ length: MAX_PENDING }, () => fresh("queued"));
		const last = ids.at(-1) as string;
		client.send(...ids.map((id) => ({ type: "set_session_name", id, sessionId, name: "queued" })));
		expect(await client.response(last)).toMatchObject({ success: false, code: "busy" });
		// The connection stays full, so that even the answer to the dialog has to come from another one.
		const other = await server.client("websocket");
		const frame = await other.ask({ type: "abort", sessionId });
		expect(frame.success).toBe(true);
		await client.response(held.id);
		await client.response(ids.at(-2) as string);
		expect(course(client, last)).toEqual(["response"]);
		expect(await client.ask({ type: "set_session_name", id: last, sessionId, name: "x" })).toEqual(
			expect.objectContaining({ success: true }),
		);
	});

	test("§5 every response has type, command and success, and a failure an error", async () => {
		const client = await server.client(transport);
		const sessionId = await openSession(client);
		const commands = [
			{ type: "list_sessions" },
			{ type: "get_state", sessionId },
			{ type: "get_state", sessionId: "nobody" },
			{ type: "set_model", sessionId, provider: "loop", modelId: "none" },
			{ type: "nonsense" },
		];
		for (const command of commands) await client.ask(command);
		client.send("nonsense");
		await client.caughtUp();
		const responses = client.frames.filter((frame) => frame.type === "response");
		expect(responses).toHaveLength(8);
		for (const { command, success, error, code } of responses) {
			expect(typeof command).toBe("string");
			expect(typeof success).toBe("boolean");
			expect(typeof error).toBe(success ? "undefined" : "string");
			expect(typeof code).toBe(success ? "undefined" : "string");
		}
	});

	test("§5.1 a response has the id and the type of its request, and no id where it had none", async () => {
		const client = await server.client(transport);
		for (const id of ["7", "with space", "__proto__", "constructor", "\u2028", "i".repeat(256)]) {
			expect(await client.ask({ type: "list_sessions", id })).toMatchObject({
				id,
				command: "list_sessions",
			});
		}
		const known = client.frames.length;
		client.send({ type: "list_sessions" });
		await client.caughtUp();
		const answer = client.frames
			.slice(known)
			.find((frame) => frame.type === "response" && frame.command === "list_sessions");
		expect(answer).toMatchObject({ success: true });
		expect(answer).not.toHaveProperty("id");
	});

	test("§5.1 an id that is not a string is not repeated", async () => {
		const client = await server.client(transport);
		for (const id of [7, null, {}, ["a"]]) client.send({ type: "list_sessions", id });
		await client.caughtUp();
		const refused = client.frames.filter((frame) => frame.type === "response" && !frame.success);
		expect(refused).toHaveLength(4);
		for (const frame of refused) expect(frame).not.toHaveProperty("id");
	});

	test("§12 an error is for people: it says what is wrong, and shows neither stacks nor folders of the server", async () => {
		const client = await server.client(transport);
		const sessionId = await openSession(client);
		const failures = [
			await client.ask({ type: "get_state", sessionId: "nobody" }),
			await client.ask({ type: "create_session", sessionId }),
			await client.ask({ type: "create_session", cwd: "relative" }),
			await client.ask({ type: "load_session", sessionPath: "/etc/passwd.jsonl" }),
			await client.ask({ type: "set_model", sessionId, provider: "loop", modelId: "none" }),
			await client.ask({ type: "prompt", sessionId, message: "/fail" }),
			await client.ask({ type: "set_session_name", sessionId, name: "n", ifSessionVersion: 99 }),
			await client.ask({ type: "export_html", sessionId, outputPath: "/etc/x.html" }),
		].filter(({ success }) => !success);
		expect(failures.length).toBeGreaterThanOrEqual(7);
		for (const { error = "", code } of failures) {
			expect(code).toMatch(/^[a-z_]+$/);
			expect(error.length).toBeGreaterThan(10);
			expect(error).not.toMatch(/\n\s*at |node_modules|\.ts:\d/);
			expect(error).not.toContain(server.process.agentDir);
		}
	});
});

/** One failure, nothing else, and the connection goes on. */
async function expectRefused(client: WireClient, failure: { command: string; code: string }) {
	await client.caughtUp();
	const others = client.frames.filter((frame) => !isOfHealthCheck(frame));
	expect(others).toEqual([
		{ type: "response", success: false, error: expect.any(String), ...failure, ...idOf(others) },
	]);
}

/** `server_ready` and what belongs to the question that ends the wait. */
function isOfHealthCheck(frame: Data<"ServerMessage">): boolean {
	if (frame.type === "server_ready") return true;
	if (frame.type === "response") return frame.command === "health_check";
	return isLifecycle(frame) && frame.data.commandType === "health_check";
}

/** Where the request had an id, so has the response. */
function idOf(frames: readonly Data<"ServerMessage">[]): { id?: string } {
	const [frame] = frames;
	return frame?.type === "response" && frame.id !== undefined ? { id: frame.id } : {};
}
