import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fauxAssistantMessage, fauxToolCall } from "@earendil-works/pi-ai";
import { describe, expect, test } from "vitest";
import { startSessions, type TestSessions } from "../server/sessions/start-sessions.ts";
import { tempDir } from "../support/temp.ts";

const say = (text: string) => fauxAssistantMessage(text);
const call = (name: string, args: Record<string, string>, id = "call-1") =>
	fauxAssistantMessage([fauxToolCall(name, args, { id })], { stopReason: "toolUse" });

/** A server with the session `s`, which has had so many exchanges. */
async function withSession(
	exchanges = 0,
	options: Parameters<typeof startSessions>[0] = {},
): Promise<TestSessions> {
	const server = await startSessions(options);
	await server.run("create_session", { sessionId: "s" });
	for (let number = 1; number <= exchanges; number++) {
		server.script(say(`answer ${number}`));
		await server.run("prompt", { message: `question ${number}`, waitFor: "settled" });
	}
	return server;
}

describe("a session", () => {
	test("is created, listed and deleted", async () => {
		const server = await startSessions();
		const made = await server.done("create_session", { sessionId: "s" });
		expect(made).toMatchObject({
			opened: true,
			data: { sessionId: "s", sessionInfo: { cwd: server.cwd, model: { id: "faux-1" } } },
			session: { principal: "anna", id: "s", cwd: server.cwd },
		});
		expect(server.sessions.has("anna", "s")).toBe(true);
		expect(server.sessions.has("ben", "s")).toBe(false);
		expect((await server.run("list_sessions", {})).sessions).toHaveLength(1);
		expect((await server.run("list_sessions", {}, { principal: "ben" })).sessions).toEqual([]);
		expect(await server.done("delete_session", { sessionId: "s" })).toMatchObject({ removed: "s" });
		expect(server.sessions.count()).toBe(0);
		await expect(server.run("get_state", {})).rejects.toMatchObject({ code: "unknown_session" });
	});

	test("gets an id where none is given, and an id is taken only once for a principal", async () => {
		const server = await startSessions({ maxSessions: 3 });
		const { sessionId } = await server.run("create_session", { sessionId: undefined as never });
		expect(sessionId).toMatch(/^[\w-]{8,}$/);
		await server.run("create_session", { sessionId: "__proto__" });
		const again = server.run("create_session", { sessionId: "__proto__" });
		await expect(again).rejects.toMatchObject({ code: "session_exists" });
		await server.run("create_session", { sessionId: "__proto__" }, { principal: "ben" });
		const fourth = server.run("create_session", { sessionId: "fourth" });
		await expect(fourth).rejects.toMatchObject({ code: "limit_reached" });
	});

	test("needs an absolute folder that is there", async () => {
		const server = await startSessions();
		const inFolder = (cwd: string) => server.run("create_session", { sessionId: "s", cwd });
		await expect(inFolder("somewhere")).rejects.toMatchObject({ code: "invalid_command" });
		await expect(inFolder("/no/such/folder")).rejects.toMatchObject({ code: "not_found" });
		const file = server.write("file.txt", "");
		await expect(inFolder(file)).rejects.toMatchObject({ code: "not_found" });
		expect(server.sessions.count()).toBe(0);
	});

	test("has pi-strata's tools and commands", async () => {
		const server = await withSession();
		const { commands } = await server.run("get_commands", {});
		expect(commands.map(({ name }) => name)).toContain("strata");
		const { tools } = await server.run("get_tools", {});
		expect(tools.map(({ name }) => name)).toContain("kota_search");
		expect(await server.run("get_skills", {})).toEqual({ skills: [] });
	});

	test("loads a project's own extensions only if the server and the client say so", async () => {
		const secret = 'export default (pi) => { pi.registerCommand("own", { handler() {} }); };';
		const commandsOf = async (server: TestSessions, sessionId: string) =>
			(await server.run("get_commands", { sessionId })).commands.map(({ name }) => name);
		const careful = await startSessions();
		careful.write(".pi/extensions/own.ts", secret);
		await careful.run("create_session", { sessionId: "s" });
		expect(await commandsOf(careful, "s")).not.toContain("own");
		const asked = careful.run("create_session", { sessionId: "t", trustProject: true } as never);
		await expect(asked).rejects.toMatchObject({ code: "forbidden" });

		const open = await startSessions({ allowProjectTrust: true });
		open.write(".pi/extensions/own.ts", secret);
		await open.run("create_session", { sessionId: "s" });
		expect(await commandsOf(open, "s")).not.toContain("own");
		await open.run("create_session", { sessionId: "t", trustProject: true } as never);
		expect(await commandsOf(open, "t")).toContain("own");
		await open.restart();
		expect(await commandsOf(open, "t")).toContain("own");
	});
});

