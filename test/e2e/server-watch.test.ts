// @module-tag slow
/** A pi in a terminal, watched by the server: it follows the file, and never writes to it. */
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { markSession } from "../../src/core/session-marks.ts";
import type { ConversationStore } from "../../src/server/journal/journal.ts";
import { addedEntries } from "../../src/server/sessions/session-mirror.ts";
import { sessionFolder } from "../../src/server/sessions/stored-sessions.ts";
import { startSessions } from "../server/sessions/start-sessions.ts";
import { PATIENCE } from "../support/patience.ts";
import { sdk } from "../support/pi-sdk.ts";
import { atEnd, tempDir } from "../support/temp.ts";

const user = (text: string) => ({
	role: "user" as const,
	content: [{ type: "text" as const, text }],
	timestamp: Date.now(),
});
const answer = (text: string) => ({
	role: "assistant" as const,
	content: [{ type: "text" as const, text }],
	api: "anthropic-messages" as const,
	provider: "faux",
	model: "faux-1",
	stopReason: "stop" as const,
	timestamp: Date.now(),
	usage: {
		...{ input: 100, output: 10, cacheRead: 0, cacheWrite: 0, totalTokens: 110 },
		cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
	},
});

/** A server, and a session that this process has open as a pi in a terminal would. */
async function watched(conversations?: ConversationStore) {
	const watchFolder = tempDir("watched");
	const server = await startSessions({ watchFolder, conversations });
	const folder = sessionFolder(server.agentDir, server.cwd);
	mkdirSync(folder, { recursive: true });
	const terminal = sdk.SessionManager.create(server.cwd, folder);
	terminal.appendMessage(user("first question"));
	terminal.appendMessage(answer("first answer") as never);
	const file = terminal.getSessionFile() as string;
	const mark = markSession(server.agentDir, file);
	atEnd(() => mark.remove());
	await expect
		.poll(async () => (await server.run("list_stored_sessions", {})).sessions[0]?.piProcess)
		.toBe(process.pid);
	const load = () => server.run("load_session", { sessionPath: file, sessionId: "w", watch: true });
	return { server, terminal, file, load, mark, watchFolder };
}

const textsOf = (messages: readonly { content?: unknown }[]) =>
	messages.map(({ content }) => JSON.stringify(content)).join();

