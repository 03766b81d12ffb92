import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { askingExtension } from "../server/sessions/asking-extension.ts";
import { startSessions, type TestSessions } from "../server/sessions/start-sessions.ts";
import { call, say, withSession } from "../server/sessions/with-session.ts";
import { tempDir } from "../support/temp.ts";

test("a session that names no folder starts where the server says, or must name one", async () => {
	const own = tempDir();
	const named = await startSessions({ startFolder: own });
	expect(await named.run("list_sessions", {})).toEqual({
		sessions: [],
		startsIn: { folder: own },
	});
	expect((await named.run("create_session", {})).sessionInfo.cwd).toBe(own);

	const none = await startSessions({ startFolder: undefined });
	expect(await none.run("list_sessions", {})).toEqual({ sessions: [] });
	const unnamed = none.run("create_session", {});
	await expect(unnamed).rejects.toMatchObject({
		code: "invalid_command",
		message: /name a folder/,
	});
	expect((await none.run("create_session", { cwd: none.cwd })).sessionInfo.cwd).toBe(none.cwd);

	const sample = await startSessions({ newFolder: async () => own });
	expect(await sample.run("list_sessions", {})).toMatchObject({ startsIn: { sample: true } });
});

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

	test("whose id was generated has it in pi too, and is loaded again under it", async () => {
		const server = await startSessions();
		const { sessionId } = await server.run("create_session", { sessionId: undefined as never });
		server.script(say("answer"));
		await server.run("prompt", { sessionId, message: "question", waitFor: "settled" });
		expect((await server.run("get_session_stats", { sessionId })).sessionId).toBe(sessionId);
		await server.run("delete_session", { sessionId });
		const { sessions } = await server.run("list_stored_sessions", {});
		expect(sessions).toMatchObject([{ piSessionId: sessionId }]);
		const sessionPath = sessions[0]?.sessionPath ?? "";
		expect(await server.run("load_session", { sessionPath, sessionId })).toMatchObject({
			sessionId,
		});
		const { messages } = await server.run("get_messages", { sessionId });
		const roles = messages.map(({ role }) => role).filter((role) => role !== "system");
		expect(roles).toEqual(["user", "assistant"]);
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

	test("of one principal leaves room for those of others", async () => {
		const server = await startSessions({ maxSessions: 10, maxSessionsPerPrincipal: 1 });
		await server.run("create_session", { sessionId: "s" });
		const second = server.run("create_session", { sessionId: "t" });
		await expect(second).rejects.toMatchObject({ code: "limit_reached" });
		await server.run("create_session", { sessionId: "t" }, { principal: "ben" });
	});

	test("counts for its principal on whatever server it is", async () => {
		let elsewhere = 1;
		const server = await startSessions({
			maxSessionsPerPrincipal: 2,
			countElsewhere: async (principal: string) => (principal === "ben" ? 0 : elsewhere),
		});
		await server.run("create_session", { sessionId: "s" });
		const third = server.run("create_session", { sessionId: "t" });
		await expect(third).rejects.toMatchObject({
			code: "limit_reached",
			message: expect.stringContaining("You have 2 sessions"),
		});
		await server.run("create_session", { sessionId: "t" }, { principal: "ben" });
		elsewhere = 0;
		await server.run("create_session", { sessionId: "t" });
	});

	test("needs an absolute folder that is there", async () => {
		const server = await startSessions();
		const inFolder = (cwd: string) => server.run("create_session", { sessionId: "s", cwd });
		await expect(inFolder("C:\\somewhere")).rejects.toMatchObject({ code: "not_found" });
		await expect(inFolder("/no/such/folder")).rejects.toMatchObject({ code: "not_found" });
		rmSync(server.cwd, { recursive: true });
		const nowhere = server.run("create_session", { sessionId: "s" });
		await expect(nowhere).rejects.toMatchObject({ code: "wrong_state" });
		await nowhere.catch(({ message }) => expect(message).not.toContain(server.cwd));
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

	test("has one pi-strata, also where the user has it installed in pi", async () => {
		const server = await startSessions();
		const folder = join(server.agentDir, "extensions", "pi-strata");
		mkdirSync(folder, { recursive: true });
		const installed = `export default (pi) => {
			pi.registerCommand("strata", { handler() {} });
			pi.registerCommand("old-strata", { handler() {} });
		};`;
		writeFileSync(join(folder, "index.ts"), installed);
		await server.run("create_session", { sessionId: "s" });
		const { commands } = await server.run("get_commands", {});
		expect(commands.filter(({ name }) => name.includes("strata"))).toHaveLength(1);
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
		expect(await open.run("get_state", { sessionId: "t" })).toMatchObject({ projectTrusted: true });
		expect(await open.run("get_state", {})).not.toHaveProperty("projectTrusted");
		await open.restart();
		expect(await commandsOf(open, "t")).toContain("own");
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
	test("of pi's session that fails halfway leaves the server's session usable", async () => {
		const server = await withSession(1);
		const refresh = server.modelRuntime.refresh;
		server.modelRuntime.refresh = () => Promise.reject(new Error("no models at /srv/a/b"));
		const failed = server.run("new_session", {});
		await expect(failed).rejects.toMatchObject({ code: "failed", message: "no models at b" });
		server.modelRuntime.refresh = refresh;
		expect(await server.run("get_last_assistant_text", {})).toEqual({ text: "answer 1" });
		server.script(say("still here"));
		await server.run("prompt", { message: "hello", waitFor: "settled" });
		expect(await server.run("get_last_assistant_text", {})).toEqual({ text: "still here" });
	});

	test("in the middle of a run tells the end of it first", { tags: "slow" }, async () => {
		const server = await withSession(0, { extension: askingExtension });
		server.script(call("wait", {}), say("never"));
		await server.run("prompt", { message: "wait" });
		await server.event("tool_execution_start");
		await server.restart();
		expect(server.events().map(({ type }) => type)).toContain("agent_settled");
		const { messages } = await server.run("get_fork_messages", {});
		expect(messages.map(({ text }) => text)).toEqual(["wait"]);
	});

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

	test("after another one still goes on from there, although settings changed between them", async () => {
		const server = await withSession(2);
		const [, second] = (await server.run("get_fork_messages", {})).messages;
		await server.run("navigate_tree", { targetId: second?.entryId ?? "" });
		const { leafId } = await server.run("get_entries", {});
		await server.restart();
		await server.run("set_steering_mode", { mode: "all" });
		await server.restart();
		expect((await server.run("get_entries", {})).leafId).toBe(leafId);
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
