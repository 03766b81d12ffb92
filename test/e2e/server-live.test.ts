// @module-tag slow
/** A real pi, a real server and a client of it: the client reads an answer while pi still writes it. */
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test, vi } from "vitest";
import { DEMO_OF } from "../../src/core/demo-model.ts";
import { markDemo } from "../../src/core/session-marks.ts";
import { createClient, type StreamFrame } from "../../src/protocol/client.ts";
import type { SessionEvent } from "../../src/protocol/session-events.ts";
import { startServe } from "../server/support/serve-process.ts";
import {
	LOOPBACK_MODEL,
	modelsJson,
	startLoopbackAnthropic,
} from "../support/loopback-anthropic.ts";
import { PATIENCE } from "../support/patience.ts";
import { runPi, startPiProcess } from "../support/pi-process.ts";
import { atEnd, tempDir } from "../support/temp.ts";

const extension = fileURLToPath(new URL("../../pi-extension.ts", import.meta.url));

/** A pi with one answered message, and a model that follows the script. */
async function startTerminal(agentDir = tempDir("agent"), env: Record<string, string> = {}) {
	const loop = await startLoopbackAnthropic();
	atEnd(() => loop.close());
	writeFileSync(join(agentDir, "models.json"), modelsJson(loop.url));
	loop.script(["first answer"]);
	const args = ["-e", extension, "--provider", "loop", "--model", LOOPBACK_MODEL];
	const cwd = tempDir("cwd");
	const pi = await startPiProcess({ agentDir, cwd, args, env });
	await pi.request({ type: "prompt", message: "first question" });
	await pi.waitFor(({ type }) => type === "agent_settled");
	const [file = ""] = globSync("sessions/*/*.jsonl", { cwd: agentDir });
	return { loop, pi, agentDir, cwd, file: join(agentDir, file) };
}

async function startServer(agentDir: string, words: string[] = ["--port", "0"]) {
	const server = startServe([...words, "--json"], { agentDir });
	const { url = "" } = await server.ready();
	const client = createClient({ url, token: server.token() });
	atEnd(() => client.close());
	const frames: StreamFrame[] = [];
	async function watch(sessionPath: string): Promise<string> {
		const { data } = await client.request("load_session", { sessionPath, watch: true });
		const subscription = client.subscribe(data.sessionId, (frame) => void frames.push(frame));
		atEnd(() => subscription.close());
		return data.sessionId;
	}
	const events = () =>
		frames.flatMap((frame) => (frame.type === "event" ? frame.event : [])) as SessionEvent[];
	return { server, client, watch, events };
}

/** The text of the answer in flight. */
function streamed(events: readonly SessionEvent[]): string {
	const start = events.findLastIndex(({ type }) => type === "message_start");
	return events
		.slice(start)
		.map((event) => {
			const step = event.type === "message_update" ? event.assistantMessageEvent : undefined;
			return step?.type === "text_delta" ? step.delta : "";
		})
		.join("");
}

test("a demo in a terminal is listed and followed while it runs, though its agent folder is another", async () => {
	const agentDir = tempDir("own");
	const demoDir = tempDir("demo");
	const { loop, pi, file } = await startTerminal(demoDir, { [DEMO_OF]: agentDir });
	const { client, watch, events } = await startServer(agentDir);
	const listed = async () => (await client.request("list_stored_sessions", {})).data.sessions;
	expect(await listed()).toEqual([]);
	await expect(watch(file)).rejects.toMatchObject({ code: "forbidden" });
	const running = markDemo(agentDir, demoDir);
	atEnd(() => running.remove());
	await vi.waitFor(async () => expect(await listed()).toHaveLength(1), PATIENCE);
	const [found] = await listed();
	expect(found).toMatchObject({ sessionPath: file, isDemo: true, piProcess: expect.any(Number) });
	await watch(file);
	loop.script([{ content: [{ type: "text", text: "An answer without end" }], hang: true }]);
	await pi.request({ type: "prompt", message: "second question" });
	await vi.waitFor(() => expect(streamed(events())).toBe("An answer without end"), PATIENCE);
});