describe("a prompt", () => {
	test("is answered when pi has taken it, and the rest is streamed", async () => {
		const server = await withSession();
		server.script(say("hello there"));
		expect(await server.run("prompt", { message: "hello" })).toEqual({});
		await server.event("agent_settled");
		const types = server.events().map(({ type }) => type);
		for (const type of ["agent_start", "message_update", "message_end", "agent_end"]) {
			expect(types).toContain(type);
		}
		expect(await server.run("get_last_assistant_text", {})).toEqual({ text: "hello there" });
		const { messages } = await server.run("get_messages", {});
		const roles = messages.map(({ role }) => role).filter((role) => role !== "system");
		expect(roles).toEqual(["user", "assistant"]);
	});

	test("with waitFor settled is answered at the end of the run", async () => {
		const server = await withSession();
		server.write("a.txt", "alpha");
		server.script(call("read", { path: "a.txt" }), say("done"));
		const data = await server.run("prompt", { message: "read it", waitFor: "settled" });
		expect(data).toEqual({ stopReason: "stop" });
		expect(server.events().map(({ type }) => type)).toContain("agent_settled");
		expect(await server.run("get_last_assistant_text", {})).toEqual({ text: "done" });
	});

	test("is on disk before it is answered", async () => {
		const server = await withSession();
		server.script(async () => {
			await new Promise((resolve) => setTimeout(resolve, 100));
			return say("the belated answer");
		});
		const { session } = await server.done("prompt", { message: "remember the milk" });
		const text = readFileSync(session?.file ?? "", "utf8");
		expect(text).toContain("remember the milk");
		expect(text).not.toContain("the belated answer");
		await server.event("agent_settled");
		expect(readFileSync(session?.file ?? "", "utf8")).toContain("the belated answer");
	});

	test("is refused while the session answers, unless it says how to be added", async () => {
		const server = await withSession(0, { tokensPerSecond: 50 });
		server.script(say("word ".repeat(20)), say("second"), say("third"), say("fourth"));
		await server.run("prompt", { message: "first" });
		await server.event("message_update");
		const second = server.run("prompt", { message: "second" });
		await expect(second).rejects.toMatchObject({ code: "wrong_state" });
		await server.run("prompt", { message: "later", streamingBehavior: "followUp" });
		await server.run("steer", { message: "now" });
		await server.run("follow_up", { message: "at last" });
		const queue = await server.run("clear_queue", {});
		expect(queue).toEqual({ steering: ["now"], followUp: ["later", "at last"] });
		const state = await server.run("get_state", {});
		expect(state).toMatchObject({ isStreaming: true, pendingMessageCount: 0 });
		await server.run("abort", {});
		expect(await server.run("get_state", {})).toMatchObject({ isStreaming: false });
	});

	test("that steers or follows up reaches the model", async () => {
		const server = await withSession(0, { tokensPerSecond: 100 });
		server.script(say("word ".repeat(10)), say("second answer"), say("third answer"));
		await server.run("prompt", { message: "first" });
		await server.event("message_update");
		const settled = server.run("prompt", {
			message: "and then",
			streamingBehavior: "followUp",
			waitFor: "settled",
		});
		await server.run("steer", { message: "by the way" });
		await settled;
		const { messages } = await server.run("get_messages", {});
		const said = messages
			.filter(({ role }) => role === "user")
			.map(({ content }) => JSON.stringify(content));
		expect(said).toHaveLength(3);
		expect(said[1]).toContain("by the way");
		expect(said[2]).toContain("and then");
	});

	test("without a model or a key is refused in words that name no files of the server", async () => {
		const server = await startSessions({ settings: { defaultProvider: undefined } });
		await server.run("create_session", { sessionId: "s" });
		server.modelRuntime.unregisterProvider("faux");
		await server.run("new_session", {});
		const keyless = server.run("prompt", { message: "x" });
		await expect(keyless).rejects.toMatchObject({ code: "wrong_state" });
		await keyless.catch(({ message }) => expect(message).not.toContain("/"));
		expect(await server.run("get_messages", {})).toEqual({ messages: [] });
	});

	test("whose run fails shows it as events and leaves the session usable", async () => {
		const server = await withSession();
		server.script(fauxAssistantMessage("", { stopReason: "error", errorMessage: "overloaded?" }));
		await server.run("prompt", { message: "first" });
		await server.event("agent_settled");
		const end = server
			.events()
			.find((event) => event.type === "message_end" && event.message.role === "assistant");
		expect(end).toMatchObject({ message: { stopReason: "error", errorMessage: "overloaded?" } });
		server.script(say("fine"));
		expect(await server.run("prompt", { message: "again", waitFor: "settled" })).toEqual({
			stopReason: "stop",
		});
	});

	test("that is aborted in a tool ends as aborted, not as a failure", async () => {
		const { askingExtension } = await import("../server/sessions/asking-extension.ts");
		const server = await withSession(0, { extension: askingExtension });
		server.script(call("wait", {}), say("never"));
		const ended = server.run("prompt", { message: "wait", waitFor: "settled" });
		await server.event("tool_execution_start");
		await server.run("abort", {});
		expect(await ended).toEqual({ stopReason: "aborted" });
		expect(await server.event("agent_end")).toMatchObject({ aborted: true });
		expect(await server.event("agent_settled")).toMatchObject({ aborted: true });
		server.forgetEvents();
		server.script(say("fine"));
		expect(await server.run("prompt", { message: "go on", waitFor: "settled" })).toEqual({
			stopReason: "stop",
		});
		expect(await server.event("agent_settled")).not.toHaveProperty("aborted");
	});
});

