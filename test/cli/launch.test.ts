import { describe, expect, test } from "vitest";
import { UsageError } from "../../src/cli/command.ts";
import { launchOf } from "../../src/cli/launch.ts";
import { upstreamsFrom } from "../../src/proxy/index.ts";

const base = "http://127.0.0.1:9/s";

function launch(program: string, env: NodeJS.ProcessEnv = {}, configured = {}) {
	return launchOf({
		program,
		args: ["-p", "hi"],
		env,
		upstreams: upstreamsFrom(configured),
		baseUrl: (upstream) => `${base}/${upstream}`,
	});
}

describe("an agent is started with base URLs that lead to the proxy", () => {
	test("Claude Code and Gemini CLI, by their variable alone", () => {
		expect(launch("/opt/bin/claude", { HOME: "/h" })).toEqual({
			args: ["-p", "hi"],
			env: { HOME: "/h", ANTHROPIC_BASE_URL: `${base}/anthropic` },
		});
		expect(launch("gemini").env).toEqual({ GOOGLE_GEMINI_BASE_URL: `${base}/gemini` });
	});

	test("Codex, by a setting before its own arguments", () => {
		expect(launch("codex")).toEqual({
			args: ["-c", `openai_base_url="${base}/openai/v1"`, "-p", "hi"],
			env: {},
		});
	});

	test("opencode, by settings merged with those the user has, for providers with a key only", () => {
		const given = { theme: "x", provider: { anthropic: { options: { timeout: 5 } } } };
		const { env } = launch("opencode", {
			OPENCODE_CONFIG_CONTENT: JSON.stringify(given),
			GEMINI_API_KEY: "k",
		});
		expect(JSON.parse(env.OPENCODE_CONFIG_CONTENT ?? "")).toEqual({
			theme: "x",
			provider: {
				anthropic: { options: { timeout: 5, baseURL: `${base}/anthropic/v1` } },
				google: { options: { baseURL: `${base}/gemini/v1beta` } },
			},
		});
		expect(launch("opencode").env.OPENCODE_CONFIG_CONTENT).toBe(`{"provider":{}}`);
	});

	test("any other program, by all usual variables", () => {
		expect(launch("aider").env).toEqual({
			ANTHROPIC_BASE_URL: `${base}/anthropic`,
			ANTHROPIC_API_BASE: `${base}/anthropic`,
			OPENAI_BASE_URL: `${base}/openai/v1`,
			OPENAI_API_BASE: `${base}/openai/v1`,
			GOOGLE_GEMINI_BASE_URL: `${base}/gemini`,
		});
	});

	test("and never through the proxy of the user's network", () => {
		const { env } = launch("claude", { HTTPS_PROXY: "http://corp:1", NO_PROXY: "corp" });
		expect(env).toMatchObject({ NO_PROXY: "corp,127.0.0.1", no_proxy: "corp,127.0.0.1" });
	});
});

describe("a key for another address does not go to the provider", () => {
	test.each([
		["claude", "ANTHROPIC_BASE_URL"],
		["codex", "OPENAI_BASE_URL"],
		["gemini", "GOOGLE_GEMINI_BASE_URL"],
		["aider", "OPENAI_API_BASE"],
		["opencode", "ANTHROPIC_BASE_URL"],
		["opencode", "OPENAI_API_BASE"],
		["opencode", "GOOGLE_GEMINI_BASE_URL"],
	])("%s is not started where %s names one", (program, name) => {
		const keys = { ANTHROPIC_API_KEY: "k", OPENAI_API_KEY: "k", GEMINI_API_KEY: "k" };
		const start = () => launch(program, { ...keys, [name]: "https://user:word@gateway.example" });
		expect(start).toThrow(UsageError);
		expect(start).toThrow(new RegExp(`^${name} is set to another address; .*strata.json`));
		expect(start).not.toThrow(/gateway|word/);
	});

	test("it is started where the settings name the same address", () => {
		const address = "https://gateway.example/llm";
		const { env } = launch("claude", { ANTHROPIC_BASE_URL: `${address}/` }, { anthropic: address });
		expect(env.ANTHROPIC_BASE_URL).toBe(`${base}/anthropic`);
		launch("codex", { OPENAI_BASE_URL: "https://api.openai.com/v1" });
	});

	test.each([
		[`{"provider":{"openai":{"options":{"baseURL":"https://gateway.example"}}}}`],
		["{ // secret-comment\n}"],
		["[]"],
	])("opencode is not started with %s", (content) => {
		const start = () => launch("opencode", { OPENCODE_CONFIG_CONTENT: content });
		expect(start).toThrow(/OPENCODE_CONFIG_CONTENT/);
		expect(start).not.toThrow(/secret-comment|gateway/);
	});
});
