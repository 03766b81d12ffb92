import { describe, expect, test } from "vitest";
import { openSession, transports, useServer } from "../support/conformance-server.ts";
import {
	type Answer,
	course,
	eventsOf,
	fresh,
	isLifecycle,
	type Transport,
	type WireClient,
} from "../support/wire-client.ts";
import { connectClient } from "../support/ws-client.ts";

const tokens = {
	local: "local-local-local-local",
	ann: "ann-ann-ann-ann-ann-ann",
	bob: "bob-bob-bob-bob-bob-bob",
};
const PER_MINUTE = 300;
const server = useServer({ tokens, limits: [`commandsPerMinute=${PER_MINUTE}`] });

test("§12 who has no token, or a wrong one, gets no connection", async () => {
	await expect(connectClient(server.url)).rejects.toThrow("401");
	await expect(connectClient(server.url, { token: "x".repeat(23) })).rejects.toThrow("401");
});

/** Over stdio the principal is always `local`; bob is somebody else on a WebSocket. */
describe.each(transports)("between a principal on %s and another", (transport) => {
	test("§6.2 neither lifecycle nor news nor events cross", { tags: "slow" }, async () => {
		const { owner, bob } = await both(transport);
		const sessionId = await openSession(owner);
		await owner.ask({ type: "prompt", sessionId, message: "say secret", waitFor: "settled" });
		await owner.ask({ type: "delete_session", sessionId });
		await bob.caughtUp();
		expect(JSON.stringify(bob.frames)).not.toContain(sessionId);
		const seen = bob.frames.filter(isLifecycle).map(({ data }) => data.commandType);
		expect(new Set(seen)).toEqual(new Set(["health_check"]));
	});

	test("§6.1 a session of another principal does not exist", async () => {
		const { owner, bob } = await both(transport);
		const sessionId = await openSession(owner);
		for (const command of [
			{ type: "get_state" },
			{ type: "set_session_name", name: "mine" },
			{ type: "prompt", message: "say hello" },
			{ type: "abort" },
			{ type: "subscribe", after: 0 },
			{ type: "switch_session" },
			{ type: "delete_session" },
		]) {
			const answer = await bob.ask({ ...command, sessionId });
			expect([command.type, answer.code]).toEqual([command.type, "unknown_session"]);
		}
		const listed = await bob.ask({ type: "list_sessions" });
		expect(JSON.stringify(listed.data)).not.toContain(sessionId);
		expect(await owner.ask({ type: "get_state", sessionId })).toMatchObject({ sessionVersion: 0 });
	});

	test("§10 the same session id is another session, with a version and events of its own", async () => {
		const { owner, bob } = await both(transport);
		const sessionId = await openSession(owner);
		expect(await bob.ask({ type: "create_session", sessionId })).toMatchObject({ success: true });
		await owner.ask({ type: "set_session_name", sessionId, name: "owned" });
		const state = await bob.ask({ type: "get_state", sessionId });
		expect(state).toMatchObject({ sessionVersion: 0 });
		expect(state.data).not.toHaveProperty("sessionName");
		expect(
			eventsOf(bob, sessionId).filter(({ event }) => event.type === "session_info_changed"),
		).toEqual([]);
	});

	test("§8 ids and keys of another principal are neither replayed nor in conflict nor dependencies", async () => {
		const { owner, bob } = await both(transport);
		const sessionId = fresh("same");
		const idempotencyKey = fresh("key");
		await Promise.all([openSession(owner, sessionId), openSession(bob, sessionId)]);
		const command = { type: "set_session_name", id: fresh("same"), sessionId, name: "n" };
		expect(await owner.ask({ ...command, idempotencyKey })).toMatchObject({ success: true });
		const dependsOn = [command.id];
		expect(await bob.ask({ type: "get_state", sessionId, dependsOn })).toMatchObject({
			code: "dependency_unknown",
		});
		const same = await bob.ask({ ...command, idempotencyKey });
		expect(same).toMatchObject({ success: true, sessionVersion: 1 });
		expect(same).not.toHaveProperty("replayed");
		const other = { ...command, id: fresh("other") };
		await owner.ask(other);
		expect(await bob.ask({ ...other, name: "different" })).toMatchObject({ success: true });
	});

	test("the history is each principal's own", async () => {
		const { owner, bob } = await both(transport);
		const id = fresh("private");
		await owner.ask({ type: "list_sessions", id });
		const query = { type: "get_command_history", commandId: id };
		expect((await owner.ask(query)).data).toMatchObject({ returned: 1 });
		expect((await bob.ask(query)).data).toMatchObject({ returned: 0 });
	});

	test("§12 too many commands a minute are admitted and refused, not stored, and nobody else notices", {
		tags: "slow",
	}, async () => {
		const { owner, bob } = await both(transport);
		const refused: Answer[] = [];
		// Meanwhile some more become allowed, the slower the machine the more.
		while (refused.length === 0) {
			const ids = Array.from({ length: 60 }, () => fresh("much"));
			owner.send(...ids.map((id) => ({ type: "list_sessions", id })));
			const answers = await Promise.all(ids.map((id) => owner.response(id)));
			refused.push(...answers.filter(({ code }) => code === "rate_limited"));
		}
		const id = refused.at(-1)?.id as string;
		expect(course(owner, id)).toEqual(["accepted", "finished", "response"]);
		expect(await bob.ask({ type: "list_sessions" })).toMatchObject({ success: true });
		await expect
			.poll(() => owner.ask({ type: "list_sessions", id }), { interval: 250 })
			.toMatchObject({ success: true });
	});
});

async function both(transport: Transport): Promise<{ owner: WireClient; bob: WireClient }> {
	const bob = await server.client("websocket", tokens.bob);
	return { owner: await server.client(transport, tokens.ann), bob };
}
