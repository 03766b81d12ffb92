// @module-tag slow
import { beforeAll, describe, expect, test } from "vitest";
import { openSession, transports, useServer } from "../support/conformance-server.ts";
import {
	type Answer,
	course,
	eventsOf,
	fresh,
	type Transport,
	type WireClient,
} from "../support/wire-client.ts";

const server = useServer();

/** What one client had done before the server was killed. */
interface Scene {
	/** Named and changed twice, but nothing was said in it, so that pi has no file of it. */
	silent: string;
	/** Something was said in it. */
	spoken: string;
	deleted: string;
	/** In the middle of an answer, with a number of events. */
	hanging: string;
	begun: object[];
	events: object[];
	change: { type: string; id: string; [field: string]: unknown };
	changed: Answer;
	failure: { type: string; id: string; [field: string]: unknown };
	failed: Answer;
	/** Under way, and waiting behind that. */
	running: { type: string; id: string; [field: string]: unknown };
	waiting: { type: string; id: string; [field: string]: unknown };
}

const scenes = new Map<Transport, Scene>();

beforeAll(async () => {
	for (const transport of transports) {
		scenes.set(transport, await playScene(await server.client(transport)));
	}
	await server.restart();
});

describe.each(transports)("after SIGKILL, over %s", (transport) => {
	const back = async () => ({
		client: await server.client(transport),
		...(scenes.get(transport) as Scene),
	});

	test("§8.1 ids replay their outcomes, failures too, and are still in conflict with other content", async () => {
		const { client, change, changed, failure, failed } = await back();
		expect(await client.ask(change)).toEqual({ ...changed, replayed: true });
		expect(await client.ask(failure)).toEqual({ ...failed, replayed: true });
		expect(course(client, change.id)).toEqual(["accepted", "finished", "response"]);
		expect(await client.ask({ ...change, name: "other" })).toMatchObject({ code: "id_conflict" });
	});

	test("§8.2 keys replay their outcomes, and are still in conflict with other content", async () => {
		const { client, change, changed } = await back();
		const id = fresh("by-key");
		expect(await client.ask({ ...change, id })).toEqual({ ...changed, id, replayed: true });
		expect(await client.ask({ ...change, id: fresh("x"), name: "other" })).toMatchObject({
			code: "key_conflict",
		});
	});

	test("§9 commands from before are known as dependencies", async () => {
		const { client, silent, change, failure } = await back();
		expect(
			await client.ask({ type: "get_state", sessionId: silent, dependsOn: [change.id] }),
		).toMatchObject({ success: true });
		expect(
			await client.ask({ type: "get_state", sessionId: silent, dependsOn: [failure.id] }),
		).toMatchObject({ code: "dependency_failed" });
	});

	test("§10 versions go on where they were, and a session without a file has its name and settings", async () => {
		const { client, silent } = await back();
		const state = await client.ask({ type: "get_state", sessionId: silent, ifSessionVersion: 2 });
		expect(state).toMatchObject({
			success: true,
			sessionVersion: 2,
			data: { sessionName: "silent", followUpMode: "all" },
		});
		expect(
			await client.ask({ type: "set_session_name", sessionId: silent, name: "heard" }),
		).toMatchObject({ success: true, sessionVersion: 3 });
	});

	test("§10 a session with a file has its messages, and one that was deleted stays so", async () => {
		const { client, spoken, deleted } = await back();
		const messages = await client.ask({ type: "get_messages", sessionId: spoken });
		expect(JSON.stringify(messages.data)).toContain("said before");
		const listed = await client.ask({ type: "list_sessions" });
		const sessions = (listed.data?.sessions ?? []) as { sessionId: string }[];
		expect(sessions.map(({ sessionId }) => sessionId)).toContain(spoken);
		expect(sessions.map(({ sessionId }) => sessionId)).not.toContain(deleted);
	});

	test("§7.2 what was under way is finished as a stored failure that says so, and is not carried out", async () => {
		const { client, running, waiting, spoken } = await back();
		for (const command of [running, waiting]) {
			const outcome = await client.ask(command);
			expect(outcome).toMatchObject({
				success: false,
				code: "interrupted",
				error: expect.stringMatching(/may or may not/),
				replayed: true,
			});
			expect(course(client, command.id)).toEqual(["accepted", "finished", "response"]);
			expect(await client.ask(command)).toEqual(outcome);
		}
		expect(await client.ask({ type: "get_state", sessionId: spoken })).toMatchObject({
			sessionVersion: 1,
		});
		const recovery = await client.ask({ type: "get_startup_recovery" });
		expect(recovery.data).toMatchObject({ crashed: true });
		const { interrupted } = recovery.data as unknown as { interrupted: { commandId: string }[] };
		const ids = interrupted.map(({ commandId }) => commandId);
		expect(ids).toEqual(expect.arrayContaining([running.id, waiting.id]));
	});

	test("§6.1 the events are there under the same numbers, and go on without a hole", {
		tags: "slow",
	}, async () => {
		const { client, spoken, events } = await back();
		await client.ask({ type: "subscribe", sessionId: spoken, after: 0 });
		await client.ask({
			type: "prompt",
			sessionId: spoken,
			message: "say more",
			waitFor: "settled",
		});
		await client.caughtUp();
		const seen = eventsOf(client, spoken).filter(({ seq }) => seq !== undefined);
		expect(seen.slice(0, events.length)).toEqual(events);
		expect(seen.map(({ seq }) => seq)).toEqual(seen.map((_, index) => index + 1));
		expect(seen.length).toBeGreaterThan(events.length + 5);
	});

	test("§6.1 a run that was cut off has an end, which is the next event and comes once", async () => {
		const { client, hanging, begun } = await back();
		await client.ask({ type: "subscribe", sessionId: hanging, after: 0 });
		const settled = { type: "agent_settled", interrupted: true };
		const end = { type: "event", sessionId: hanging, seq: begun.length + 1, event: settled };
		await client.next((frame) => JSON.stringify(frame) === JSON.stringify(end));
		const seen = eventsOf(client, hanging);
		expect(seen.slice(0, begun.length)).toEqual(begun);
		expect(seen[begun.length]).toEqual(end);
		expect(seen.filter(({ event }) => event.type === "agent_settled")).toEqual([end]);
		expect((await client.ask({ type: "get_state", sessionId: hanging })).data).toMatchObject({
			isStreaming: false,
		});
	});

	test("get_command_history of a session has its begin and its end, and why a command failed", async () => {
		const { client, deleted, failure, failed } = await back();
		const history = async (query: object) => {
			const { data } = await client.ask({ type: "get_command_history", ...query });
			return (data as unknown as { entries: { commandType: string; code?: string }[] }).entries;
		};
		const types = (await history({ sessionIdFilter: deleted })).map((entry) => entry.commandType);
		expect(types[0]).toBe("delete_session");
		expect(types.at(-1)).toBe("create_session");
		expect(failed.code).toBeDefined();
		expect((await history({ commandId: failure.id }))[0]?.code).toBe(failed.code);
	});

	test("get_command_history has the commands of before, newest first, by session, id, time and number", async () => {
		const { client, silent, change, failure, running } = await back();
		const ask = async (query: object) => {
			const { data } = await client.ask({ type: "get_command_history", ...query });
			return data as unknown as {
				entries: { commandId: string; atMs: number; success?: boolean; sessionId?: string }[];
				returned: number;
				truncated: boolean;
			};
		};
		expect(await ask({ commandId: change.id })).toMatchObject({
			entries: [
				{
					...{ commandId: change.id, commandType: "set_session_name", sessionId: silent },
					...{ success: true, atMs: expect.any(Number), finishedAtMs: expect.any(Number) },
				},
			],
			returned: 1,
			truncated: false,
		});
		expect((await ask({ commandId: failure.id })).entries[0]).toMatchObject({ success: false });
		expect((await ask({ commandId: running.id })).entries[0]).toMatchObject({ success: false });
		const ofSession = await ask({ sessionIdFilter: silent });
		expect(ofSession.entries.length).toBeGreaterThan(3);
		for (const { sessionId } of ofSession.entries) expect(sessionId).toBe(silent);
		const times = ofSession.entries.map(({ atMs }) => atMs);
		expect(times).toEqual([...times].sort((a, b) => b - a));
		expect(await ask({ sessionIdFilter: silent, limit: 2 })).toMatchObject({
			returned: 2,
			truncated: true,
		});
		const [changed] = (await ask({ commandId: change.id })).entries;
		const until = await ask({ sessionIdFilter: silent, toTimestamp: changed?.atMs });
		expect(until.entries.map(({ commandId }) => commandId)).toContain(change.id);
		expect(until.returned).toBeLessThan(ofSession.returned);
	});
});

