import { describe, expect, test } from "vitest";
import { holdLane, openSession, transports, useServer } from "../support/conformance-server.ts";
import { course, courses, fresh } from "../support/wire-client.ts";

const server = useServer({ limits: ["dependencyMs=1200"] });
const WITHOUT_START = ["accepted", "finished", "response"];

describe.each(transports)("over %s", (transport) => {
	test("§9 a dependency that has succeeded lets the command run", { tags: "slow" }, async () => {
		const { client, sessionId } = await withSession();
		const done = await client.ask({ type: "get_state", sessionId });
		const id = fresh("dependent");
		const dependsOn = [done.id, done.id];
		expect(await client.ask({ type: "get_messages", id, sessionId, dependsOn })).toMatchObject({
			success: true,
		});
		expect(course(client, id)).toContain("started");
	});

	test("§9 a dependency in flight in another lane is waited for before the command is started", async () => {
		const { client, sessionId } = await withSession();
		const other = await openSession(client);
		const held = await holdLane(client, sessionId);
		const id = fresh("dependent");
		client.send({
			type: "set_session_name",
			id,
			sessionId: other,
			name: "n",
			dependsOn: [held.id],
		});
		await client.caughtUp();
		expect(course(client, id)).toEqual(["accepted"]);
		await held.release();
		expect(await client.response(id)).toMatchObject({ success: true });
		const order = courses(client, [held.id, id]);
		expect(order.slice(-3)).toEqual([`${held.id} finished`, `${id} started`, `${id} finished`]);
	});

	test("§9 an unknown dependency fails the command, which is never started", async () => {
		const { client, sessionId } = await withSession();
		const id = fresh("dependent");
		const dependsOn = [fresh("unheard")];
		expect(
			await client.ask({ type: "set_session_name", id, sessionId, name: "n", dependsOn }),
		).toMatchObject({
			success: false,
			code: "dependency_unknown",
			error: expect.stringContaining(String(dependsOn)),
		});
		expect(course(client, id)).toEqual(WITHOUT_START);
		expect(await client.ask({ type: "get_state", sessionId })).toMatchObject({ sessionVersion: 0 });
	});

	test("§9 a dependency that has failed fails the command", async () => {
		const { client, sessionId } = await withSession();
		const failed = await client.ask({ type: "set_model", sessionId, provider: "a", modelId: "b" });
		expect(failed.success).toBe(false);
		const id = fresh("dependent");
		expect(
			await client.ask({ type: "get_state", id, sessionId, dependsOn: [failed.id] }),
		).toMatchObject({ success: false, code: "dependency_failed" });
		expect(course(client, id)).toEqual(WITHOUT_START);
	});

	test("§9 a dependency that fails while it is waited for fails the command", async () => {
		const { client, sessionId } = await withSession();
		const other = await openSession(client);
		const held = await holdLane(client, sessionId);
		const [failing, dependent, next] = [fresh("failing"), fresh("dependent"), fresh("next")];
		client.send(
			{ type: "set_model", id: failing, sessionId, provider: "a", modelId: "b" },
			{
				...{ type: "set_session_name", id: dependent, sessionId: other, name: "n" },
				dependsOn: [held.id, failing],
			},
			{ type: "set_session_name", id: next, sessionId: other, name: "next" },
		);
		await held.release();
		expect(await client.response(dependent)).toMatchObject({ code: "dependency_failed" });
		expect(course(client, dependent)).toEqual(WITHOUT_START);
		expect(await client.response(next)).toMatchObject({ success: true, sessionVersion: 1 });
	});

	test("§9 what depends on a failed dependent fails in turn", async () => {
		const { client, sessionId } = await withSession();
		const ids = [fresh("a"), fresh("b"), fresh("c")];
		client.send(
			...ids.map((id, index) => ({
				...{ type: "get_state", id, sessionId },
				dependsOn: [index === 0 ? fresh("unheard") : ids[index - 1]],
			})),
		);
		const codes = await Promise.all(ids.map(async (id) => (await client.response(id)).code));
		expect(codes).toEqual(["dependency_unknown", "dependency_failed", "dependency_failed"]);
	});

	test("§9 a command without an id of its own may have dependencies", async () => {
		const { client, sessionId } = await withSession();
		const done = await client.ask({ type: "get_state", sessionId });
		client.send({ type: "set_session_name", sessionId, name: "n", dependsOn: [done.id] });
		const response = await client.next(
			(frame) => frame.type === "response" && frame.command === "set_session_name",
		);
		expect(response).toMatchObject({ success: true });
	});

	test("§9.1 a dependency that takes too long fails the command, for good", {
		tags: "slow",
	}, async () => {
		const { client, sessionId } = await withSession();
		const other = await openSession(client);
		const held = await holdLane(client, sessionId);
		const id = fresh("impatient");
		const command = {
			...{ type: "set_session_name", id, sessionId: other, name: "n" },
			dependsOn: [held.id],
		};
		const failure = await client.ask(command);
		expect(failure).toMatchObject({ success: false, code: "dependency_timeout" });
		expect(course(client, id)).toEqual(WITHOUT_START);
		await held.release();
		expect(await client.ask(command)).toEqual({ ...failure, replayed: true });
		expect(await client.ask({ type: "get_state", sessionId: other })).toMatchObject({
			sessionVersion: 0,
		});
	});

	test("§9.2 an earlier command of the same lane can be waited for, queued or under way", async () => {
		const { client, sessionId } = await withSession();
		const held = await holdLane(client, sessionId);
		const [queued, last] = [fresh("queued"), fresh("last")];
		client.send(
			{ type: "set_session_name", id: queued, sessionId, name: "a", dependsOn: [held.id] },
			{ type: "set_session_name", id: last, sessionId, name: "b", dependsOn: [queued, held.id] },
		);
		await held.release();
		expect(await client.response(queued)).toMatchObject({ success: true, sessionVersion: 2 });
		expect(await client.response(last)).toMatchObject({ success: true, sessionVersion: 3 });
	});

	test("§9.2 a command that depends on itself fails at once", async () => {
		const { client, sessionId } = await withSession();
		const id = fresh("itself");
		expect(
			await client.ask({ type: "set_session_name", id, sessionId, name: "n", dependsOn: [id] }),
		).toMatchObject({ success: false, code: "dependency_cycle" });
		expect(course(client, id)).toEqual(WITHOUT_START);
	});

	test("§9.2 a dependency that comes later in the lane fails at once, and the lane goes on", async () => {
		const { client, sessionId } = await withSession();
		const held = await holdLane(client, sessionId);
		const [early, late] = [fresh("early"), fresh("late")];
		client.send(
			{ type: "set_session_name", id: early, sessionId, name: "a", dependsOn: [late] },
			{ type: "set_session_name", id: late, sessionId, name: "b" },
		);
		await client.next(
			(frame) => frame.type === "command_accepted" && frame.data.commandId === late,
		);
		// Its answer need not wait for the lane, which is still held.
		await client.caughtUp();
		expect(course(client, held.id)).not.toContain("finished");
		await held.release();
		expect(await client.response(early)).toMatchObject({
			success: false,
			code: expect.stringMatching(/^dependency_(unknown|cycle)$/),
		});
		expect(await client.response(late)).toMatchObject({ success: true, sessionVersion: 2 });
	});

	test("§9.2 a circle across two lanes fails at once and blocks neither", async () => {
		const { client, sessionId } = await withSession();
		const other = await openSession(client);
		const [one, two] = [fresh("one"), fresh("two")];
		client.send(
			{ type: "set_session_name", id: one, sessionId, name: "n", dependsOn: [two] },
			{ type: "set_session_name", id: two, sessionId: other, name: "n", dependsOn: [one] },
		);
		expect((await client.response(one)).success).toBe(false);
		expect((await client.response(two)).success).toBe(false);
		for (const id of [sessionId, other]) {
			expect(
				await client.ask({ type: "set_session_name", sessionId: id, name: "free" }),
			).toMatchObject({ success: true, sessionVersion: 1 });
		}
	});

	test("§9 an id that was answered by key is known", async () => {
		const { client, sessionId } = await withSession();
		const command = { type: "set_session_name", sessionId, name: "n", idempotencyKey: "k" };
		await client.ask(command);
		const again = await client.ask(command);
		expect(again.replayed).toBe(true);
		expect(await client.ask({ type: "get_state", sessionId, dependsOn: [again.id] })).toMatchObject(
			{ success: true },
		);
	});

	test("§10.1 the version is checked after the dependencies, right before execution", async () => {
		const { client, sessionId } = await withSession();
		const held = await holdLane(client, sessionId);
		const [right, wrong] = [fresh("right"), fresh("wrong")];
		client.send(
			{
				...{ type: "set_session_name", id: right, sessionId, name: "a" },
				...{ dependsOn: [held.id], ifSessionVersion: 1 },
			},
			{
				...{ type: "set_session_name", id: wrong, sessionId, name: "b" },
				...{ dependsOn: [held.id], ifSessionVersion: 1 },
			},
		);
		await held.release();
		expect(await client.response(right)).toMatchObject({ success: true, sessionVersion: 2 });
		expect(await client.response(wrong)).toMatchObject({ code: "version_mismatch" });
	});

	async function withSession() {
		const client = await server.client(transport);
		return { client, sessionId: await openSession(client) };
	}
});
