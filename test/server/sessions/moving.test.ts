import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fauxAssistantMessage, fauxText, fauxToolCall } from "@earendil-works/pi-ai";
import { describe, expect, test } from "vitest";
import type { ConversationPart, ConversationStore } from "../../../src/server/journal/journal.ts";
import { startSessions } from "./start-sessions.ts";

/** Conversations of a journal, in memory. */
function createStore() {
	const kept = new Map<string, string[]>();
	const order: string[] = [];
	const store: ConversationStore = {
		async keep({ conversation, from, bodies }: ConversationPart) {
			const all = kept.get(conversation) ?? [];
			all.splice(from, bodies.length, ...bodies);
			kept.set(conversation, all);
			order.push(...bodies);
		},
		entries: async (_name, conversation) => kept.get(conversation) ?? [],
	};
	return { store, kept, order };
}

describe("a session that may move to another server", { tags: "slow" }, () => {
	test("runs no tool while the lease does not hold", async () => {
		let isHeld = false;
		const session = await startSessions({
			mayRunTool: async () => (isHeld ? undefined : "another server may have this session"),
		});
		await session.run("create_session", { sessionId: "s", cwd: session.cwd });
		const file = join(session.cwd, "made");
		const call = () =>
			fauxAssistantMessage(fauxToolCall("bash", { command: `echo 1 > "${file}"` }), {
				stopReason: "toolUse",
			});
		const end = () => fauxAssistantMessage([fauxText("done")]);
		session.script(call(), end());
		await session.run("prompt", { message: "go" });
		await session.event("agent_settled");
		expect(existsSync(file)).toBe(false);
		expect(JSON.stringify(session.events())).toContain("another server may have this session");
		isHeld = true;
		session.forgetEvents();
		session.script(call(), end());
		await session.run("prompt", { message: "again" });
		await session.event("agent_settled");
		expect(readFileSync(file, "utf8")).toBe("1\n");
	});

	test("runs no tool when the answer about the lease comes after the session was lost", async () => {
		let losing: Promise<void> | undefined;
		const session = await startSessions({
			// The server was given up, and has a new lease already.
			mayRunTool: async () => {
				losing = session.sessions.lose([{ principal: "anna", sessionId: "s" }]);
				return undefined;
			},
		});
		await session.run("create_session", { sessionId: "s", cwd: session.cwd });
		const file = join(session.cwd, "made");
		session.script(
			fauxAssistantMessage(fauxToolCall("write", { path: file, content: "1" }), {
				stopReason: "toolUse",
			}),
		);
		await session.run("prompt", { message: "go" });
		await expect.poll(() => losing !== undefined).toBe(true);
		await losing;
		expect(existsSync(file)).toBe(false);
	});

	test("has every entry in the journal when the event that reports it is emitted, and goes on from there", async () => {
		const { store, kept, order } = createStore();
		const first = await startSessions({
			conversations: store,
			emit: (_name, event) => {
				if (event.type === "message_end") order.push(`event ${JSON.stringify(event.message)}`);
			},
		});
		await first.run("create_session", { sessionId: "s", cwd: first.cwd });
		first.script(fauxAssistantMessage([fauxText("the answer")]));
		await first.run("prompt", { message: "the question" });
		await expect
			.poll(() => order.some((text) => text.startsWith("event") && text.includes("the answer")))
			.toBe(true);
		for (const word of ["the question", "the answer"]) {
			const entry = order.findIndex((text) => !text.startsWith("event") && text.includes(word));
			const event = order.findIndex((text) => text.startsWith("event") && text.includes(word));
			expect(entry).toBeGreaterThan(-1);
			expect(entry).toBeLessThan(event);
		}
		await first.run("set_session_name", { name: "moved" });
		const state = await first.run("get_state", {});
		const all = [...kept.values()].at(-1) ?? [];
		expect(all.at(-1)).toContain("moved");

		const second = await startSessions({ conversations: store });
		second.sessions.hold({
			principal: "anna",
			id: "s",
			cwd: first.cwd,
			createdAtMs: 1,
			settings: { piSessionId: JSON.parse(all[0] as string).id },
		});
		const { messages } = await second.run("get_messages", {});
		expect(JSON.stringify(messages)).toContain("the answer");
		const moved = await second.run("get_state", {});
		expect(moved).toMatchObject({ sessionName: "moved", messageCount: state.messageCount });
		expect(readFileSync(moved.sessionFile as string, "utf8").startsWith(all.join("\n"))).toBe(true);
	});

	test("ends without a word when another server has it", async () => {
		const session = await startSessions({});
		await session.run("create_session", { sessionId: "s", cwd: session.cwd });
		const running = session.run("bash", { command: "echo begun; sleep 600" });
		running.catch(() => {});
		await session.event("bash_execution_update");
		session.forgetEvents();
		const saves = session.saves.length;
		await session.sessions.lose([{ principal: "anna", sessionId: "s" }]);
		expect(session.sessions.has("anna", "s")).toBe(false);
		expect(session.events()).toEqual([]);
		expect(session.saves.length).toBe(saves);
	});
});
