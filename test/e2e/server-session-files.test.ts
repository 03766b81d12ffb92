import { execFileSync } from "node:child_process";
import {
	existsSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	rmSync,
	statSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, test, vi } from "vitest";
import { markedSessions, markSession } from "../../src/core/session-marks.ts";
import { say, withSession } from "../server/sessions/with-session.ts";
import { startPiProcess } from "../support/pi-process.ts";
import { atEnd, tempDir } from "../support/temp.ts";

afterEach(() => void vi.unstubAllEnvs());

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

describe("a session file that a running pi has open", () => {
	const EXTENSION = fileURLToPath(new URL("../../pi-extension.ts", import.meta.url));

	/** A stored session of one exchange, which no session of the server has open. */
	async function stored() {
		const server = await withSession(1);
		const { sessionFile = "" } = await server.run("get_state", {});
		await server.run("delete_session", {});
		// The server knows its own sessions without marks.
		expect(existsSync(join(server.agentDir, "strata", "open-sessions"))).toBe(false);
		const inPi = () =>
			startPiProcess({
				args: ["-e", EXTENSION, "--session", sessionFile],
				agentDir: server.agentDir,
				cwd: server.cwd,
			});
		const listed = async () => {
			const { sessions } = await server.run("list_stored_sessions", {});
			return sessions.find(({ sessionPath }) => sessionPath === sessionFile);
		};
		return { server, sessionFile, inPi, listed };
	}

	test("is opened as a copy, with a warning, and in place when pi has ended", {
		tags: "slow",
	}, async () => {
		const { server, sessionFile, inPi, listed } = await stored();
		const pi = await inPi();
		await expect.poll(async () => (await listed())?.piProcess).toEqual(expect.any(Number));
		const before = readFileSync(sessionFile, "utf8");
		const opened = await server.run("load_session", { sessionPath: sessionFile, sessionId: "s" });
		expect(opened).toMatchObject({
			forkedFrom: sessionFile,
			warning: expect.stringMatching(/open in pi \(process \d+\).*copy/),
		});
		expect(opened.sessionInfo.sessionFile).not.toBe(sessionFile);
		server.script(say("answer in the copy"));
		await server.run("prompt", { message: "go on", waitFor: "settled" });
		expect(await server.run("get_fork_messages", {})).toMatchObject({
			messages: [{ text: "question 1" }, { text: "go on" }],
		});
		expect(readFileSync(sessionFile, "utf8")).toBe(before);

		await server.run("create_session", { sessionId: "t" });
		const moved = { sessionId: "t", sessionPath: sessionFile };
		expect(await server.run("switch_session_file", moved)).toMatchObject({
			cancelled: false,
			forkedFrom: sessionFile,
		});
		const { sessionFile: third } = await server.run("get_state", { sessionId: "t" });
		expect([sessionFile, opened.sessionInfo.sessionFile]).not.toContain(third);

		expect(await pi.close()).toBe(0);
		expect(await listed()).not.toHaveProperty("piProcess");
		const again = await server.run("load_session", { sessionPath: sessionFile, sessionId: "u" });
		expect(again).not.toHaveProperty("warning");
		expect(again.sessionInfo.sessionFile).toBe(sessionFile);
	});

	test("is left alone by a session that had it before the server was restarted", {
		tags: "slow",
	}, async () => {
		const { server, sessionFile, inPi, listed } = await stored();
		await server.run("load_session", { sessionPath: sessionFile, sessionId: "s" });
		await server.restart();
		await inPi();
		await expect.poll(async () => (await listed())?.piProcess).toEqual(expect.any(Number));
		const state = await server.run("get_state", {});
		expect(state.sessionFile).not.toBe(sessionFile);
		expect(server.saves.at(-1)).toMatchObject({ id: "s", file: state.sessionFile });
		expect(await server.event("session_replaced")).toMatchObject({ reason: "fork" });
		expect(
			await server.event("extension_ui_request", ({ method }) => method === "notify"),
		).toMatchObject({ message: expect.stringContaining("open in pi"), notifyType: "warning" });
		expect(await server.run("get_last_assistant_text", {})).toEqual({ text: "answer 1" });
	});

	test.each([
		["was refused", "() => ({ cancel: true })"],
		["failed", "() => rmSync(process.env.STRATA_TEST_PROJECT, { recursive: true })"],
	])("leaves no copy behind when moving into it %s", { tags: "slow" }, async (_, handler) => {
		const project = tempDir("project");
		vi.stubEnv("STRATA_TEST_PROJECT", project);
		const server = await withSession(0, {
			extension: `import { rmSync } from "node:fs";
				export default (pi) => pi.on("session_before_switch", ${handler});`,
		});
		await server.run("create_session", { sessionId: "t", cwd: project });
		server.script(say("an answer"));
		await server.run("prompt", { sessionId: "t", message: "a question", waitFor: "settled" });
		const { sessionFile = "" } = await server.run("get_state", { sessionId: "t" });
		await server.run("delete_session", { sessionId: "t" });
		const mark = markSession(server.agentDir, sessionFile);
		atEnd(() => mark.remove());
		await expect.poll(() => markedSessions(server.agentDir)).toHaveProperty("size", 1);
		const moved = server.run("switch_session_file", { sessionPath: sessionFile });
		await moved.then(
			(result) => expect(result).toEqual({ cancelled: true }),
			(error) => expect(error).toMatchObject({ code: "failed" }),
		);
		expect(readdirSync(dirname(sessionFile))).toEqual([basename(sessionFile)]);
	});

	test("is opened in place when that pi was killed", { tags: "slow" }, async () => {
		const { server, sessionFile, inPi, listed } = await stored();
		const pi = await inPi();
		await expect.poll(async () => (await listed())?.piProcess).toEqual(expect.any(Number));
		await pi.kill();
		const opened = await server.run("load_session", { sessionPath: sessionFile });
		expect(opened.sessionInfo.sessionFile).toBe(sessionFile);
		expect(readdirSync(join(server.agentDir, "strata", "open-sessions"))).toEqual([]);
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
		expect(same.session?.id).toBe("s"); // whose version the answer has
		const foreign = server.run("load_session", { sessionPath: sessionFile }, { principal: "ben" });
		await expect(foreign).rejects.toMatchObject({ code: "not_found" });

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
		await expect(load("C:\\a.jsonl")).rejects.toMatchObject({ code: "not_found" });
		await expect(load("/etc/passwd")).rejects.toMatchObject({ code: "forbidden" });
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

	test("that several ask for at once are opened once", async () => {
		const server = await withSession(1);
		const { sessionFile: sessionPath = "" } = await server.run("get_state", {});
		await server.run("delete_session", { sessionId: "s" });
		const load = (sessionId: string, more = {}) =>
			server.run("load_session", { sessionPath, sessionId }, more);
		const [one, two, foreign] = await Promise.allSettled([
			load("one"),
			load("two"),
			load("three", { principal: "ben" }),
		]);
		const first = server.sessions.has("anna", "one") ? "one" : "two";
		expect(one).toMatchObject({ value: { sessionId: first } });
		expect(two).toMatchObject({ value: { sessionId: first } });
		expect(foreign).toMatchObject({ reason: { code: "not_found" } });
		expect(server.sessions.count()).toBe(1);
	});

	test("that a session is being switched to are taken", {
		tags: "slow",
		repeats: 9,
	}, async () => {
		const server = await withSession(1);
		const { sessionFile: sessionPath = "" } = await server.run("get_state", {});
		await server.run("delete_session", { sessionId: "s" });
		for (const sessionId of ["a", "b"]) await server.run("create_session", { sessionId });
		const into = (sessionId: string) =>
			server.run("switch_session_file", { sessionId, sessionPath });
		await Promise.allSettled([
			into("a"),
			into("b"),
			server.run("load_session", { sessionPath, sessionId: "c" }),
		]);
		const { sessions } = await server.run("list_sessions", {});
		expect(sessions.filter(({ sessionFile }) => sessionFile === sessionPath)).toHaveLength(1);
	});

	test("may be read by a principal unless they are another's", async () => {
		const server = await withSession(1);
		const { sessionFile = "" } = await server.run("get_state", {});
		expect(await server.sessions.readableFile("anna", sessionFile)).toBe(sessionFile);
		const foreign = server.sessions.readableFile("ben", sessionFile);
		await expect(foreign).rejects.toMatchObject({ code: "not_found" });
		const outside = server.sessions.readableFile("anna", "/etc/x.jsonl");
		await expect(outside).rejects.toMatchObject({ code: "forbidden" });
	});

	test("that are deleted under their session are written again, whole", {
		tags: "slow",
	}, async () => {
		const server = await withSession(1);
		const { sessionFile = "" } = await server.run("get_state", {});
		rmSync(dirname(sessionFile), { recursive: true });
		server.script(say("answer 2"));
		await server.run("prompt", { message: "question 2", waitFor: "settled" });
		rmSync(sessionFile);
		await server.run("set_session_name", { name: "mine" }); // pi begins the file anew, without what was in it
		server.script(say("answer 3"));
		await server.run("prompt", { message: "question 3", waitFor: "settled" });
		await server.restart();
		const { messages } = await server.run("get_fork_messages", {});
		expect(messages.map(({ text }) => text)).toEqual(["question 1", "question 2", "question 3"]);
		expect((await server.run("get_state", {})).sessionName).toBe("mine");
	});

	test("that never answer do not keep the server waiting", async () => {
		const server = await withSession(1);
		const { sessionFile = "" } = await server.run("get_state", {});
		const pipe = join(dirname(sessionFile), "pipe.jsonl");
		execFileSync("mkfifo", [pipe]);
		const load = server.run("load_session", { sessionPath: pipe, sessionId: "t" });
		await expect(load).rejects.toMatchObject({ code: "not_found" });
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

	test("are exported into a folder of their own and nowhere else", async () => {
		const server = await withSession();
		const early = server.run("export_html", {});
		await expect(early).rejects.toMatchObject({ code: "wrong_state" });
		server.script(say("answer"));
		await server.run("prompt", { message: "question", waitFor: "settled" });
		const { sessionFile = "" } = await server.run("get_state", {});
		const { path } = await server.run("export_html", {});
		const folder = sessionFile.replace(/\.jsonl$/, "");
		expect(dirname(path)).toBe(folder);
		expect(statSync(folder).mode & 0o777).toBe(0o700);
		expect(readFileSync(path, "utf8")).toContain("<html");

		const victim = server.write("victim.html", "mine");
		symlinkSync(victim, join(folder, "out.html"));
		const named = await server.run("export_html", { outputPath: "out.html" });
		expect(named.path).toBe(join(folder, "out.html"));
		expect(readFileSync(victim, "utf8")).toBe("mine");
		expect(readdirSync(folder).sort()).toEqual([basename(path), "out.html"].sort());
	});

	test("are exported through no link, and by nobody over the export of another", async () => {
		const server = await withSession();
		const bob = { principal: "bob" };
		await server.run("create_session", {}, bob);
		for (const who of [{ principal: "anna" }, bob]) {
			server.script(say("answer"));
			await server.run("prompt", { message: `of ${who.principal}`, waitFor: "settled" }, who);
		}
		const outputPath = "report.html";
		const { path } = await server.run("export_html", { outputPath });
		const other = await server.run("export_html", { outputPath }, bob);
		expect(dirname(dirname(other.path))).toBe(dirname(dirname(path)));
		expect(other.path).not.toBe(path);

		const elsewhere = server.write("elsewhere/kept.txt", "");
		rmSync(dirname(path), { recursive: true });
		symlinkSync(dirname(elsewhere), dirname(path));
		const refused = server.run("export_html", { outputPath });
		await expect(refused).rejects.toMatchObject({ code: "wrong_state" });
		expect(readdirSync(dirname(elsewhere))).toEqual(["kept.txt"]);
	});
});
