import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fauxAssistantMessage } from "@earendil-works/pi-ai";
import { describe, expect, test } from "vitest";
import { askingExtension } from "../server/sessions/asking-extension.ts";
import { startSessions, type TestSessions } from "../server/sessions/start-sessions.ts";
import { call, say, withSession } from "../server/sessions/with-session.ts";
import { tempDir } from "../support/temp.ts";

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
		const model = Promise.withResolvers<void>();
		server.script(async () => {
			await model.promise;
			return say("the belated answer");
		});
		const { session } = await server.done("prompt", { message: "remember the milk" });
		const text = readFileSync(session?.file ?? "", "utf8");
		expect(text).toContain("remember the milk");
		expect(text).not.toContain("the belated answer");
		model.resolve();
		await server.event("agent_settled");
		expect(readFileSync(session?.file ?? "", "utf8")).toContain("the belated answer");
	});

	test("is refused while the session answers, unless it says how to be added", async () => {
		const server = await withSession(0, { tokensPerSecond: 50 });
		server.script(say("word ".repeat(2_000)), say("second"), say("third"), say("fourth"));
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

	test("of a session outside the only folder for them is refused", async () => {
		const sampleProjects = tempDir();
		const server = await withSession(0, { sampleProjects });
		for (const type of ["prompt", "steer", "follow_up"] as const) {
			const refused = server.run(type, { message: "write something" });
			await expect(refused).rejects.toMatchObject({
				code: "wrong_state",
				message: /sample project/,
			});
		}
		await expect(server.run("compact", {})).rejects.toMatchObject({ message: /sample project/ });
		const cwd = join(sampleProjects, "shop");
		mkdirSync(cwd);
		await server.run("create_session", { sessionId: "t", cwd });
		server.script(say("yes"));
		await server.run("prompt", { sessionId: "t", message: "go on", waitFor: "settled" });
	});

	test("that steers or follows up reaches the model", { tags: "slow" }, async () => {
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
		await keyless.catch(({ message }) => expect(message).not.toMatch(/\/(?!login)/));
		expect(await server.run("get_messages", {})).toEqual({ messages: [] });
	});

	test("that is an unknown command, or one of pi's terminal, never reaches the model", {
		tags: "slow",
	}, async () => {
		const server = await withSession(0, { extension: askingExtension });
		for (const [message, words] of [
			["/renmae x", /no command "\/renmae".*"\/rename".*verbatim/],
			["/zzzzzz", /no command "\/zzzzzz"/],
			["/compact", /terminal.* compact /],
			["/compact\nthe tests", /terminal.* compact /],
			["/quit", /terminal/],
			["/skill:none at all", /no command "\/skill:none"/],
		] as const) {
			for (const type of ["prompt", "steer", "follow_up"] as const) {
				const refused = server.run(type, { message });
				await expect(refused).rejects.toMatchObject({ code: "unknown_command", message: words });
			}
		}
		expect(await server.run("get_messages", {})).toEqual({ messages: [] });
		expect(await server.run("get_state", {})).toMatchObject({ pendingMessageCount: 0 });
	});

	test("that begins with a path, a comment, a space or anything else but a name is text", {
		tags: "slow",
	}, async () => {
		const server = await withSession();
		const said = [
			"/usr/bin/env is gone",
			"// to do",
			"/* to do */",
			"/",
			"/ 2",
			" /compact is odd",
		];
		server.script(...said.map((message) => say(`yes: ${message}`)));
		for (const message of said) await server.run("prompt", { message, waitFor: "settled" });
		expect(await userTexts(server)).toEqual(said);
	});

	test("with verbatim is text, whatever it begins with", { tags: "slow" }, async () => {
		const server = await withSession(0, { extension: askingExtension });
		const said = ["/compact", "/rename x", "/zzz"];
		server.script(...said.map(() => say("yes")));
		for (const message of said) {
			await server.run("prompt", { message, verbatim: true, waitFor: "settled" });
		}
		expect(await userTexts(server)).toEqual(said);
		expect((await server.run("get_state", {})).sessionName).toBeUndefined();
	});

	test("that names a template, a skill or a command of an extension is still carried out", {
		tags: "slow",
	}, async () => {
		const server = await withSession(0, { extension: askingExtension });
		mkdirSync(join(server.agentDir, "prompts"));
		writeFileSync(join(server.agentDir, "prompts", "greet.md"), "Greet $1 warmly");
		mkdirSync(join(server.agentDir, "skills", "knit"), { recursive: true });
		writeFileSync(
			join(server.agentDir, "skills", "knit", "SKILL.md"),
			"---\nname: knit\ndescription: knits\n---\nTwo right, two left.",
		);
		await server.run("reload", {});
		server.script(say("hello"), say("done"), say("done"));
		await server.run("prompt", { message: "/greet Anna", waitFor: "settled" });
		await server.run("prompt", { message: "/skill:knit a scarf", waitFor: "settled" });
		// Pi itself looks for a name up to a space, and would send these as text.
		await server.run("prompt", { message: "/skill:knit\na hat", waitFor: "settled" });
		await server.run("prompt", { message: "/rename\tby a tab", waitFor: "settled" });
		const [greeting, scarf, hat, ...more] = await userTexts(server);
		expect(greeting).toBe("Greet Anna warmly");
		expect(scarf).toMatch(/^<skill name="knit"[\s\S]*Two right, two left\.[\s\S]*a scarf$/);
		expect(hat).toMatch(/^<skill name="knit"[\s\S]*Two right, two left\.[\s\S]*a hat$/);
		expect(more).toEqual([]);
		expect(await server.run("get_state", {})).toMatchObject({ sessionName: "by a tab" });
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

	test("that is aborted in a tool ends as aborted, not as a failure", {
		tags: "slow",
	}, async () => {
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

	test("is stopped by an abort that comes while pi is about to take it", {
		tags: "slow",
	}, async () => {
		const server = await withSession(1, { tokensPerSecond: 20, extension: slowToStart });
		const waits = [undefined, 0, 1, 3, 5, 8, 10, 15];
		for (const [index, wait] of [...waits, ...waits].entries()) {
			server.forgetEvents();
			server.script(say("word ".repeat(100)));
			const isWaitedFor = index < waits.length;
			const prompt = server.run("prompt", {
				message: "go on",
				...(isWaitedFor && { waitFor: "settled" as const }),
			});
			if (wait !== undefined) await new Promise((resolve) => setTimeout(resolve, wait));
			await server.run("abort", {});
			expect(await prompt).toEqual(isWaitedFor ? { stopReason: "aborted" } : {});
			expect(await server.event("agent_settled")).toMatchObject({ aborted: true });
			expect(await server.run("get_state", {})).toMatchObject({ isStreaming: false });
		}
		server.forgetEvents();
		server.script(say("fine"));
		const after = await server.run("prompt", { message: "and now", waitFor: "settled" });
		expect(after).toEqual({ stopReason: "stop" });
	});

	test("that is the first of its session is stopped by an abort in the same burst, too", async () => {
		const server = await withSession(0, { tokensPerSecond: 20 });
		server.script(say("word ".repeat(100)));
		const [abort, prompt] = [
			server.run("abort", {}), // the engine may start it first, since it does not queue
			server.run("prompt", { message: "go on", waitFor: "settled" }),
		];
		await abort;
		expect(await prompt).toEqual({ stopReason: "aborted" });
	});

	test("whose extension asks is stopped by an abort that came before the question", async () => {
		const server = await withSession(0, { extension: askingExtension });
		const asking = server.run("prompt", { message: "/ask confirm" });
		await server.run("abort", {});
		await asking;
		expect(await server.event("extension_ui_closed")).toMatchObject({ reason: "aborted" });
	});
});

/** Takes a while before a run begins, as extensions that look something up do. */
const slowToStart = `
export default function (pi) {
	const wait = () => new Promise((resolve) => setTimeout(resolve, 4));
	pi.on("input", wait);
	pi.on("before_agent_start", wait);
}
`;

describe("events", () => {
	test("carry every text once: an answer of 2,000 tokens takes far less than a megabyte", {
		tags: "slow",
	}, async () => {
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

	test("is stopped by abort_bash before pi has begun with it, too", async () => {
		const server = await withSession(0, { extension: slowShellExtension });
		const bash = server.run("bash", { command: "touch begun" });
		await server.event("extension_ui_request", (event) => event.method === "notify");
		expect(await server.run("get_state", {})).toMatchObject({ isBashRunning: true });
		await server.run("abort_bash", {});
		await server.run("prompt", { message: "/go-on" });
		expect(await bash).toEqual({ output: "", cancelled: true, truncated: false });
		expect(existsSync(join(server.cwd, "begun"))).toBe(false);
		const { messages } = await server.run("get_messages", {});
		expect(messages.at(-1)).toMatchObject({ role: "bashExecution", cancelled: true });
		expect(await server.run("get_state", {})).toMatchObject({ isBashRunning: false });
	});

	test("that prints without end is streamed in part only", { tags: "slow" }, async () => {
		const server = await withSession();
		const result = await server.run("bash", { command: "head -c 4000000 /dev/zero | tr '\\0' x" });
		// Pi keeps the last pieces of a long output; whether it calls that truncated depends on how they came in.
		expect(result).toMatchObject({ cancelled: false, fullOutputPath: expect.any(String) });
		const size = server.events().reduce((sum, event) => sum + JSON.stringify(event).length, 0);
		expect(size).toBeLessThan(1_300_000);
		expect(server.events().at(-1)).toMatchObject({
			delta: expect.stringContaining("not streamed"),
		});
	});
});

/** Holds every shell command of the user until `/go-on`. */
const slowShellExtension = `
export default function (pi) {
	let goOn;
	pi.on("user_bash", (_event, ctx) => {
		ctx.ui.notify("held", "info");
		return new Promise((resolve) => { goOn = () => resolve(undefined); });
	});
	pi.registerCommand("go-on", { description: "lets it go on", handler: async () => goOn() });
}
`;

/** What the user said, as the model got it. */
async function userTexts(server: TestSessions): Promise<string[]> {
	const { messages } = await server.run("get_messages", {});
	return messages.flatMap(({ role, content }) => {
		if (role !== "user" || !Array.isArray(content)) return [];
		return content.map((block) => String((block as { text?: string }).text));
	});
}
