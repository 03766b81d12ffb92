// @module-tag slow
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
	methods,
	type SessionUpdate,
	type SetSessionConfigOptionResponse,
} from "@agentclientprotocol/sdk";
import { expect, test } from "vitest";
import { startServe } from "../server/support/serve-process.ts";
import { PATIENCE } from "../support/patience.ts";
import { atEnd, socketPath, tempDir } from "../support/temp.ts";
import { kindsOf, openEditor, say, textOf } from "./editor.ts";

const { session } = methods.agent;
const DEMO = ["--demo", "always", "--port", "0", "--json"];

async function serverAndEditor(words = DEMO) {
	const agentDir = tempDir("agent");
	const server = startServe(words, { agentDir });
	await server.ready();
	const editor = openEditor({ agentDir });
	await editor.initialize();
	return { agentDir, server, editor };
}

type Call = Extract<SessionUpdate, { sessionUpdate: "tool_call" | "tool_call_update" }>;

function callsIn(updates: readonly SessionUpdate[]) {
	const calls = new Map<string, Partial<Extract<Call, { sessionUpdate: "tool_call_update" }>>>();
	for (const update of updates) {
		if (update.sessionUpdate !== "tool_call" && update.sessionUpdate !== "tool_call_update")
			continue;
		calls.set(update.toolCallId, {
			...calls.get(update.toolCallId),
			...update,
			sessionUpdate: "tool_call_update",
		});
	}
	return [...calls.values()];
}

test("an editor drives a whole session, is killed, and continues it with its history", async () => {
	const { agentDir, editor } = await serverAndEditor();
	const { agent, updates } = editor;
	const created = await agent.request(session.new, { cwd: agentDir, mcpServers: [] });
	const { sessionId } = created;
	expect(created.configOptions).toMatchObject([{ id: "model", category: "model" }]);
	const option = { sessionId, configId: "model", value: "strata-demo/scripted" };
	const chosen = await agent.request<SetSessionConfigOptionResponse>(
		session.setConfigOption,
		option,
	);
	expect(chosen.configOptions).toMatchObject([{ currentValue: "strata-demo/scripted" }]);
	await expect.poll(() => kindsOf(updates), PATIENCE).toContain("available_commands_update");
	expect(textOf(updates)).toContain("a scripted demo answers in a sample project");

	const first = await agent.request(session.prompt, { sessionId, prompt: say("Find the bug") });
	expect(first.stopReason).toBe("end_turn");
	expect(first._meta?.["strata/usage"]).toMatchObject({ cost: expect.any(Number) });
	expect(textOf(updates)).toContain("I am a scripted demo");
	expect(textOf(updates)).toContain("orders of exactly 50.00 get the discount now");
	expect(textOf(updates, "user_message_chunk")).toBe("");
	const calls = callsIn(updates);
	expect(calls.every(({ status }) => status === "completed")).toBe(true);
	expect(calls.map(({ kind }) => kind)).toEqual(expect.arrayContaining(["search", "read", "edit"]));
	const edit = calls.find(({ kind }) => kind === "edit");
	const path = expect.stringMatching(/discount\.ts$/);
	expect(edit?.locations).toMatchObject([{ path }]);
	const newText = "total >= DISCOUNT_FROM";
	expect(edit?.content).toMatchObject([
		{ type: "diff", path, oldText: expect.any(String), newText },
	]);
	const usages = updates.filter(({ sessionUpdate }) => sessionUpdate === "usage_update");
	expect(usages.at(-1)).toMatchObject({
		used: expect.any(Number),
		size: 56_000,
		cost: { currency: "USD" },
	});

	await editor.kill();
	const next = openEditor({ agentDir });
	await next.initialize();
	const listed = await next.agent.request(session.list, {});
	expect(listed.sessions.map((one) => one.sessionId)).toContain(sessionId);
	const loaded = await next.agent.request(session.load, {
		sessionId,
		cwd: agentDir,
		mcpServers: [],
	});
	expect(loaded.configOptions).toMatchObject([{ id: "model" }]);
	expect(textOf(next.updates, "user_message_chunk")).toBe("Find the bug");
	expect(textOf(next.updates)).toContain("orders of exactly 50.00 get the discount now");
	const ids = (list: ReturnType<typeof callsIn>) => list.map(({ toolCallId }) => toolCallId).sort();
	expect(ids(callsIn(next.updates))).toEqual(ids(calls));
	expect(callsIn(next.updates).every(({ status }) => status === "completed")).toBe(true);

	next.updates.length = 0;
	const second = await next.agent.request(session.prompt, {
		sessionId,
		prompt: say("And the logs?"),
	});
	expect(second.stopReason).toBe("end_turn");
	expect(textOf(next.updates)).toContain("Logs next: a day at a time.");
	expect(textOf(next.updates)).not.toContain("orders of exactly 50.00");
});