describe("a session in a terminal", () => {
	test("is followed message by message, and its file is never written", async () => {
		const { server, terminal, file, load } = await watched();
		const { sessionInfo } = await load();
		expect(sessionInfo).toMatchObject({
			sessionFile: file,
			watched: { piProcess: process.pid },
			messageCount: 2,
		});
		const before = readFileSync(file, "utf8");
		terminal.appendMessage(user("second question"));
		terminal.appendMessage(answer("second answer") as never);
		const after = readFileSync(file, "utf8");
		await expect
			.poll(() => server.events("w").filter(({ type }) => type === "message_end").length)
			.toBe(2);
		const { messages } = await server.run("get_messages", { sessionId: "w" });
		expect(textsOf(messages)).toMatch(
			/first question.*first answer.*second question.*second answer/,
		);
		const { totals } = await server.run("get_cost", { sessionId: "w" });
		expect(totals.requests).toBe(2);
		expect(after.startsWith(before)).toBe(true);
		expect(readFileSync(file, "utf8")).toBe(after);
	});

	test("refuses every change with the reason, and opens as a copy without watching", async () => {
		const { server, file, load } = await watched();
		await load();
		const before = readFileSync(file, "utf8");
		const refused = { code: "wrong_state", message: expect.stringContaining("runs in a terminal") };
		const change = (promise: Promise<unknown>) => expect(promise).rejects.toMatchObject(refused);
		await change(server.run("prompt", { sessionId: "w", message: "hello" }));
		await change(server.run("bash", { sessionId: "w", command: "true" }));
		await change(server.run("set_session_name", { sessionId: "w", name: "mine" }));
		await change(server.run("compact", { sessionId: "w" }));
		const copy = await server.run("load_session", { sessionPath: file, sessionId: "c" });
		expect(copy.forkedFrom).toBe(file);
		expect(copy.sessionInfo.watched).toBeUndefined();
		expect(readFileSync(file, "utf8")).toBe(before);
	});

	test("shows a report of its own principal only, and its file ends what a report began", async () => {
		const { server, terminal, file, load } = await watched();
		await load();
		const timestamp = Date.now();
		const message = {
			timestamp,
			blocks: [{ index: 0, kind: "text" as const, from: 0, text: "second" }],
		};
		const report = { sessionPath: file, isRunning: true, message };
		const other = await server.run("report_progress", report, { principal: "ben" });
		expect(other).toEqual({ watched: false, has: [] });
		const shown = () =>
			server.events("w").flatMap(({ type }) => (type === "extension_ui_request" ? [] : type));
		expect(shown()).toEqual([]);
		expect(await server.run("report_progress", report)).toEqual({ watched: true, has: [6] });
		terminal.appendMessage({ ...answer("second answer"), timestamp } as never);
		await server.run("report_progress", { sessionPath: file, isRunning: false });
		expect(shown()).toEqual([
			"agent_start",
			...["message_start", "message_update", "message_update", "message_end"],
			"agent_settled",
		]);
	});

	test("that branches is loaded again as a whole", async () => {
		const { server, terminal, load } = await watched();
		await load();
		const [first] = terminal.getEntries();
		terminal.branch(first?.id as string);
		terminal.appendMessage(answer("another answer") as never);
		await expect
			.poll(() => server.events("w").some(({ type }) => type === "session_replaced"))
			.toBe(true);
		const { messages } = await server.run("get_messages", { sessionId: "w" });
		expect(textsOf(messages)).toContain("another answer");
		expect(textsOf(messages)).not.toContain("first answer");
	});

	test("is watched once for each principal, and again after a restart; no copy is left", async () => {
		const { server, load, file, watchFolder } = await watched();
		const { sessionId } = await load();
		const again = await server.run("load_session", {
			sessionPath: file,
			sessionId: "x",
			watch: true,
		});
		expect(again.sessionId).toBe(sessionId);
		await server.restart();
		const { sessions } = await server.run("list_sessions", {});
		expect(sessions).toMatchObject([{ sessionId: "w", sessionFile: file }]);
		const { messages } = await server.run("get_messages", { sessionId: "w" });
		expect(textsOf(messages)).toContain("first answer");
		expect(readdirSync(watchFolder)).toHaveLength(1);
		await server.run("delete_session", { sessionId: "w" });
		expect(readdirSync(watchFolder)).toEqual([]);
		expect(existsSync(file)).toBe(true);
	});

	test("is not written when a server takes the watched session over from another", async () => {
		const kept = new Map<string, string[]>();
		const { server, terminal, file, load, watchFolder } = await watched({
			async keep({ conversation, from, bodies }) {
				const entries = kept.get(conversation) ?? [];
				entries.splice(from, bodies.length, ...bodies);
				kept.set(conversation, entries);
			},
			entries: async (_name, conversation) => kept.get(conversation) ?? [],
		});
		await load();
		const record = [...server.records.values()].find(({ id }) => id === "w");
		await server.sessions.lose([{ principal: "anna", sessionId: "w" }]);
		expect(readdirSync(watchFolder)).toEqual([]);
		terminal.appendMessage(user("second question"));
		const before = readFileSync(file, "utf8");
		server.sessions.hold(structuredClone(record as NonNullable<typeof record>));
		const { messages } = await server.run("get_messages", { sessionId: "w" });
		expect(textsOf(messages)).toContain("second question");
		expect(readFileSync(file, "utf8")).toBe(before);
		expect(readdirSync(dirname(file))).toEqual([basename(file)]);
	});

	test("that has ended says so, and stays readable", async () => {
		const { server, load, mark } = await watched();
		await load();
		await mark.remove();
		await vi.waitFor(async () => {
			const { sessions } = await server.run("list_sessions", {});
			expect(sessions[0]?.watched).toEqual({});
		}, PATIENCE);
		await expect(server.run("prompt", { sessionId: "w", message: "hello" })).rejects.toMatchObject({
			message: expect.stringContaining("was opened to watch"),
		});
	});
});

test("new entries continue a conversation only behind its last one, and if no context changes", () => {
	const entry = (id: string, parentId: string | null, type = "message") =>
		({ id, parentId, type }) as never;
	const old = [entry("a", null), entry("b", "a")];
	const added = (...entries: never[]) => addedEntries(["a", "b", "own"], [...old, ...entries]);
	expect(added(entry("c", "b"), entry("d", "c"))).toMatchObject({ isContinued: true });
	expect(added()).toEqual({ entries: [], isContinued: true });
	expect(added(entry("c", "a"))).toMatchObject({ isContinued: false });
	expect(added(entry("c", "b", "compaction"))).toMatchObject({ isContinued: false });
	expect(added(entry("c", "b", "context_edit"))).toMatchObject({ isContinued: false });
});