describe("events", () => {
	test("carry every text once: an answer of 2,000 tokens takes far less than a megabyte", async () => {
		const server = await withSession();
		const answer = "word ".repeat(1600);
		server.script(say(answer));
		await server.run("prompt", { message: "talk", waitFor: "settled" });
		const events = server.events();
		const updates = events.filter((event) => event.type === "message_update");
		expect(updates.length).toBeGreaterThan(100);
		const streamed = updates.map(({ assistantMessageEvent: event }) =>
			"delta" in event ? event.delta : "",
		);
		expect(streamed.join("")).toBe(answer);
		for (const update of updates)
			expect(JSON.stringify(update)).not.toMatch(/"(partial|message)":/);
		const whole = JSON.stringify(events);
		expect(whole.length).toBeLessThan(400_000);
		expect(whole.split(answer).length - 1).toBe(1);
	});

	test("name the calls of tools and bring their results, cut where they are huge", async () => {
		const server = await withSession();
		server.write("big.txt", "x\n".repeat(20_000));
		server.script(call("read", { path: "big.txt" }, "c1"), say("done"));
		await server.run("prompt", { message: "read", waitFor: "settled" });
		const start = server
			.events()
			.find(
				(event) =>
					event.type === "message_update" && event.assistantMessageEvent.type === "toolcall_start",
			);
		expect(start).toMatchObject({ assistantMessageEvent: { id: "c1", toolName: "read" } });
		expect(await server.event("tool_execution_end")).toMatchObject({
			toolCallId: "c1",
			isError: false,
		});
		for (const event of server.events()) expect(JSON.stringify(event).length).toBeLessThan(300_000);
	});
});

