import { expect, test } from "vitest";
import { readSpeaker } from "../../src/wire/index.ts";

const NO_BODY = Buffer.from("{}");

test.each([
	["claude-cli/2.1.325 (external, cli)", { agent: "claude-code", version: "2.1.325" }],
	["codex_cli_rs/0.166.0 (Linux)", { agent: "codex", version: "0.166.0" }],
	["codex_exec/0.166.0", { agent: "codex", version: "0.166.0" }],
	["opencode/1.18.33", { agent: "opencode", version: "1.18.33" }],
	["GeminiCLI/0.30.1/gemini-3.1-pro (linux; x64)", { agent: "gemini-cli", version: "0.30.1" }],
	["pi/1.5.0", { agent: "pi", version: "1.5.0" }],
	["Anthropic/JS 1.8.0", { agent: "other" }],
])("%s", (userAgent, speaker) => {
	expect(readSpeaker({ "user-agent": userAgent }, NO_BODY)).toEqual(speaker);
});

test("Claude Code names its session and sub-agents in headers", () => {
	const headers = {
		"user-agent": "claude-cli/2.1.325",
		"x-claude-code-session-id": "s-1",
		"x-claude-code-agent-id": "a-2",
		"x-claude-code-parent-agent-id": "main",
	};
	const speaker = { agent: "claude-code", version: "2.1.325" };
	expect(readSpeaker(headers, NO_BODY)).toEqual({
		...speaker,
		session: "s-1",
		subagent: "a-2",
		parent: "main",
	});
});

test("a sub-agent of opencode has a session of its own, and names its parent's", () => {
	const headers = {
		"user-agent": "opencode/1.18.33",
		"x-session-id": "ses_2",
		"x-parent-session-id": "ses_1",
	};
	expect(readSpeaker(headers, NO_BODY)).toEqual({
		agent: "opencode",
		version: "1.18.33",
		session: "ses_2",
		subagent: "ses_2",
		parent: "ses_1",
	});
});

test("a sub-agent of Codex is a thread in its parent's session", () => {
	const headers = {
		"user-agent": "codex_exec/0.166.0 (Debian 12.0.0; x86_64)",
		"x-openai-subagent": "collab_spawn",
		"session-id": "s-1",
		"thread-id": "t-2",
		"x-codex-parent-thread-id": "s-1",
	};
	expect(readSpeaker(headers, NO_BODY)).toEqual({
		agent: "codex",
		version: "0.166.0",
		session: "s-1",
		subagent: "t-2",
		parent: "s-1",
	});
});

test("older versions name the session in the metadata, from which nothing else is taken", () => {
	const userId = JSON.stringify({ device_id: "d", account_uuid: "private", session_id: "s-1" });
	const body = Buffer.from(JSON.stringify({ metadata: { user_id: userId } }));
	expect(readSpeaker({ "user-agent": "claude-cli/1.0.9" }, body)).toEqual({
		agent: "claude-code",
		version: "1.0.9",
		session: "s-1",
	});
	const other = Buffer.from(JSON.stringify({ metadata: { user_id: "user_abc" } }));
	expect(readSpeaker({}, other)).toEqual({ agent: "other" });
	expect(readSpeaker({}, Buffer.from("no JSON"))).toEqual({ agent: "other" });
});

test("the session that an unknown client names is known by its hash", () => {
	const named = (session: string) => readSpeaker({ "x-session-id": session }, NO_BODY).session;
	expect(named("sk-secret")).toMatch(/^[0-9a-f]{16}$/);
	expect(named("sk-secret")).toBe(named("sk-secret"));
	expect(named("sk-secret")).not.toBe(named("sk-other"));
});

test("a version is bounded", () => {
	const { version } = readSpeaker({ "user-agent": `opencode/${"1".repeat(5000)}` }, NO_BODY);
	expect(version).toHaveLength(40);
});

test("an unknown client's session in its metadata is kept as a hash", () => {
	const user_id = JSON.stringify({ session_id: "alice@example.com" });
	const body = Buffer.from(JSON.stringify({ metadata: { user_id } }));
	expect(readSpeaker({ "user-agent": "claude-cli/2.1.325" }, body).session).toBe(
		"alice@example.com",
	);
	expect(readSpeaker({ "user-agent": "script/1" }, body).session).toMatch(/^[0-9a-f]{16}$/);
});
