import { describe, expect, test } from "vitest";
import { Conversations } from "../../src/traffic/conversations.ts";
import { missOf, modelFor, priceOf } from "../../src/traffic/diagnose.ts";
import type { TracedRequest } from "../../src/traffic/trace.ts";
import { piece, request, turn, user } from "./talk.ts";

const codexTool = (name: string) => piece("messages", "tool", name);
const cached = { read: 50_000, write: 1000 };
const lost = { input: 52_000 };

/** The miss of the second of two requests. */
function missAfter(one: TracedRequest, two: TracedRequest) {
	const conversations = new Conversations();
	conversations.add(one, conversations.place(one).conversation);
	return missOf(two, conversations.place(two), modelFor("openai", [two.model]));
}

const said = [user("u"), ...turn("a")];
const codex = { head: [], session: "s", model: "gpt-5.6" };

describe("a miss of Codex", () => {
	test("whose tools are the first of its messages names the tool that was added", () => {
		const before = [codexTool("shell"), ...said];
		const now = [codexTool("shell"), codexTool("web"), ...said, ...turn("b")];
		expect(
			missAfter(
				request({ ...codex, messages: before, tokens: cached }),
				request({ ...codex, messages: now, tokens: lost }),
			),
		).toMatchObject({ cause: "tools", changed: "tool web", tokens: 51_000 });
	});

	test("after another effort names the effort, although OpenAI's rules do not list it", () => {
		const effort = (value: string) => ({ settings: { effort: value } });
		expect(
			missAfter(
				request({ ...codex, ...effort("high"), messages: said, tokens: cached }),
				request({ ...codex, ...effort("low"), messages: [...said, ...turn("b")], tokens: lost }),
			),
		).toMatchObject({ cause: "thinking", changed: "setting effort" });
	});

	test("without any change says that the provider may have evicted it", () => {
		expect(
			missAfter(
				request({ ...codex, messages: said, tokens: cached }),
				request({ ...codex, messages: [...said, ...turn("b")], tokens: lost }),
			),
		).toMatchObject({ cause: "provider" });
	});
});

describe("a model", () => {
	test.each([
		["anthropic", ["claude-opus-5"], "anthropic/claude-opus-5"],
		["anthropic", ["claude-opus-5-20260301"], "anthropic/claude-opus-5"],
		["anthropic", ["claude-opus-5[1m]"], "anthropic/claude-opus-5"],
		["chatgpt", ["gpt-5.6"], "openai/gpt-5.6"],
		["gateway", ["claude-opus-5"], "anthropic/claude-opus-5"],
		["gateway", ["fast", "claude-opus-5"], "anthropic/claude-opus-5"],
		["gateway", ["no-such-model"], "gateway/no-such-model"],
	])("of %s named %s is %s", (upstream, names, expected) => {
		const { provider, id } = modelFor(upstream, names);
		expect(`${provider}/${id}`).toBe(expected);
	});

	test("without a known price has a cost in tokens only", () => {
		const tokens = { input: 100, read: 0, write: 0, writeOneHour: 0, output: 5 };
		expect(priceOf(tokens, modelFor("gateway", ["no-such-model"]))).toEqual({ cost: 100 });
		expect(priceOf(tokens, modelFor("anthropic", ["claude-opus-5"])).dollars).toBeCloseTo(
			(100 * 5 + 5 * 25) / 1e6,
			9,
		);
	});
});