describe("a session's settings", () => {
	test("are changed for this session alone, and the user's own file stays as it was", async () => {
		const server = await withSession();
		await server.run("create_session", { sessionId: "other" });
		const file = join(server.agentDir, "settings.json");
		const before = readFileSync(file, "utf8");
		await server.run("set_auto_compaction", { enabled: false });
		await server.run("set_auto_retry", { enabled: true });
		await server.run("set_steering_mode", { mode: "all" });
		await server.run("set_follow_up_mode", { mode: "all" });
		await server.run("set_thinking_level", { level: "high" });
		await server.run("set_session_name", { name: " first one " });
		expect(await server.run("set_model", { provider: "faux", modelId: "faux-2" })).toMatchObject({
			id: "faux-2",
		});
		expect(await server.run("get_state", {})).toMatchObject({
			autoCompactionEnabled: false,
			autoRetryEnabled: true,
			steeringMode: "all",
			followUpMode: "all",
			sessionName: "first one",
			model: { id: "faux-2" },
		});
		expect(await server.run("get_state", { sessionId: "other" })).toMatchObject({
			autoCompactionEnabled: true,
			autoRetryEnabled: false,
			steeringMode: "one-at-a-time",
			model: { id: "faux-1" },
		});
		await new Promise((resolve) => setTimeout(resolve, 50));
		expect(readFileSync(file, "utf8")).toBe(before);
	});

	test("come with the outcome of each change, and bring a session without a file back after a restart", async () => {
		const server = await withSession();
		const named = await server.done("set_session_name", { name: "kept" });
		expect(named.session?.settings).toMatchObject({ name: "kept" });
		await server.run("set_model", { provider: "faux", modelId: "faux-2" });
		await server.run("set_thinking_level", { level: "off" });
		await server.run("set_steering_mode", { mode: "all" });
		await server.run("set_auto_compaction", { enabled: false });
		await server.run("set_tools", { tools: ["read", "bash"] });
		const before = await server.run("get_state", {});
		expect(before).not.toHaveProperty("sessionFile");
		await server.restart();
		expect((await server.run("list_sessions", {})).sessions[0]).toMatchObject({
			sessionName: "kept",
		});
		expect(await server.run("get_state", {})).toEqual(before);
		const { tools } = await server.run("get_tools", {});
		expect(tools.filter(({ active }) => active).map(({ name }) => name)).toEqual(["read", "bash"]);
		const stats = await server.run("get_session_stats", {});
		expect(stats.sessionId).toBe(server.records.get('["anna","s"]')?.settings.piSessionId);
	});

	test("follow models and levels that can be had, and refuse others", async () => {
		const server = await withSession();
		const { models } = await server.run("get_available_models", {});
		expect(models.map(({ id }) => id)).toEqual(["faux-1", "faux-2"]);
		expect(await server.run("cycle_model", {})).toMatchObject({ model: { id: "faux-2" } });
		expect(await server.run("get_available_thinking_levels", {})).toEqual({ levels: ["off"] });
		expect(await server.run("cycle_thinking_level", {})).toBeNull();
		expect(await server.run("cycle_model", { direction: "backward" })).toMatchObject({
			model: { id: "faux-1" },
		});
		expect(await server.run("cycle_thinking_level", {})).toMatchObject({
			level: expect.any(String),
		});
		const missing = server.run("set_model", { provider: "faux", modelId: "none" });
		await expect(missing).rejects.toMatchObject({ code: "not_found" });
		const tool = server.run("set_tools", { tools: ["read", "hammer"] });
		await expect(tool).rejects.toMatchObject({ code: "not_found", message: /"hammer"/ });
	});

	test("that an extension changes are kept too", async () => {
		const { askingExtension } = await import("../server/sessions/asking-extension.ts");
		const server = await withSession(1, { extension: askingExtension });
		await server.run("prompt", { message: "/rename by itself" });
		expect(server.saves.at(-1)?.settings).toMatchObject({ name: "by itself" });
		expect(await server.event("session_info_changed")).toMatchObject({ name: "by itself" });
	});

	test("survive a reload", async () => {
		const server = await withSession();
		await server.run("set_tools", { tools: ["read"] });
		await server.run("set_steering_mode", { mode: "all" });
		await server.run("reload", {});
		const { tools } = await server.run("get_tools", {});
		expect(tools.filter(({ active }) => active).map(({ name }) => name)).toEqual(["read"]);
		expect(await server.run("get_state", {})).toMatchObject({ steeringMode: "all" });
	});
});

