import { existsSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openProxy } from "../../src/cli/proxy.ts";
import { createBlobStore } from "../../src/core/blob-store.ts";
import { atEnd, tempDir } from "../support/temp.ts";
import { bashCall, ClaudeSession, readCall } from "./claude-session.ts";
import { runCli } from "./run-cli.ts";

const CONTENT = Array.from({ length: 60 }, (_, at) => `line ${at} of the file`).join("\n");

/** A session in which the next read repeats one; its event. */
async function session() {
	const one = new ClaudeSession();
	const call = readCall(join(one.project, "a.ts"), CONTENT);
	await one.call(call);
	await one.call(bashCall("ls", "a.ts"));
	// The hook of this session is asked last, so that the transcript has the call.
	let event = "";
	const { hook } = one;
	Object.assign(one, {
		hook: {
			handle: async (value: object) => {
				event = JSON.stringify(value);
				return { output: "", savedTokens: 0 };
			},
		},
	});
	await one.call(call);
	Object.assign(one, { hook });
	return { one, input: event, at: { env: one.env, cwd: one.project, input: event } };
}

describe("strata hook claude-code", () => {
	test("prints the replacement, and the report says what it saves", async () => {
		const { at } = await session();
		const { status, stdout, stderr } = await runCli(["hook", "claude-code"], at);
		expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
		const { hookSpecificOutput } = JSON.parse(stdout);
		expect(hookSpecificOutput.hookEventName).toBe("PostToolUse");
		expect(hookSpecificOutput.updatedToolOutput).toMatchObject({
			type: "text",
			file: { startLine: 60, numLines: 1, content: expect.stringContaining("[strata: lines 1-60") },
		});
		const report = await runCli(["hook", "report"], at);
		expect(report.stdout).toMatch(
			/^claude-code: 1 result of 1 session is shorter by about \d+ tokens in each request that carries them$/,
		);
	});

	test("evicts old texts with the first result of a session", async () => {
		const { one, at } = await session();
		const old = createBlobStore({ enabled: true, dir: one.blobs, maxBytes: 1e9, maxAgeDays: 1 });
		const kept = await old.keep("an old text");
		const path = kept.kind === "kept" ? kept.blob.path : "";
		utimesSync(path, new Date(0), new Date(0));
		await runCli(["hook", "claude-code"], at);
		expect(existsSync(path)).toBe(false);
	});

	test("counts in shadow, and prints nothing", async () => {
		const { one, at } = await session();
		const { stdout } = await runCli(["hook", "claude-code", "--shadow"], at);
		expect(stdout).toBe("");
		expect(existsSync(one.blobs)).toBe(false);
		const report = await runCli(["hook", "report", "--json"], at);
		expect(JSON.parse(report.stdout)).toMatchObject([{ isShadow: true, results: 1 }]);
	});

	test.each(["", "no JSON", "[]", '{"hook_event_name":"Stop"}'])(
		"prints nothing for %j, and says why only if asked",
		async (input) => {
			const at = { env: { PI_CODING_AGENT_DIR: tempDir() }, cwd: tempDir(), input };
			const quiet = await runCli(["hook", "claude-code"], at);
			expect(quiet).toEqual({ status: 0, stdout: "", stderr: "" });
			const verbose = await runCli(["hook", "claude-code", "--verbose"], at);
			expect(verbose).toMatchObject({ status: 0, stdout: "" });
			expect(verbose.stderr).toMatch(/^strata hook: .+$/);
		},
	);

	test("says at a terminal what it expects, and does not wait", async () => {
		const at = { env: { PI_CODING_AGENT_DIR: tempDir() }, cwd: tempDir(), input: null };
		const { status, stdout, stderr } = await runCli(["hook", "claude-code"], at);
		expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
		expect(stderr).toMatch(
			/^strata hook: .*an event of claude-code on standard input.*--print-settings/,
		);
		expect((await runCli(["hook", "report"], at)).status).toBe(0);
	});

	test("prints settings for each agent, and writes none", async () => {
		const at = { env: { PI_CODING_AGENT_DIR: join(tempDir(), "agent") } };
		const command = await runCli(["hook", "claude-code", "--print-settings", "--shadow"], at);
		const http = await runCli(["hook", "claude-code", "--print-settings", "--port", "3142"], at);
		expect(JSON.parse(command.stdout)).toEqual({
			permissions: { allow: ["Read(~/.pi/cache/pi-kota/blobs/**)"] },
			hooks: {
				PostToolUse: [
					{
						matcher: "Read|Bash",
						hooks: [{ type: "command", command: "strata hook claude-code --shadow", timeout: 5 }],
					},
				],
			},
		});
		expect(http.stdout).toContain("http://127.0.0.1:3142/hook/claude-code");
		const opencode = await runCli(["hook", "opencode", "--print-settings"], at);
		const [plugin] = JSON.parse(opencode.stdout).plugin;
		expect(existsSync(new URL(plugin))).toBe(true);
		expect(existsSync(at.env.PI_CODING_AGENT_DIR)).toBe(false);
	});

	test("names the agents that it knows", async () => {
		const { status, stderr } = await runCli(["hook", "claude"]);
		expect(status).toBe(1);
		expect(stderr).toContain("claude-code");
	});

	test.each([
		[["--no-such-option"]],
		[["claude-code", "surplus"]],
		[["claude-code", "--print-settings", "--port", "x"]],
		[["claude-code", "--port="]],
	])("never fails with status 2, which Claude Code shows to its model: %j", async (words) => {
		const { status, stderr } = await runCli(["hook", ...words]);
		expect(status).toBe(1);
		expect(stderr).toContain("usage: strata hook");
	});
});

describe("the proxy", () => {
	async function start(at: { env: NodeJS.ProcessEnv; cwd: string }, secret?: string) {
		const terminal = { ...at, print: () => {}, write: () => {}, printError: () => {} };
		const options = { port: 0, savings: "off", ...(secret && { secret }) } as const;
		const { running, close } = await openProxy(terminal, options);
		atEnd(close);
		return `http://127.0.0.1:${running.port}${secret ? `/${secret}` : ""}`;
	}

	async function post(url: string, body: string, headers = {}) {
		const answer = await fetch(url, { method: "POST", body, headers });
		return { status: answer.status, text: await answer.text() };
	}

	test("answers an event as the command does", async () => {
		const { at, input } = await session();
		const base = await start(at);
		const { stdout } = await runCli(["hook", "claude-code"], at);
		const shadow = await post(`${base}/hook/claude-code?shadow`, input);
		expect(shadow).toEqual({ status: 200, text: "{}" });
		expect(await post(`${base}/hook/claude-code`, input)).toEqual({ status: 200, text: stdout });
		expect(await post(`${base}/hook/claude-code`, "no JSON")).toEqual({ status: 200, text: "{}" });
	});

	test("refuses pages of other origins, other hosts, other paths and a wrong secret", async () => {
		const { at, input } = await session();
		const base = await start(at, "secret");
		const origin = { origin: "https://example.org" };
		expect((await post(`${base}/hook/claude-code`, input, origin)).status).toBe(403);
		expect((await post(`${base}/hook/other`, input)).status).toBe(404);
		expect((await fetch(`${base}/hook/claude-code`)).status).toBe(404);
		const wrong = base.replace("/secret", "/other");
		expect((await post(`${wrong}/hook/claude-code`, input)).status).toBe(404);
		expect((await post(`${base}/hook/claude-code`, input)).status).toBe(200);
	});
});