async function playScene(client: WireClient): Promise<Scene> {
	const [silent, spoken, deleted, hanging] = [
		await openSession(client),
		await openSession(client),
		await openSession(client),
		await openSession(client),
	];
	await client.ask({ type: "delete_session", sessionId: deleted });
	const change = {
		...{ type: "set_session_name", id: fresh("change"), sessionId: silent, name: "silent" },
		...{ idempotencyKey: "k", ifSessionVersion: 0 },
	};
	const changed = await client.ask(change);
	await client.ask({ type: "set_follow_up_mode", sessionId: silent, mode: "all" });
	const failure = {
		...{ type: "set_model", id: fresh("failure"), sessionId: silent },
		...{ provider: "loop", modelId: "none" },
	};
	const failed = await client.ask(failure);
	await client.ask({
		...{ type: "prompt", sessionId: spoken, message: "say said before" },
		waitFor: "settled",
	});
	await client.next(
		(frame) =>
			frame.type === "event" && frame.sessionId === spoken && frame.event.type === "agent_settled",
	);
	await client.ask({ type: "prompt", sessionId: hanging, message: "hang" });
	await client.next(
		(frame) =>
			frame.type === "event" &&
			frame.sessionId === hanging &&
			frame.event.type === "message_update" &&
			JSON.stringify(frame.event).includes("well"),
	);
	const running = {
		...{ type: "prompt", id: fresh("running"), sessionId: spoken },
		message: "/later 60000 too-late",
	};
	const waiting = { type: "set_session_name", id: fresh("waiting"), sessionId: spoken, name: "w" };
	client.send(running, waiting);
	await client.next(
		(frame) => frame.type === "command_started" && frame.data.commandId === running.id,
	);
	// A change behind it in another lane is on disk, so what waits is on disk as well.
	await client.ask({ type: "create_session" });
	const numbered = (sessionId: string) =>
		eventsOf(client, sessionId).filter(({ seq }) => seq !== undefined);
	const [events, begun] = [numbered(spoken), numbered(hanging)];
	const commands = { change, changed, failure, failed, running, waiting };
	return { silent, spoken, deleted, hanging, begun, events, ...commands };
}