describe("a restart", () => {
	test("reopens a session from its file when it is first used", async () => {
		const server = await withSession(2);
		const before = await server.run("get_messages", {});
		await server.restart();
		expect((await server.run("list_sessions", {})).sessions[0]).toMatchObject({
			sessionId: "s",
			messageCount: before.messages.length,
		});
		expect(await server.run("get_messages", {})).toEqual(before);
		server.script(say("third"));
		await server.run("prompt", { message: "go on", waitFor: "settled" });
		expect((await server.run("get_fork_messages", {})).messages).toHaveLength(3);
	});

	test("finds the file of a session whose record was not written in time", async () => {
		const server = await withSession();
		const early = structuredClone(server.records.get('["anna","s"]'));
		server.script(say("answer"));
		await server.run("prompt", { message: "question", waitFor: "settled" });
		if (early) server.records.set('["anna","s"]', early);
		await server.restart();
		expect(await server.run("get_last_assistant_text", {})).toEqual({ text: "answer" });
	});

	test("goes on where the session had been moved to in its tree", async () => {
		const server = await withSession(2);
		const [, second] = (await server.run("get_fork_messages", {})).messages;
		await server.run("navigate_tree", { targetId: second?.entryId ?? "" });
		const before = await server.run("get_messages", {});
		await server.restart();
		expect(await server.run("get_messages", {})).toEqual(before);
		server.script(say("another"));
		await server.run("prompt", { message: "differently", waitFor: "settled" });
		const after = await server.run("get_messages", {});
		await server.restart();
		expect(await server.run("get_messages", {})).toEqual(after);
	});

	test("with a folder or file that is gone fails for that session alone, and says so", async () => {
		const server = await withSession(1);
		const folder = tempDir();
		await server.run("create_session", { sessionId: "t", cwd: folder });
		const { sessionFile = "" } = await server.run("get_state", {});
		rmSync(sessionFile);
		rmSync(folder, { recursive: true });
		await server.restart();
		const file = server.run("get_state", {});
		await expect(file).rejects.toMatchObject({
			code: "wrong_state",
			message: /file of session "s"/,
		});
		const cwd = server.run("get_state", { sessionId: "t" });
		await expect(cwd).rejects.toMatchObject({
			code: "wrong_state",
			message: /folder of session "t"/,
		});
		expect((await server.run("list_sessions", {})).sessions).toHaveLength(2);
		await server.run("delete_session", { sessionId: "t" });
	});
});

describe("a session's tree", () => {
	test("is read flat and nested, with its entries", async () => {
		const server = await withSession(1);
		const { nodes = [], leafId } = await server.run("get_tree", { flat: true });
		expect(nodes.at(-1)).toMatchObject({ id: leafId, role: "assistant", preview: "answer 1" });
		const { tree = [] } = await server.run("get_tree", {});
		let depth = 0;
		for (let level = tree; level.length > 0; level = level[0]?.children ?? []) depth++;
		expect(depth).toBe(nodes.length);
		const { entries } = await server.run("get_entries", {});
		expect(entries.map(({ id }) => id)).toEqual(nodes.map(({ id }) => id));
		const since = await server.run("get_entries", { since: nodes.at(-2)?.id as string });
		expect(since.entries).toHaveLength(1);
		const unknown = server.run("get_entries", { since: "none" });
		await expect(unknown).rejects.toMatchObject({ code: "not_found" });
	});

	test("is forked, cloned and left behind under the same id", async () => {
		const server = await withSession(2);
		const file = (await server.run("get_state", {})).sessionFile;
		const [, second] = (await server.run("get_fork_messages", {})).messages;
		const forked = await server.run("fork", { entryId: second?.entryId ?? "" });
		expect(forked).toEqual({ sessionId: "s", text: "question 2", cancelled: false });
		expect(await server.event("session_replaced")).toMatchObject({ reason: "fork" });
		expect((await server.run("get_fork_messages", {})).messages).toHaveLength(1);
		const fork = (await server.run("get_state", {})).sessionFile;
		expect(fork).not.toBe(file);
		server.script(say("in the fork"));
		await server.run("prompt", { message: "here", waitFor: "settled" });
		const texts = server.events().filter((event) => event.type === "message_update");
		expect(texts.length).toBeGreaterThan(0);

		expect(await server.run("clone", {})).toEqual({ cancelled: false });
		expect((await server.run("get_state", {})).sessionFile).not.toBe(fork);
		expect(await server.run("get_last_assistant_text", {})).toEqual({ text: "in the fork" });

		expect(await server.run("new_session", { parentSession: fork ?? "" })).toEqual({
			cancelled: false,
		});
		expect(await server.run("get_last_assistant_text", {})).toEqual({ text: null });
		expect(await server.run("switch_session_file", { sessionPath: file ?? "" })).toEqual({
			cancelled: false,
		});
		expect((await server.run("get_fork_messages", {})).messages).toHaveLength(2);
		const reasons = server
			.events()
			.flatMap((event) => (event.type === "session_replaced" ? event.reason : []));
		expect(reasons).toEqual(["fork", "clone", "new", "switch"]);
		const nowhere = server.run("fork", { entryId: "none" });
		await expect(nowhere).rejects.toMatchObject({ code: "not_found" });
	});

	test("keeps model and modes when a new session begins in it", async () => {
		const server = await withSession();
		await server.run("set_model", { provider: "faux", modelId: "faux-2" });
		await server.run("set_steering_mode", { mode: "all" });
		await server.run("set_tools", { tools: ["read"] });
		await server.run("new_session", {});
		expect(await server.run("get_state", {})).toMatchObject({
			model: { id: "faux-2" },
			steeringMode: "all",
		});
		const { tools } = await server.run("get_tools", {});
		expect(tools.filter(({ active }) => active)).toHaveLength(1);
	});

	test("is moved in, and the abandoned branch can be summarised", async () => {
		const server = await withSession(2);
		const [first, second] = (await server.run("get_fork_messages", {})).messages;
		const moved = await server.run("navigate_tree", { targetId: second?.entryId ?? "" });
		expect(moved).toMatchObject({ editorText: "question 2", cancelled: false });
		server.script(say("a summary"));
		const summed = await server.run("navigate_tree", {
			targetId: first?.entryId ?? "",
			options: { summarize: true },
		});
		expect(summed).toMatchObject({ editorText: "question 1", cancelled: false });
		const nowhere = server.run("navigate_tree", { targetId: "none" });
		await expect(nowhere).rejects.toMatchObject({ code: "not_found" });
	});

	test("is compacted, and a session with nothing to compact says so", async () => {
		const server = await withSession(2, {
			settings: { compaction: { enabled: false, keepRecentTokens: 1 } },
		});
		server.script(say("what happened"), say("what happened"), say("what happened"));
		const result = await server.run("compact", {});
		expect(result).toMatchObject({ tokensBefore: expect.any(Number) });
		expect(result.summary).toContain("what happened");
		expect(await server.event("compaction_end")).toMatchObject({
			reason: "manual",
			aborted: false,
		});
		const again = server.run("compact", {});
		await expect(again).rejects.toMatchObject({ code: "wrong_state" });
		await server.run("abort_compaction", {});
		await server.run("abort_retry", {});
	});
});