test("a turn that is cancelled ends as cancelled, and the session goes on", async () => {
	const { agentDir, editor } = await serverAndEditor();
	const { agent, updates } = editor;
	const { sessionId } = await agent.request(session.new, { cwd: agentDir, mcpServers: [] });
	const answer = agent.request(session.prompt, { sessionId, prompt: say("Find the bug") });
	await expect.poll(() => textOf(updates), PATIENCE).toContain("I am a scripted demo");
	await expect(agent.request(session.prompt, { sessionId, prompt: say("Me too") })).rejects.toThrow(
		"cancel that first",
	);
	await agent.notify(session.cancel, { sessionId });
	expect((await answer).stopReason).toBe("cancelled");
	expect(callsIn(updates).every(({ status }) => /completed|failed/.test(status ?? ""))).toBe(true);
	const again = await agent.request(session.prompt, { sessionId, prompt: say("Go on") });
	expect(again.stopReason).toBe("end_turn");
});

test("an editor that is killed during a run finds its answer when it loads the session", async () => {
	const { agentDir, editor } = await serverAndEditor();
	const { agent, updates } = editor;
	const { sessionId } = await agent.request(session.new, { cwd: agentDir, mcpServers: [] });
	const lost = agent.request(session.prompt, { sessionId, prompt: say("Find the bug") });
	lost.catch(() => {});
	await expect.poll(() => textOf(updates), PATIENCE).toContain("I am a scripted demo");
	await editor.kill();
	const next = openEditor({ agentDir });
	await next.initialize();
	await next.agent.request(session.load, { sessionId, cwd: agentDir, mcpServers: [] });
	await expect
		.poll(() => textOf(next.updates), PATIENCE)
		.toContain("orders of exactly 50.00 get the discount now");
	const text = textOf(next.updates);
	expect(text.split("I am a scripted demo")).toHaveLength(2);
	expect(text.split("Found it. I read the file")).toHaveLength(2);
});

test("a server that is killed during a turn ends it with an error, and the next one continues the session", async () => {
	const { agentDir, server, editor } = await serverAndEditor();
	const { agent, updates } = editor;
	const { sessionId } = await agent.request(session.new, { cwd: agentDir, mcpServers: [] });
	const answer = agent.request(session.prompt, { sessionId, prompt: say("Find the bug") });
	const outcome = answer.then(
		({ stopReason }) => stopReason,
		(error: Error) => error.message,
	);
	await expect.poll(() => textOf(updates), PATIENCE).toContain("I am a scripted demo");
	server.child.kill("SIGKILL");
	await server.exited;
	const dataDir = join(agentDir, "strata", "server");
	atEnd(() => killServerOf(dataDir));
	// strata acp starts one too, and one of the two gets the folder.
	const next = startServe(DEMO, { agentDir });
	await next.ready().catch(() => {});
	expect(await outcome).toMatch(/interrupted|stopped|crash/i);
	const again = await agent.request(session.prompt, { sessionId, prompt: say("Go on") });
	expect(again.stopReason).toBe("end_turn");
	expect(callsIn(updates).every(({ status }) => /completed|failed/.test(status ?? ""))).toBe(true);
});

