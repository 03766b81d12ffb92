import { describe, expect, test } from "vitest";
import { say, withSession } from "./with-session.ts";

const only = <T>([first]: readonly T[]) => first as T;

describe("a session whose pi was closed because it was idle", { tags: "slow" }, () => {
	test("is open again for the next command, with all it had, and says nothing about it", async () => {
		const { sessions, run, records, events, script, event, forgetEvents } = await withSession(2);
		await run("set_session_name", { name: "rests" });
		const before = await run("get_messages", {});
		forgetEvents();
		const held = only(sessions.idle());
		await sessions.rest(held);
		expect(held.current).toBeUndefined();
		expect(await run("list_sessions", {})).toMatchObject({
			sessions: [{ sessionId: "s", sessionName: "rests", messageCount: before.messages.length }],
		});
		expect(await run("get_messages", {})).toEqual(before);
		const shown = events().map((event) => ("method" in event ? event.method : event.type));
		expect(new Set(shown)).toEqual(new Set(["setStatus"]));
		script(say("answer 3"));
		await run("prompt", { message: "question 3" });
		await event("agent_settled");
		expect((await run("get_messages", {})).messages).toHaveLength(before.messages.length + 2);
		expect([...records.values()][0]?.settings).not.toHaveProperty("cutOff");
	});

	test("is idle only without a run, and a command that comes meanwhile waits and works", async () => {
		const { sessions, run, script, event } = await withSession(0);
		const answer = Promise.withResolvers<void>();
		script(async () => {
			await answer.promise;
			return say("late");
		});
		await run("prompt", { message: "go" });
		await event("agent_start");
		expect(sessions.idle()).toEqual([]);
		answer.resolve();
		await event("agent_settled");
		const held = only(sessions.idle());
		const resting = sessions.rest(held);
		expect(sessions.idle()).toEqual([]);
		const { messages } = await run("get_messages", {});
		await resting;
		expect(JSON.stringify(messages)).toContain("late");
		expect(held.current).toBeDefined();
	});

	test("is as it was after a restart of the server", async () => {
		const started = await withSession(1, { afterCrash: true });
		await started.sessions.rest(only(started.sessions.idle()));
		await started.restart();
		expect(JSON.stringify(await started.run("get_messages", {}))).toContain("answer 1");
		expect([...started.records.values()][0]?.settings).not.toHaveProperty("cutOff");
	});
});