describe("session files", () => {
	test("are listed, loaded once, and loaded again after they were closed", async () => {
		const server = await withSession(1);
		const { sessionFile = "" } = await server.run("get_state", {});
		await server.run("set_session_name", { name: "mine" });
		const listed = await server.run("list_stored_sessions", {});
		expect(listed.sessions).toMatchObject([
			{ sessionPath: sessionFile, sessionId: "s", sessionName: "mine", firstMessage: "question 1" },
		]);
		expect((await server.run("list_session_files", {})).files).toHaveLength(1);
		const hidden = await server.run("list_stored_sessions", {}, { principal: "ben" });
		expect(hidden.sessions).toEqual([]);

		const same = await server.done("load_session", { sessionPath: sessionFile, sessionId: "t" });
		expect(same).toMatchObject({ data: { sessionId: "s" } });
		expect(same.opened).toBeUndefined();
		const foreign = server.run("load_session", { sessionPath: sessionFile }, { principal: "ben" });
		await expect(foreign).rejects.toMatchObject({ code: "forbidden" });

		await server.run("delete_session", { sessionId: "s" });
		expect(existsSync(sessionFile)).toBe(true);
		const loaded = await server.done("load_session", { sessionPath: sessionFile, sessionId: "t" });
		expect(loaded).toMatchObject({ opened: true, data: { sessionId: "t" } });
		const { messages } = await server.run("get_fork_messages", { sessionId: "t" });
		expect(messages.map(({ text }) => text)).toEqual(["question 1"]);
		expect((await server.run("get_state", { sessionId: "t" })).sessionName).toBe("mine");
	});

	test("are loaded only from sessions folders, links followed", async () => {
		const server = await withSession(1);
		const { sessionFile = "" } = await server.run("get_state", {});
		const load = (sessionPath: string) =>
			server.run("load_session", { sessionPath, sessionId: "t" });
		await expect(load("sessions/a.jsonl")).rejects.toMatchObject({ code: "invalid_command" });
		await expect(load("/etc/passwd")).rejects.toMatchObject({ code: "invalid_command" });
		await expect(load("/etc/none.jsonl")).rejects.toMatchObject({ code: "forbidden" });

		const outside = join(tempDir(), "outside.jsonl");
		writeFileSync(outside, readFileSync(sessionFile));
		await expect(load(outside)).rejects.toMatchObject({ code: "forbidden" });
		const link = join(dirname(sessionFile), "link.jsonl");
		symlinkSync(outside, link);
		await expect(load(link)).rejects.toMatchObject({ code: "forbidden" });
		const upwards = join(server.agentDir, "sessions", "..", "auth.jsonl");
		await expect(load(upwards)).rejects.toMatchObject({ code: "forbidden" });
		const missing = join(dirname(sessionFile), "none.jsonl");
		await expect(load(missing)).rejects.toMatchObject({ code: "not_found" });
		const other = join(dirname(sessionFile), "other.jsonl");
		writeFileSync(other, '{"type":"message"}\n');
		await expect(load(other)).rejects.toMatchObject({ code: "not_found" });
		expect(server.sessions.count()).toBe(1);

		const local = server.write(".pi/sessions/local.jsonl", readFileSync(sessionFile, "utf8"));
		expect(await load(local)).toMatchObject({ sessionId: "t" });
		const open = server.run("switch_session_file", { sessionPath: local });
		await expect(open).rejects.toMatchObject({
			code: "wrong_state",
			message: /open as session "t"/,
		});
	});

	test("of a project that is gone cannot be loaded", async () => {
		const server = await withSession();
		const folder = join(server.agentDir, "sessions", "x");
		mkdirSync(folder, { recursive: true });
		const path = join(folder, "a.jsonl");
		writeFileSync(path, `${JSON.stringify({ type: "session", id: "x", cwd: "/gone/away" })}\n`);
		const load = server.run("load_session", { sessionPath: path, sessionId: "t" });
		await expect(load).rejects.toMatchObject({ code: "not_found" });
		await load.catch(({ message }) => expect(message).not.toContain("/gone/away"));
	});

	test("are exported beside themselves and nowhere else", async () => {
		const server = await withSession();
		const early = server.run("export_html", {});
		await expect(early).rejects.toMatchObject({ code: "wrong_state" });
		server.script(say("answer"));
		await server.run("prompt", { message: "question", waitFor: "settled" });
		const { sessionFile = "" } = await server.run("get_state", {});
		const { path } = await server.run("export_html", {});
		expect(dirname(path)).toBe(dirname(sessionFile));
		expect(readFileSync(path, "utf8")).toContain("<html");

		const victim = server.write("victim.html", "mine");
		symlinkSync(victim, join(dirname(sessionFile), "out.html"));
		const named = await server.run("export_html", { outputPath: "out.html" });
		expect(named.path).toBe(join(dirname(sessionFile), "out.html"));
		expect(readFileSync(victim, "utf8")).toBe("mine");
		for (const outputPath of ["/etc/out.html", "../out.html", "a/b.html", "out.jsonl", ".html"]) {
			const refused = server.run("export_html", { outputPath });
			await expect(refused).rejects.toMatchObject({ code: "invalid_command" });
		}
	});
});

