import { describe, expect, test } from "vitest";
import { moveClock } from "../../support/postgres.ts";
import { holdLane, openSession, transports, useServer } from "../support/conformance-server.ts";
import { course, finished, fresh, isLifecycle, type WireClient } from "../support/wire-client.ts";

/** Lets eleven minutes pass for the server whenever it gets the signal, which is more than a key lives. With a database, its clock counts. */
const jumpingClock = `
let ahead = 0;
const now = Date.now;
Date.now = () => now() + ahead;
process.on("SIGUSR2", () => { ahead += 660_000; });
`;
const preload = `data:text/javascript,${encodeURIComponent(jumpingClock)}`;
const server = useServer({ env: { NODE_OPTIONS: `--import=${preload}` } });

const KEPT_IN_MEMORY = 10_000;
const BURST = 120;
const WHOLE = ["accepted", "started", "finished", "response"];
const REPLAY = ["accepted", "finished", "response"];

describe.each(transports)("over %s", (transport) => {
	test("§8.1 same id and same fingerprint replays the prior outcome", {
		tags: "slow",
	}, async () => {
		const { client, sessionId } = await withSession();
		const id = fresh("change");
		const command = { type: "set_session_name", id, sessionId, name: "once" };
		const first = await client.ask(command);
		expect(await client.ask(command)).toEqual({ ...first, replayed: true });
		expect(await versionOf(client, sessionId)).toBe(1);
	});

	test("§8.1 a failure is an outcome too", async () => {
		const { client, sessionId } = await withSession();
		const id = fresh("failing");
		const command = { type: "set_model", id, sessionId, provider: "loop", modelId: "none" };
		const first = await client.ask(command);
		expect(first).toMatchObject({ success: false, code: "not_found" });
		expect(await client.ask(command)).toEqual({ ...first, replayed: true });
		const stale = {
			...{ type: "set_session_name", id: fresh("stale"), sessionId, name: "n" },
			ifSessionVersion: 7,
		};
		const refused = await client.ask(stale);
		expect(refused).toMatchObject({ success: false, code: "version_mismatch" });
		expect(await client.ask(stale)).toEqual({ ...refused, replayed: true });
	});

	test("§8.1 a read is replayed as it was, whatever has changed since", async () => {
		const { client, sessionId } = await withSession();
		const command = { type: "get_state", id: fresh("read"), sessionId };
		const first = await client.ask(command);
		await client.ask({ type: "set_session_name", sessionId, name: "new" });
		expect(await client.ask(command)).toEqual({ ...first, replayed: true });
	});

	test("§8.1 an id means the same on every connection", async () => {
		const { client, sessionId } = await withSession();
		const other = await server.client("websocket");
		const command = { type: "set_session_name", id: fresh("shared"), sessionId, name: "n" };
		const first = await client.ask(command);
		expect(await other.ask(command)).toEqual({ ...first, replayed: true });
	});

	test("§8.1 same id and another fingerprint fails with a conflict, and changes nothing", async () => {
		const { client, sessionId } = await withSession();
		const command = { type: "set_session_name", id: fresh("taken"), sessionId, name: "first" };
		const first = await client.ask(command);
		expect(await client.ask({ ...command, name: "second" })).toMatchObject({
			success: false,
			code: "id_conflict",
			error: expect.stringContaining(command.id),
		});
		expect(await client.ask(command)).toEqual({ ...first, replayed: true });
		const state = await client.ask({ type: "get_state", sessionId });
		expect(state).toMatchObject({ sessionVersion: 1, data: { sessionName: "first" } });
	});

	test("§7.4 a replay hit emits command_accepted and command_finished with replayed, and no command_started", async () => {
		const { client, sessionId } = await withSession();
		const watching = await server.client("websocket");
		const command = {
			...{ type: "set_session_name", id: fresh("again"), sessionId, name: "n" },
			idempotencyKey: "k",
		};
		await client.ask(command);
		await watching.caughtUp();
		const seen = client.frames.length;
		const seenByOther = watching.frames.length;
		await client.ask(command);
		await watching.caughtUp();
		for (const frames of [client.frames.slice(seen), watching.frames.slice(seenByOther)]) {
			const phases = frames.filter(
				(frame) => isLifecycle(frame) && frame.data.commandId === command.id,
			);
			expect(phases).toEqual([
				{ type: "command_accepted", data: expect.not.objectContaining({ replayed: true }) },
				{
					type: "command_finished",
					data: expect.objectContaining({ replayed: true, success: true, sessionVersion: 1 }),
				},
			]);
		}
	});

	test("§7.4 a conflict is admitted, never started, and finished as a failure", async () => {
		const { client, sessionId } = await withSession();
		const id = fresh("conflict");
		await client.ask({ type: "get_state", id, sessionId });
		await client.ask({ type: "get_messages", id, sessionId });
		expect(course(client, id)).toEqual([...WHOLE, ...REPLAY]);
		const last = client.frames.filter(isLifecycle).at(-1);
		expect(last).toMatchObject({ data: { success: false, code: "id_conflict" } });
		expect(last?.data).not.toHaveProperty("replayed");
	});

	test("§5.1 a replay without id in the request has no id, and one with another id has that", async () => {
		const { client, sessionId } = await withSession();
		const command = { type: "set_session_name", sessionId, name: "n", idempotencyKey: "k" };
		const first = await client.ask({ ...command, id: fresh("first") });
		const { id: _, ...outcome } = first;
		const known = client.frames.length;
		client.send(command);
		await client.next(
			(frame) => client.frames.indexOf(frame) >= known && frame.type === "response",
		);
		const replays = client.frames.slice(known).filter((frame) => frame.type === "response");
		expect(replays).toEqual([{ ...outcome, replayed: true }]);
		const other = fresh("other");
		expect(await client.ask({ ...command, id: other })).toEqual({
			...outcome,
			id: other,
			replayed: true,
		});
	});

	test("§8.2 same key and same fingerprint replays the prior outcome", async () => {
		const { client, sessionId } = await withSession();
		const command = { type: "set_session_name", sessionId, name: "n", idempotencyKey: "k" };
		const { id: _, ...first } = await client.ask(command);
		const again = await client.ask(command);
		expect(again).toEqual({ ...first, id: again.id, replayed: true });
		expect(course(client, again.id ?? "")).toEqual(REPLAY);
		expect(await versionOf(client, sessionId)).toBe(1);
	});

	test("§8.2 same key and another fingerprint fails with a conflict", async () => {
		const { client, sessionId } = await withSession();
		const command = { type: "set_session_name", sessionId, name: "first", idempotencyKey: "k" };
		await client.ask(command);
		expect(await client.ask({ ...command, name: "second" })).toMatchObject({
			success: false,
			code: "key_conflict",
		});
		expect(await versionOf(client, sessionId)).toBe(1);
	});

	test("§8.2 a key is scoped by its session, and that of server commands by the server", async () => {
		const { client, sessionId } = await withSession();
		const other = await openSession(client);
		const idempotencyKey = fresh("key");
		const [one, two, three] = [
			await client.ask({ type: "get_state", sessionId, idempotencyKey }),
			await client.ask({ type: "get_messages", sessionId: other, idempotencyKey }),
			await client.ask({ type: "list_sessions", idempotencyKey }),
		];
		for (const answer of [one, two, three]) {
			expect(answer.success).toBe(true);
			expect(answer).not.toHaveProperty("replayed");
		}
		expect(await client.ask({ type: "health_check", idempotencyKey })).toMatchObject({
			code: "key_conflict",
		});
	});

	test("§8.2 a server command that names a session has the server's scope all the same", async () => {
		const client = await server.client(transport);
		const idempotencyKey = fresh("key");
		const create = { type: "create_session", idempotencyKey };
		await client.ask({ ...create, sessionId: fresh("s") });
		expect(await client.ask({ ...create, sessionId: fresh("s") })).toMatchObject({
			code: "key_conflict",
		});
	});

	test("§8.2 an expired key is forgotten: the command executes normally", async () => {
		const { client, sessionId } = await withSession();
		const command = { type: "set_session_name", sessionId, name: "n", idempotencyKey: "k" };
		const id = fresh("kept");
		await client.ask({ ...command, id });
		if (server.database === undefined) server.process.child.kill("SIGUSR2");
		else await moveClock(server.database, 660_000);
		const versionNow = async () => (await client.ask(command)).sessionVersion;
		await expect.poll(versionNow, { interval: 200 }).toBe(2);
		// An id has no such end.
		expect(await client.ask({ ...command, id })).toMatchObject({
			replayed: true,
			sessionVersion: 1,
		});
	});

	test.each([
		["another value", { name: "b" }],
		["another type", { type: "prompt", message: "/rename a" }],
		["a version to check", { ifSessionVersion: 1 }],
		["a dependency", { dependsOn: ["x"] }],
		["a field that the server does not know", { unknown: true }],
	])("§8.3 %s is another intent", async (_what, more) => {
		const { client, sessionId } = await withSession();
		const command = { type: "set_session_name", id: fresh("intent"), sessionId, name: "a" };
		await client.ask(command);
		expect(await client.ask({ ...command, ...more })).toMatchObject({ code: "id_conflict" });
	});

	test("§8.3 another session is another intent", async () => {
		const { client, sessionId } = await withSession();
		const command = { type: "get_state", id: fresh("where"), sessionId };
		await client.ask(command);
		const other = await openSession(client);
		expect(await client.ask({ ...command, sessionId: other })).toMatchObject({
			code: "id_conflict",
		});
	});

	test("§8.3 the order of fields, spaces, escapes and the key do not matter", async () => {
		const { client, sessionId } = await withSession();
		const id = fresh("spelling");
		client.send(
			`{"type":"set_session_name","id":"${id}","sessionId":"${sessionId}","name":"\u00e9","ifSessionVersion":0}`,
		);
		const first = await client.response(id);
		expect(first).toMatchObject({ success: true });
		const known = client.frames.length;
		client.send(
			`{ "ifSessionVersion": 0.0e1, "name":"\\u00e9", "sessionId":"${sessionId}", "id":"${id}", "type":"set_session_name", "idempotencyKey": "new" }`,
		);
		await client.next(
			(frame) => client.frames.indexOf(frame) >= known && frame.type === "response",
		);
		expect(client.frames.slice(known).find(({ type }) => type === "response")).toEqual({
			...first,
			replayed: true,
		});
	});

	test("§8 if either id or key is in conflict, the conflict wins", async () => {
		const { client, sessionId } = await withSession();
		const idempotencyKey = fresh("key");
		const one = { type: "set_session_name", id: fresh("one"), sessionId, name: "one" };
		await client.ask(one);
		await client.ask({ type: "set_session_name", sessionId, name: "two", idempotencyKey });
		expect(await client.ask({ ...one, idempotencyKey })).toMatchObject({ code: "key_conflict" });
		expect(await client.ask({ ...one, name: "two", idempotencyKey })).toMatchObject({
			code: "id_conflict",
		});
		expect(await versionOf(client, sessionId)).toBe(2);
	});

	test("§8 what was refused is not stored: the same id works afterwards", async () => {
		const { client, sessionId } = await withSession();
		const id = fresh("retry");
		const command = { type: "set_session_name", id, sessionId, name: "n" };
		expect(await client.ask({ ...command, name: 7 })).toMatchObject({ code: "invalid_command" });
		await client.ask({ type: "get_state", sessionId, idempotencyKey: "k" });
		expect(await client.ask({ ...command, idempotencyKey: "k" })).toMatchObject({
			code: "key_conflict",
		});
		const done = await client.ask(command);
		expect(done).toMatchObject({ success: true });
		expect(done).not.toHaveProperty("replayed");
	});

	test("§8 a repetition of a command under way is accepted at once, waits for it, and gets its outcome", async () => {
		const { client, sessionId } = await withSession();
		const held = await holdLane(client, sessionId);
		const other = await server.client("websocket");
		other.send(held.command);
		await other.next(
			(frame) => frame.type === "command_accepted" && frame.data.commandId === held.id,
		);
		await other.caughtUp();
		// The connection came too late to see the first one's beginning.
		expect(course(other, held.id)).toEqual(["accepted"]);
		const first = await held.release();
		expect(first).toMatchObject({ success: true, sessionVersion: 1 });
		expect(await other.response(held.id)).toEqual({ ...first, replayed: true });
		expect(course(other, held.id)).toEqual(["accepted", "finished", "finished", "response"]);
		const ends = other.frames
			.filter(isLifecycle)
			.filter(({ type, data }) => type === "command_finished" && data.commandId === held.id);
		expect(ends.map(({ data }) => data.replayed)).toEqual([undefined, true]);
	});

	test("§8.2 a repetition by key under another id joins too, and its id is known from then on", async () => {
		const { client, sessionId } = await withSession();
		const idempotencyKey = fresh("key");
		const held = await holdLane(client, sessionId);
		const queued = { type: "set_session_name", sessionId, name: "n", idempotencyKey };
		const [first, second] = [fresh("first"), fresh("second")];
		client.send({ ...queued, id: first }, { ...queued, id: second });
		await held.release();
		const outcome = await client.response(first);
		expect(outcome).toMatchObject({ success: true, sessionVersion: 2 });
		expect(await client.response(second)).toEqual({ ...outcome, id: second, replayed: true });
		expect(course(client, second)).toEqual(REPLAY);
		expect(await client.ask({ type: "get_state", sessionId, dependsOn: [second] })).toMatchObject({
			success: true,
		});
		expect(await client.ask({ ...queued, id: second, name: "other" })).toMatchObject({
			code: "id_conflict",
		});
	});

	test("§8.1 an id is still known after more commands than the server keeps in memory", {
		tags: "slow",
	}, async () => {
		const { client, sessionId } = await withSession();
		await client.ask({ type: "subscribe", lifecycle: "none" });
		const command = { type: "set_session_name", id: fresh("old"), sessionId, name: "once" };
		const first = await client.ask(command);
		for (let sent = 0; sent < KEPT_IN_MEMORY + BURST; sent += BURST) {
			const ids = Array.from({ length: BURST }, () => fresh("newer"));
			client.send(...ids.map((id) => ({ type: "unsubscribe", id, sessionId })));
			await client.response(ids.at(-1) as string);
		}
		expect(await client.ask(command)).toEqual({ ...first, replayed: true });
		expect(await versionOf(client, sessionId)).toBe(1);
		await client.ask({ type: "subscribe", lifecycle: "all" });
	});

	test("§8 a replayed create or delete announces nothing a second time", async () => {
		const client = await server.client(transport);
		const sessionId = fresh("s");
		const create = { type: "create_session", id: fresh("create"), sessionId };
		const remove = { type: "delete_session", id: fresh("delete"), sessionId };
		for (const command of [create, create, remove, remove, create]) await client.ask(command);
		await client.caughtUp();
		const news = client.frames.filter(({ type }) => /^session_(created|deleted)$/.test(type));
		expect(news.map(({ type }) => type)).toEqual(["session_created", "session_deleted"]);
		expect(finished(client, create.id)).toMatchObject({ success: true, sessionVersion: 0 });
		const listed = await client.ask({ type: "list_sessions" });
		expect(JSON.stringify(listed.data)).not.toContain(`"${sessionId}"`);
	});

	async function withSession() {
		const client = await server.client(transport);
		return { client, sessionId: await openSession(client) };
	}
});

async function versionOf(client: WireClient, sessionId: string) {
	return (await client.ask({ type: "get_state", sessionId })).sessionVersion;
}
