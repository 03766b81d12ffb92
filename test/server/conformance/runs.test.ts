import { describe, expect, test } from "vitest";
import {
	dialogOf,
	holdLane,
	openSession,
	transports,
	useServer,
} from "../support/conformance-server.ts";
import { course, eventsOf, fresh, type WireClient } from "../support/wire-client.ts";

const server = useServer();

describe.each(transports)("over %s", (transport) => {
	test("§7.3 a prompt is answered when it is accepted, while its run goes on", {
		tags: "slow",
	}, async () => {
		const { client, sessionId } = await withSession();
		expect(await client.ask({ type: "prompt", sessionId, message: "hang" })).toMatchObject({
			success: true,
			sessionVersion: 1,
		});
		const state = await client.ask({ type: "get_state", sessionId });
		expect(state.data).toMatchObject({ isStreaming: true });
		await client.ask({ type: "abort", sessionId });
		await settled(client, sessionId);
	});

	test("§7.3 a prompt with waitFor settled is answered at the end of its run", {
		tags: "slow",
	}, async () => {
		const { client, sessionId } = await withSession();
		const id = fresh("settled");
		client.send({ type: "prompt", id, sessionId, message: "ponder", waitFor: "settled" });
		const requestId = await dialogOf(client, sessionId);
		expect(course(client, id)).toEqual(["accepted", "started"]);
		await client.ask({
			type: "extension_ui_response",
			sessionId,
			requestId,
			response: { confirmed: true },
		});
		expect(await client.response(id)).toMatchObject({
			success: true,
			data: { stopReason: "stop" },
		});
		const state = await client.ask({ type: "get_state", sessionId });
		expect(state.data).toMatchObject({ isStreaming: false });
		const text = await client.ask({ type: "get_last_assistant_text", sessionId });
		expect(text.data).toEqual({ text: "thank you" });
	});

	test("§7.3 abort ends a run that is waited for, though commands queue behind it", async () => {
		const { client, sessionId } = await withSession();
		const [run, queued] = [fresh("run"), fresh("queued")];
		client.send(
			{ type: "prompt", id: run, sessionId, message: "hang", waitFor: "settled" },
			{ type: "set_session_name", id: queued, sessionId, name: "behind" },
		);
		await update(client, sessionId);
		expect(await client.ask({ type: "abort", sessionId })).toMatchObject({ success: true });
		expect(await client.response(run)).toMatchObject({
			success: true,
			data: { stopReason: "aborted" },
		});
		expect(await client.response(queued)).toMatchObject({ success: true });
	});

	test("§7.3 reads, steer and follow_up get through a running prompt and what queues behind it", {
		tags: "slow",
	}, async () => {
		const { client, sessionId } = await withSession();
		const [run, queued] = [fresh("run"), fresh("queued")];
		client.send(
			{ type: "prompt", id: run, sessionId, message: "ponder", waitFor: "settled" },
			{ type: "set_session_name", id: queued, sessionId, name: "behind" },
		);
		const requestId = await dialogOf(client, sessionId);
		for (const type of ["get_state", "get_messages", "get_session_stats", "get_tree"]) {
			expect(await client.ask({ type, sessionId })).toMatchObject({ success: true });
		}
		expect(await client.ask({ type: "steer", sessionId, message: "say steered" })).toMatchObject({
			success: true,
		});
		expect(
			await client.ask({ type: "follow_up", sessionId, message: "say followed" }),
		).toMatchObject({ success: true });
		expect(course(client, run)).toEqual(["accepted", "started"]);
		expect(course(client, queued)).toEqual(["accepted"]);
		const response = { confirmed: false };
		await client.ask({ type: "extension_ui_response", sessionId, requestId, response });
		expect(await client.response(run)).toMatchObject({ success: true });
		expect(await client.response(queued)).toMatchObject({ success: true });
		const messages = await client.ask({ type: "get_messages", sessionId });
		const said = JSON.stringify(messages.data);
		expect(said).toContain("the user said false");
		expect(said).toContain("say steered");
		expect(said).toContain("say followed");
	});

	test("§7.3 abort_bash stops a shell command, and the result says so", async () => {
		const { client, sessionId } = await withSession();
		const id = fresh("bash");
		client.send({ type: "bash", id, sessionId, command: "echo begun; sleep 60" });
		await client.next(
			(frame) =>
				frame.type === "event" &&
				frame.sessionId === sessionId &&
				frame.event.type === "bash_execution_update",
		);
		const state = await client.ask({ type: "get_state", sessionId });
		expect(state.data).toMatchObject({ isBashRunning: true });
		expect(await client.ask({ type: "abort_bash", sessionId })).toMatchObject({ success: true });
		expect(await client.response(id)).toMatchObject({
			success: true,
			data: { cancelled: true, output: expect.stringContaining("begun") },
		});
		const after = await client.ask({ type: "get_state", sessionId });
		expect(after.data).toMatchObject({ isBashRunning: false });
	});

	test("§7.3 a prompt that is no command of the session fails, unless it is sent verbatim", async () => {
		const { client, sessionId } = await withSession();
		const prompt = { type: "prompt", sessionId, message: "/compact", waitFor: "settled" };
		const id = fresh("unknown");
		const refused = await client.ask({ ...prompt, id });
		expect(refused).toMatchObject({ success: false, code: "unknown_command" });
		expect(refused.error).toContain("compact of the protocol");
		const messages = await client.ask({ type: "get_messages", sessionId });
		expect(messages.data).toEqual({ messages: [] });
		expect(await client.ask({ ...prompt, verbatim: true })).toMatchObject({ success: true });
	});

	test("§7.3 create_session and reads of it in one burst work", async () => {
		const client = await server.client(transport);
		const sessionId = fresh("s");
		const [state, tools] = [fresh("state"), fresh("tools")];
		client.send(
			{ type: "create_session", sessionId },
			{ type: "get_state", id: state, sessionId },
			{ type: "get_tools", id: tools, sessionId },
		);
		expect(await client.response(state)).toMatchObject({ success: true, data: { sessionId } });
		expect(await client.response(tools)).toMatchObject({ success: true });
	});

	test("§7.3 a prompt while the session answers needs streamingBehavior", async () => {
		const { client, sessionId } = await withSession();
		await client.ask({ type: "prompt", sessionId, message: "hang" });
		await update(client, sessionId);
		expect(await client.ask({ type: "prompt", sessionId, message: "say more" })).toMatchObject({
			success: false,
			code: "wrong_state",
		});
		const steered = await client.ask({
			...{ type: "prompt", sessionId, message: "say more" },
			streamingBehavior: "followUp",
		});
		expect(steered).toMatchObject({ success: true });
		await client.ask({ type: "clear_queue", sessionId });
		await client.ask({ type: "abort", sessionId });
		await settled(client, sessionId);
	});

	test("§7.3 changes and deletion get through a run that is not waited for, and deletion ends it", async () => {
		const { client, sessionId } = await withSession();
		await client.ask({ type: "prompt", sessionId, message: "hang" });
		await update(client, sessionId);
		expect(await client.ask({ type: "set_session_name", sessionId, name: "busy" })).toMatchObject({
			success: true,
			sessionVersion: 2,
		});
		expect(await client.ask({ type: "delete_session", sessionId })).toMatchObject({
			success: true,
		});
		await settled(client, sessionId);
		expect(await client.ask({ type: "get_state", sessionId })).toMatchObject({
			code: "unknown_session",
		});
	});

	test("§6.1 a dialog is shown again to who subscribes late, and the first valid answer wins", async () => {
		const { client, sessionId } = await withSession();
		const held = await holdLane(client, sessionId);
		const late = await server.client("websocket");
		await late.ask({ type: "subscribe", sessionId });
		const requestId = await dialogOf(late, sessionId);
		expect(
			eventsOf(late, sessionId).find(
				({ event }) => "requestId" in event && event.requestId === requestId,
			),
		).not.toHaveProperty("seq");
		const answer = (response: object) =>
			late.ask({ type: "extension_ui_response", sessionId, requestId, response });
		expect(await answer({ value: "a text" })).toMatchObject({ code: "invalid_command" });
		expect(course(client, held.id)).toEqual(["accepted", "started"]);
		expect(await answer({ confirmed: true })).toMatchObject({ success: true });
		expect(await client.response(held.id)).toMatchObject({ success: true });
		expect(await answer({ confirmed: false })).toMatchObject({ code: "not_found" });
		for (const one of [client, late]) {
			await one.next(
				(frame) =>
					frame.type === "event" &&
					frame.event.type === "extension_ui_closed" &&
					frame.event.requestId === requestId,
			);
		}
		const entries = await client.ask({ type: "get_entries", sessionId });
		expect(JSON.stringify(entries.data)).toContain('{"answer":true}');
	});

	test("§6.1 an answer of 2,000 tokens travels as deltas: well under a megabyte", {
		tags: "slow",
	}, async () => {
		const { client, sessionId } = await withSession();
		const before = client.bytes();
		await client.ask({ type: "prompt", sessionId, message: "tokens 2000", waitFor: "settled" });
		const bytes = client.bytes() - before;
		const deltas = eventsOf(client, sessionId).flatMap(({ event }) =>
			event.type === "message_update" && event.assistantMessageEvent.type === "text_delta"
				? [event.assistantMessageEvent.delta]
				: [],
		);
		const text = "four".repeat(3 * Math.ceil(2000 / 3));
		expect(deltas.join("")).toBe(text);
		// Each token is in a delta and once more in message_end.
		expect(bytes).toBeLessThan(900_000);
	});

	async function withSession() {
		const client = await server.client(transport);
		return { client, sessionId: await openSession(client) };
	}
});

/** The first piece of an answer is here. */
function update(client: WireClient, sessionId: string) {
	return client.next(
		(frame) =>
			frame.type === "event" &&
			frame.sessionId === sessionId &&
			frame.event.type === "message_update",
	);
}

function settled(client: WireClient, sessionId: string) {
	return client.next(
		(frame) =>
			frame.type === "event" &&
			frame.sessionId === sessionId &&
			frame.event.type === "agent_settled",
	);
}