describe("a shell command", () => {
	test("streams what it prints and answers with the rest", async () => {
		const server = await withSession();
		const result = await server.run("bash", { command: "echo one; exit 3", id: "b1" });
		expect(result).toMatchObject({ output: "one\n", exitCode: 3, cancelled: false });
		expect(await server.event("bash_execution_update")).toMatchObject({ id: "b1", delta: "one\n" });
		const { entries } = await server.run("get_entries", {});
		expect(JSON.stringify(entries)).toContain("bashExecution");
	});

	test("is stopped by abort_bash and when its time is over", async () => {
		const server = await withSession();
		const first = server.run("bash", { command: "echo begun; sleep 30" });
		await server.event("bash_execution_update");
		await server.run("abort_bash", {});
		expect(await first).toMatchObject({ cancelled: true });
		server.forgetEvents();
		const timeout = new AbortController();
		const second = server.run(
			"bash",
			{ command: "echo begun; sleep 30" },
			{ signal: timeout.signal },
		);
		await server.event("bash_execution_update");
		timeout.abort();
		expect(await second).toMatchObject({ cancelled: true });
	});

	test("that prints without end is streamed in part only", async () => {
		const server = await withSession();
		const result = await server.run("bash", { command: "head -c 4000000 /dev/zero | tr '\\0' x" });
		expect(result.truncated).toBe(true);
		const size = server.events().reduce((sum, event) => sum + JSON.stringify(event).length, 0);
		expect(size).toBeLessThan(1_300_000);
		expect(server.events().at(-1)).toMatchObject({
			delta: expect.stringContaining("not streamed"),
		});
	});
});