test("without a server, one is started in the background and serves the next editor too", async () => {
	const agentDir = tempDir("agent");
	const editor = openEditor({ agentDir, words: ["--demo"] });
	const dataDir = join(agentDir, "strata", "server", "acp-demo");
	atEnd(() => killServerOf(dataDir));
	await editor.initialize();
	const { agent } = editor;
	const { sessionId } = await agent.request(session.new, { cwd: agentDir, mcpServers: [] });
	const pid = pidIn(dataDir);
	await editor.kill();
	const next = openEditor({ agentDir, words: ["--demo"] });
	await next.initialize();
	const resumed = await next.agent.request(session.resume, { sessionId, cwd: agentDir });
	expect(resumed.configOptions).toMatchObject([{ id: "model" }]);
	expect(pidIn(dataDir)).toBe(pid);
	expect(readFileSync(join(dataDir, "lock.json"), "utf8")).not.toContain('token"');
	// Killed, it is started again.
	process.kill(pid, "SIGKILL");
	const named = await next.agent.request(session.prompt, { sessionId, prompt: say("/name Mine") });
	expect(named.stopReason).toBe("end_turn");
	expect(pidIn(dataDir)).not.toBe(pid);
});

test("a server that only has a socket is found", async () => {
	const path = socketPath();
	const { agentDir, editor } = await serverAndEditor([
		...["--demo", "always", "--socket", path, "--json"],
	]);
	const { agent } = editor;
	const created = await agent.request(session.new, { cwd: agentDir, mcpServers: [] });
	expect(created.sessionId).toMatch(/^[0-9a-f-]{36}$/);
});

const ASKING = `export default (pi) => {
	pi.registerCommand("ask", {
		description: "Asks",
		handler: async (_words, ctx) => {
			const isSure = await ctx.ui.confirm("Delete", "all files?");
			const colour = await ctx.ui.select("Colour", ["red", "blue"]);
			const name = await ctx.ui.input("Name");
			ctx.ui.notify([isSure, colour, name].join(", "), "info");
		},
	});
};`;

test("questions of extensions reach the user: choices as permissions, texts as forms", async () => {
	const agentDir = tempDir("agent");
	mkdirSync(join(agentDir, "extensions"));
	writeFileSync(join(agentDir, "extensions", "asking.js"), ASKING);
	await startServe(DEMO, { agentDir }).ready();
	const asked: string[] = [];
	const editor = openEditor({
		agentDir,
		capabilities: { session: { notices: {} }, elicitation: { form: {} } },
		permit({ toolCall, options }) {
			asked.push(toolCall.title ?? "");
			const wanted = options.find(({ name }) => name === "Yes" || name === "blue");
			return wanted ? { outcome: "selected", optionId: wanted.optionId } : { outcome: "cancelled" };
		},
		write: () => ({ action: "accept", content: { text: "Anna" } }),
	});
	await editor.initialize();
	const { agent, updates } = editor;
	const { sessionId } = await agent.request(session.new, { cwd: agentDir, mcpServers: [] });
	await expect.poll(() => JSON.stringify(updates), PATIENCE).toContain('"name":"ask"');
	const ended = await agent.request(session.prompt, { sessionId, prompt: say("/ask") });
	expect(ended.stopReason).toBe("end_turn");
	expect(asked).toEqual(["Delete: all files?", "Colour"]);
	const title = "true, blue, Anna";
	expect(updates).toContainEqual({ sessionUpdate: "notice", severity: "info", title });
	expect(callsIn(updates).map(({ status }) => status)).toEqual(["completed", "completed"]);

	// An editor that cannot ask does not keep the session waiting.
	const plain = openEditor({ agentDir });
	await plain.initialize();
	await plain.agent.request(session.resume, { sessionId, cwd: agentDir });
	await editor.kill();
	await plain.agent.request(session.prompt, { sessionId, prompt: say("/ask") });
	expect(textOf(plain.updates)).toContain("false, ,");
});

