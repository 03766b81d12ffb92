import { describe, expect, test } from "vitest";
import {
	dialogOf,
	holdLane,
	openSession,
	transports,
	useServer,
} from "../support/conformance-server.ts";
import { course, courses, finished, fresh } from "../support/wire-client.ts";

const LONG_MS = 1500;
const QUEUE_MS = 1000;
const server = useServer({
	limits: [`longMs=${LONG_MS}`, `queueMs=${QUEUE_MS}`, "graceMs=5000"],
});
const WHOLE = ["accepted", "started", "finished", "response"];

describe.each(transports)("over %s", (transport) => {
	test("§11 a timeout is a failed outcome with timedOut, which a repetition gets again, whatever the work did later", {
		tags: "slow",
	}, async () => {
		const { client, sessionId } = await withSession();
		const id = fresh("late");
		const message = `/later ${LONG_MS + 300} late-name`;
		const command = { type: "prompt", id, sessionId, message, idempotencyKey: "k" };
		const outcome = await client.ask(command);
		expect(outcome).toMatchObject({ success: false, timedOut: true, code: "timeout" });
		expect(course(client, id)).toEqual(WHOLE);
		expect(finished(client, id)).toMatchObject({ success: false, timedOut: true });
		expect(await client.ask(command)).toEqual({ ...outcome, replayed: true });
		// The work goes on: that it ends well after all shows in the session, not in the outcome.
		await expect
			.poll(async () => (await client.ask({ type: "get_state", sessionId })).sessionVersion)
			.toBe(1);
		const state = await client.ask({ type: "get_state", sessionId });
		expect(state.data?.sessionName).toBe("late-name");
		expect(await client.ask(command)).toEqual({ ...outcome, replayed: true });
		expect(await client.ask({ ...command, id: fresh("by-key") })).toMatchObject({
			success: false,
			timedOut: true,
			replayed: true,
		});
		expect(course(client, id).filter((phase) => phase === "started")).toHaveLength(1);
	});

	test("§11 a command under a new id is a fresh attempt", { tags: "slow" }, async () => {
		const { client, sessionId } = await withSession();
		const command = { type: "bash", sessionId, command: "sleep 10" };
		expect(await client.ask(command)).toMatchObject({ timedOut: true });
		expect(await client.ask({ ...command, command: "true" })).toMatchObject({ success: true });
	});

	test("§11 who joined a command that times out gets the same timeout, and what depends on it fails", {
		tags: "slow",
	}, async () => {
		const { client, sessionId } = await withSession();
		const held = await holdLane(client, sessionId);
		const other = await server.client("websocket");
		other.send(held.command);
		const outcome = await client.response(held.id);
		expect(outcome).toMatchObject({ timedOut: true });
		expect(await other.response(held.id)).toEqual({ ...outcome, replayed: true });
		expect(await client.ask({ type: "get_state", sessionId, dependsOn: [held.id] })).toMatchObject({
			code: "dependency_failed",
		});
	});

	test("§11 a command whose time runs out in the queue is never started", {
		tags: "slow",
	}, async () => {
		const { client, sessionId } = await withSession();
		const held = await holdLane(client, sessionId);
		const id = fresh("expired");
		const command = { type: "set_session_name", id, sessionId, name: "never" };
		const outcome = await client.ask(command);
		expect(outcome).toMatchObject({ success: false, timedOut: true, code: "timeout" });
		expect(course(client, id)).toEqual(["accepted", "finished", "response"]);
		expect(course(client, held.id)).toEqual(["accepted", "started"]);
		await client.ask({ type: "abort", sessionId });
		await client.response(held.id);
		expect(await client.ask({ type: "set_session_name", sessionId, name: "after" })).toMatchObject({
			success: true,
		});
		expect(await client.ask(command)).toEqual({ ...outcome, replayed: true });
		expect(course(client, id)).not.toContain("started");
		const state = await client.ask({ type: "get_state", sessionId });
		expect(state.data?.sessionName).toBe("after");
	});

	test("§11 a lane waits for timed-out work to really end before the next command is started", {
		tags: "slow",
	}, async () => {
		const { client, sessionId } = await withSession();
		const [late, next] = [fresh("late"), fresh("next")];
		client.send({ type: "prompt", id: late, sessionId, message: `/later ${LONG_MS + 150} one` });
		await client.response(late);
		client.send({ type: "set_session_name", id: next, sessionId, name: "two" });
		expect(await client.response(next)).toMatchObject({ success: true, sessionVersion: 2 });
		const state = await client.ask({ type: "get_state", sessionId });
		expect(state.data?.sessionName).toBe("two");
		expect(courses(client, [late, next]).slice(-2)).toEqual([
			`${next} started`,
			`${next} finished`,
		]);
	});

	test("§11 a prompt that is waited for has no fixed timeout", { tags: "slow" }, async () => {
		const { client, sessionId } = await withSession();
		const id = fresh("settled");
		client.send({ type: "prompt", id, sessionId, message: "ponder", waitFor: "settled" });
		const requestId = await dialogOf(client, sessionId);
		await new Promise((resolve) => setTimeout(resolve, LONG_MS + QUEUE_MS));
		expect(course(client, id)).toEqual(["accepted", "started"]);
		const response = { confirmed: true };
		await client.ask({ type: "extension_ui_response", sessionId, requestId, response });
		expect(await client.response(id)).toMatchObject({
			success: true,
			data: { stopReason: "stop" },
		});
	});

	async function withSession() {
		const client = await server.client(transport);
		return { client, sessionId: await openSession(client) };
	}
});