test("a client reads the text of a message before it ends, and the file is the terminal's alone", async () => {
	const { loop, pi, agentDir, file } = await startTerminal();
	const { client, watch, events } = await startServer(agentDir);
	const sessionId = await watch(file);
	const text = "A long answer that does not end. ".repeat(3_000);
	loop.script([{ content: [{ type: "text", text }], hang: true }]);
	await pi.request({ type: "prompt", message: "second question" });
	await vi.waitFor(() => expect(streamed(events())).toBe(text), PATIENCE);
	// Pi has not ended it, and the session file does not have it.
	expect(pi.events.filter(({ type }) => type === "agent_settled")).toHaveLength(1);
	expect(readFileSync(file, "utf8")).not.toContain("A long answer");
	const { data } = await client.request("get_state", { sessionId });
	expect(data).toMatchObject({ isStreaming: true, watched: { piProcess: expect.any(Number) } });
	await expect(client.request("prompt", { sessionId, message: "mine" })).rejects.toMatchObject({
		code: "wrong_state",
		message: expect.stringContaining("runs in a terminal"),
	});
	await pi.request({ type: "abort" });
	await vi.waitFor(() => {
		const types = events().map(({ type }) => type);
		expect(types.at(-1)).toBe("agent_settled");
		// The answer ends with the file's own entry, and begins once.
		const answers = events().flatMap((event) =>
			(event.type === "message_start" || event.type === "message_end") &&
			event.message.role === "assistant"
				? event.type
				: [],
		);
		expect(answers).toEqual(["message_start", "message_end"]);
	}, PATIENCE);
	const after = await client.request("get_state", { sessionId });
	expect(after.data.isStreaming).toBe(false);
	const lines = readFileSync(file, "utf8").trim().split("\n");
	const ids = lines.map((line) => JSON.parse(line)).slice(1);
	for (const [index, entry] of ids.entries()) {
		expect(entry.parentId, "one branch").toBe(ids[index - 1]?.id ?? null);
	}
});

test("a server that starts in the middle of a message shows it from its beginning, tools included", async () => {
	const { loop, pi, agentDir, cwd, file } = await startTerminal();
	writeFileSync(join(cwd, "wait.sh"), "echo started; while [ ! -e go ]; do sleep 0.05; done\n");
	loop.script([
		{
			content: [
				{ type: "text", text: "I run it." },
				{ type: "tool_use", id: "toolu_1", name: "bash", input: { command: "sh wait.sh" } },
			],
		},
		{ content: [{ type: "text", text: "It ran." }], hang: true },
	]);
	await pi.request({ type: "prompt", message: "second question" });
	await pi.waitFor(({ type }) => type === "tool_execution_start");
	const { watch, events } = await startServer(agentDir);
	await watch(file);
	await vi.waitFor(() => {
		const running = events().find(({ type }) => type === "tool_execution_update");
		expect(running).toMatchObject({ toolName: "bash", args: { command: "sh wait.sh" } });
		expect(JSON.stringify(running)).toContain("started");
	}, PATIENCE);
	writeFileSync(join(cwd, "go"), "");
	await vi.waitFor(() => expect(streamed(events())).toBe("It ran."), PATIENCE);
	const results = events().flatMap((event) =>
		event.type === "message_end" && event.message.role === "toolResult" ? event : [],
	);
	expect(results).toHaveLength(1);
	// It is killed in the middle of an answer: the run is over, and nothing waits for its end.
	await pi.kill();
	await vi.waitFor(() => expect(events().at(-1)?.type).toBe("agent_settled"), PATIENCE);
});

test("pi in print mode ends by itself while a server runs, also one that has stopped answering", async () => {
	const agentDir = tempDir("agent");
	const loop = await startLoopbackAnthropic();
	atEnd(() => loop.close());
	writeFileSync(join(agentDir, "models.json"), modelsJson(loop.url));
	const { server } = await startServer(agentDir);
	const args = ["-e", extension, "--provider", "loop", "--model", LOOPBACK_MODEL, "-p", "hello"];
	for (const isStopped of [false, true]) {
		if (isStopped) server.child.kill("SIGSTOP");
		// Long enough for pi to find the server and to report.
		loop.script([{ content: [{ type: "text", text: "An answer." }], delayMs: 1_000 }]);
		const { status, stdout } = await runPi(args, { agentDir });
		expect({ status, stdout: stdout.trim() }).toEqual({ status: 0, stdout: "An answer." });
	}
	server.child.kill("SIGCONT");
});

test("a server without a port is reached by its socket", async () => {
	const { loop, pi, agentDir, file } = await startTerminal();
	const socket = join(tempDir(), "s");
	const server = startServe(["--socket", socket, "--port", "0", "--json"], { agentDir });
	const { url = "" } = await server.ready();
	const address = join(server.dataDir, "lock.json");
	const { url: _, ...rest } = JSON.parse(readFileSync(address, "utf8"));
	writeFileSync(address, JSON.stringify(rest), { mode: 0o600 });
	const client = createClient({ url, token: server.token() });
	atEnd(() => client.close());
	const { data } = await client.request("load_session", { sessionPath: file, watch: true });
	const events: SessionEvent[] = [];
	const subscription = client.subscribe(data.sessionId, (frame) => {
		if (frame.type === "event") events.push(frame.event as SessionEvent);
	});
	atEnd(() => subscription.close());
	loop.script([{ content: [{ type: "text", text: "over the socket" }], hang: true }]);
	await pi.request({ type: "prompt", message: "second question" });
	await vi.waitFor(() => expect(streamed(events)).toBe("over the socket"), PATIENCE);
});