test("hostile input is answered with errors, and the connection goes on", async () => {
	const { agentDir, editor } = await serverAndEditor();
	const { agent, child, updates } = editor;
	child.stdin?.write("not json\n[1]\n42\n{}\n\u0000\n");
	child.stdin?.write('{"jsonrpc":"2.0","id":"x","method":"session/new","params":{"cwd":7}}\n');
	const prompt = (sessionId: string, blocks: object[]) =>
		agent.request<unknown>(session.prompt, { sessionId, prompt: blocks });
	const load = { cwd: agentDir, mcpServers: [] };
	for (const sessionId of ["none", "../../etc", "", "x".repeat(1e5), "\u0000"]) {
		await expect(agent.request(session.load, { sessionId, ...load })).rejects.toThrow();
		await expect(prompt(sessionId, say("Hi"))).rejects.toThrow();
		await agent.notify(session.cancel, { sessionId });
	}
	await expect(agent.request(session.new, { cwd: "here", mcpServers: [] })).rejects.toThrow(
		"absolute",
	);
	await expect(agent.request(session.list, { cursor: "-1" })).rejects.toThrow("cursor");
	await expect(agent.request("session/unknown", {})).rejects.toThrow();
	await expect(agent.request(methods.agent.authenticate, { methodId: "x" })).rejects.toThrow(
		"none is needed",
	);
	const { sessionId } = await agent.request(session.new, {
		cwd: agentDir,
		mcpServers: [{ name: "other", command: "/bin/false", args: [], env: [] }],
	});
	await expect.poll(() => textOf(updates), PATIENCE).toContain("Not connected: other");
	await expect(prompt(sessionId, [])).rejects.toThrow("empty");
	await expect(prompt(sessionId, say("/nothing"))).rejects.toThrow('no command "/nothing"');
	await expect(prompt(sessionId, say("x".repeat(300_000)))).rejects.toThrow("200000 characters");
	await expect(
		prompt(sessionId, [{ type: "image", data: "AA==", mimeType: "text/html" }]),
	).rejects.toThrow("not a type of image");
	const option = { sessionId, configId: "model", value: "no/such" };
	await expect(agent.request(session.setConfigOption, option)).rejects.toThrow("no model");
	expect((await agent.request(session.list, {})).sessions).toHaveLength(1);
	expect(editor.errors()).toBe("");
});

test("--url reaches a server with a token, and a server that refuses it is reported", async () => {
	const { agentDir, server, editor } = await serverAndEditor();
	const { url = "", tokenFile = "" } = await server.ready();
	const named = openEditor({
		agentDir: tempDir("other"),
		words: ["--url", url, "--token-file", tokenFile],
	});
	await named.initialize();
	const { sessionId } = await named.agent.request(session.new, { cwd: agentDir, mcpServers: [] });
	const listed = await editor.agent.request(session.list, {});
	expect(listed.sessions.map((one) => one.sessionId)).toEqual([sessionId]);
	const stranger = openEditor({ agentDir: tempDir("other"), words: ["--url", url] });
	await stranger.initialize();
	await expect(stranger.agent.request(session.list, {})).rejects.toThrow(/Not connected/);
});

function pidIn(dataDir: string): number {
	return JSON.parse(readFileSync(join(dataDir, "lock.json"), "utf8")).pid;
}

/** Of a server that belongs to no process of the test. */
function killServerOf(dataDir: string): void {
	try {
		process.kill(pidIn(dataDir), "SIGKILL");
	} catch {
		// It did not start, or has ended.
	}
}
