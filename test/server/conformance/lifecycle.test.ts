import { describe, expect, test } from "vitest";
import { holdLane, openSession, transports, useServer } from "../support/conformance-server.ts";
import {
	course,
	courses,
	eventsOf,
	finished,
	fresh,
	isLifecycle,
	type WireClient,
} from "../support/wire-client.ts";

const server = useServer();
const WHOLE = ["accepted", "started", "finished", "response"];
const WITHOUT_START = ["accepted", "finished", "response"];

describe.each(transports)("over %s", (transport) => {
	test("§14 server_ready is the first frame and announces the protocol's version", async () => {
		const client = await server.client(transport);
		await client.caughtUp();
		const first =
			transport === "stdio" ? JSON.parse(server.stdioLines()[0] ?? "") : client.frames[0];
		expect(first).toEqual({
			type: "server_ready",
			data: {
				serverVersion: expect.any(String),
				protocolVersion: "1.0.0",
				transports: ["websocket", "stdio"],
			},
		});
	});

	test("§14 fields that the server does not know are ignored", { tags: "slow" }, async () => {
		const client = await server.client(transport);
		const sessionId = await openSession(client);
		const more = { later: { deep: [1, null, "x"] }, replayed: true, success: false };
		expect(await client.ask({ type: "get_state", sessionId, ...more })).toMatchObject({
			success: true,
		});
	});

	test("§6 session_created and session_deleted reach every connection once, behind the response", async () => {
		const client = await server.client(transport);
		const other = await server.client("websocket");
		const sessionId = fresh("s");
		const created = await client.ask({ type: "create_session", sessionId });
		const deleted = await client.ask({ type: "delete_session", sessionId });
		await client.caughtUp();
		await other.caughtUp();
		for (const { frames } of [client, other]) {
			const news = frames.filter(
				(frame) =>
					(frame.type === "session_created" || frame.type === "session_deleted") &&
					frame.data.sessionId === sessionId,
			);
			expect(news).toEqual([
				{
					type: "session_created",
					data: { sessionId, sessionInfo: expect.objectContaining({ sessionId }) },
				},
				{ type: "session_deleted", data: { sessionId } },
			]);
		}
		const places = client.frames.flatMap((frame) => {
			if (frame.type === "response" && frame.id === created.id) return ["created response"];
			if (frame.type === "response" && frame.id === deleted.id) return ["deleted response"];
			return /^session_/.test(frame.type) ? [frame.type] : [];
		});
		expect(places).toEqual([
			"created response",
			"session_created",
			"deleted response",
			"session_deleted",
		]);
	});

	test("§6.1 events of a session name it and reach only who has subscribed", async () => {
		const client = await server.client(transport);
		const other = await server.client("websocket");
		const sessionId = await openSession(client);
		const rename = (name: string) => client.ask({ type: "set_session_name", sessionId, name });
		await rename("unseen");
		await other.caughtUp();
		expect(eventsOf(other, sessionId)).toEqual([]);
		await other.ask({ type: "subscribe", sessionId });
		await rename("seen");
		await other.next(
			(frame) => frame.type === "event" && frame.sessionId === sessionId && frame.seq !== undefined,
		);
		await other.ask({ type: "unsubscribe", sessionId });
		await rename("unseen again");
		await other.caughtUp();
		const names = (one: WireClient) =>
			eventsOf(one, sessionId).flatMap(({ event }) =>
				event.type === "session_info_changed" ? [event.name] : [],
			);
		await client.next(
			(frame) =>
				frame.type === "event" &&
				frame.event.type === "session_info_changed" &&
				frame.event.name === "unseen again",
		);
		expect(names(other)).toEqual(["seen"]);
		expect(names(client)).toEqual(["unseen", "seen", "unseen again"]);
	});

	test("§6.2 lifecycle events reach every connection, with the command's metadata and its end", async () => {
		const client = await server.client(transport);
		const other = await server.client("websocket");
		const sessionId = await openSession(client);
		const before = fresh("before");
		const id = fresh("named");
		await client.ask({ type: "get_state", id: before, sessionId });
		const envelope = { dependsOn: [before], ifSessionVersion: 0, idempotencyKey: "k" };
		await client.ask({ type: "set_session_name", id, sessionId, name: "n", ...envelope });
		const stale = { type: "set_session_name", id: fresh("stale"), sessionId, name: "n" };
		await client.ask({ ...stale, ifSessionVersion: 0 });
		await other.caughtUp();
		const about = { commandId: id, commandType: "set_session_name", sessionId, ...envelope };
		for (const { frames } of [client, other]) {
			expect(frames.filter((frame) => isLifecycle(frame) && frame.data.commandId === id)).toEqual([
				{ type: "command_accepted", data: about },
				{ type: "command_started", data: about },
				{ type: "command_finished", data: { ...about, success: true, sessionVersion: 1 } },
			]);
		}
		expect(finished(other, stale.id)).toMatchObject({
			success: false,
			error: expect.any(String),
			code: "version_mismatch",
		});
	});

	test("§6.2 a connection can ask for its own lifecycle only, or for none", async () => {
		const client = await server.client(transport);
		const other = await server.client("websocket");
		const [own, foreign, none] = [fresh("own"), fresh("foreign"), fresh("none")];
		await client.ask({ type: "subscribe", lifecycle: "own" });
		await other.ask({ type: "list_sessions", id: foreign });
		await client.ask({ type: "list_sessions", id: own });
		await client.ask({ type: "subscribe", lifecycle: "none" });
		await client.ask({ type: "list_sessions", id: none });
		await client.ask({ type: "subscribe", lifecycle: "all" });
		expect(course(client, foreign)).toEqual([]);
		expect(course(client, own)).toEqual(WHOLE);
		expect(course(client, none)).toEqual(["response"]);
		await other.caughtUp();
		expect(course(other, none)).toEqual(WHOLE.slice(0, 3));
	});

	test("§7.1 an admitted command emits command_accepted, also when it fails", async () => {
		const client = await server.client(transport);
		const sessionId = await openSession(client);
		const failing = {
			executed: { type: "set_model", sessionId, provider: "loop", modelId: "none" },
			nobody: { type: "get_state", sessionId: fresh("nobody") },
			stale: { type: "set_session_name", sessionId, name: "n", ifSessionVersion: 9 },
			dependent: { type: "get_state", sessionId, dependsOn: [fresh("unheard")] },
		};
		const seen = [];
		for (const [name, command] of Object.entries(failing)) {
			const id = fresh(name);
			expect(await client.ask({ ...command, id })).toMatchObject({ success: false });
			seen.push([name, course(client, id)]);
		}
		expect(Object.fromEntries(seen)).toEqual({
			executed: WHOLE,
			nobody: WITHOUT_START,
			stale: WITHOUT_START,
			dependent: WITHOUT_START,
		});
	});

	test("§7.2 accepted, started, finished come in this order and once each, for reads and changes", async () => {
		const client = await server.client(transport);
		const sessionId = fresh("s");
		const commands = [
			{ type: "create_session", sessionId },
			{ type: "get_state", sessionId },
			{ type: "set_session_name", sessionId, name: "n" },
			{ type: "bash", sessionId, command: "true" },
			{ type: "abort", sessionId },
			{ type: "list_sessions" },
			{ type: "health_check" },
			{ type: "delete_session", sessionId },
		].map((command) => ({ ...command, id: fresh(command.type) }));
		client.send(...commands);
		for (const { id } of commands) await client.response(id);
		await client.caughtUp();
		for (const { id } of commands) expect([id, course(client, id)]).toEqual([id, WHOLE]);
		for (const { id } of commands) expect(finished(client, id)).toMatchObject({ success: true });
	});

	test("§7.2 a command without id has a name of the server's making in its lifecycle, and is never a repetition", async () => {
		const client = await server.client(transport);
		const sessionId = await openSession(client);
		const command = { type: "set_session_name", sessionId, name: "same" };
		client.send(command, command);
		await client.ask({ type: "get_state", sessionId });
		const done = client.frames
			.filter(isLifecycle)
			.filter(
				({ type, data }) =>
					type === "command_finished" &&
					data.sessionId === sessionId &&
					data.commandType === command.type,
			);
		expect(done.map(({ data }) => data.sessionVersion)).toEqual([1, 2]);
		for (const { data } of done) {
			expect(data.commandId).toMatch(/^anon:/);
			expect(data).not.toHaveProperty("replayed");
		}
	});

	test("§7.3 a lane carries out its commands in the order in which they came", async () => {
		const client = await server.client(transport);
		const sessionId = await openSession(client);
		const names = Array.from({ length: 20 }, (_, index) => `name ${index}`);
		const ids = names.map(() => fresh("in-order"));
		client.send(
			...names.map((name, index) => ({
				type: "set_session_name",
				id: ids[index],
				sessionId,
				name,
			})),
		);
		const versions = await Promise.all(
			ids.map(async (id) => (await client.response(id)).sessionVersion),
		);
		expect(versions).toEqual(names.map((_, index) => index + 1));
		await client.caughtUp();
		const seen = eventsOf(client, sessionId).flatMap(({ event }) =>
			event.type === "session_info_changed" ? [event.name] : [],
		);
		expect(seen).toEqual(names);
	});

	test("§7.3 in a lane a command is finished before the next is started", async () => {
		const client = await server.client(transport);
		const sessionId = fresh("s");
		const commands = [
			{ type: "create_session", sessionId },
			{ type: "set_session_name", sessionId, name: "n" },
			{ type: "bash", sessionId, command: "true" },
			{ type: "set_thinking_level", sessionId, level: "off" },
			{ type: "set_model", sessionId, provider: "loop", modelId: "none" },
			{ type: "prompt", sessionId, message: "/rename x" },
			{ type: "delete_session", sessionId },
		].map((command) => ({ ...command, id: fresh(command.type) }));
		const ids = commands.map(({ id }) => id);
		client.send(...commands);
		for (const id of ids) await client.response(id);
		const order = courses(client, ids).filter((phase) => !phase.endsWith("accepted"));
		expect(order).toEqual(ids.flatMap((id) => [`${id} started`, `${id} finished`]));
	});

	test("§7.3 lanes do not wait for each other: sessions, and the server, go on beside a busy session", async () => {
		const client = await server.client(transport);
		const busy = await openSession(client);
		const idle = await openSession(client);
		const held = await holdLane(client, busy);
		const queued = fresh("queued");
		client.send({ type: "set_session_name", id: queued, sessionId: busy, name: "later" });
		expect(
			await client.ask({ type: "set_session_name", sessionId: idle, name: "now" }),
		).toMatchObject({ success: true });
		expect(await client.ask({ type: "list_sessions" })).toMatchObject({ success: true });
		expect(await client.ask({ type: "create_session" })).toMatchObject({ success: true });
		expect(course(client, queued)).toEqual(["accepted"]);
		await held.release();
		expect(await client.response(queued)).toMatchObject({ success: true });
	});

	test("§7.3 create_session with an id belongs to the session's lane: a burst behind it finds the session", async () => {
		const client = await server.client(transport);
		const sessionId = fresh("s");
		const commands = [
			{ type: "create_session", sessionId },
			{ type: "set_session_name", sessionId, name: "burst" },
			{ type: "get_state", sessionId },
			{ type: "follow_up", sessionId, message: "say hello" },
			{ type: "subscribe", sessionId },
			{ type: "clear_queue", sessionId },
		].map((command) => ({ ...command, id: fresh(command.type) }));
		client.send(...commands);
		for (const { id } of commands) {
			expect(await client.response(id)).toMatchObject({ success: true });
		}
		const state = await client.response(commands[2]?.id ?? "");
		expect(state.data).toMatchObject({ sessionId, sessionName: "burst" });
	});

	test("§7.3 a server command with a stray sessionId stays in the server's lane and makes no session", async () => {
		const client = await server.client(transport);
		const ghost = fresh("ghost");
		const listed = await client.ask({ type: "list_sessions", sessionId: ghost });
		expect(listed).toMatchObject({ success: true });
		expect(listed).not.toHaveProperty("sessionVersion");
		expect(finished(client, listed.id ?? "")).not.toHaveProperty("sessionId");
		expect(
			await client.ask({ type: "get_state", sessionId: ghost, ifSessionVersion: 0 }),
		).toMatchObject({ success: false, code: "unknown_session" });
	});
});
