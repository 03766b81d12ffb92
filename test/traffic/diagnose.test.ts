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

	test.each([
		["cacheKey", "setting cache key"],
		["serviceTier", "setting service tier"],
		["verbosity", "setting verbosity"],
		["textFormat", "setting text format"],
	])("after another %s names it", (name, changed) => {
		expect(
			missAfter(
				request({ ...codex, messages: said, tokens: cached }),
				request({
					...{ ...codex, messages: [...said, ...turn("b")], tokens: lost },
					settings: { [name]: "x" },
				}),
			),
		).toMatchObject({ cause: "setting", changed });
	});

	test("after the provider cleared more than before names that, and else does not", () => {
		const missed = (before: number, now: number) =>
			missAfter(
				request({ ...codex, messages: said, tokens: cached, cleared: before }),
				request({ ...codex, messages: [...said, ...turn("b")], tokens: lost, cleared: now }),
			)?.cause;
		expect(missed(1000, 9000)).toBe("cleared");
		expect(missed(9000, 9000)).toBe("provider");
	});

	test("after a pause within the long lifetime that it asked for is not expired", () => {
		const missed = (ttl: "5m" | "1h") =>
			missAfter(
				request({ ...codex, messages: said, tokens: cached, ttl, startedMs: 1e9 }),
				request({
					...{ ...codex, messages: [...said, ...turn("b")], tokens: lost, ttl },
					startedMs: 1e9 + 3_600_000,
				}),
			)?.cause;
		expect(missed("5m")).toBe("expired");
		expect(missed("1h")).toBe("provider");
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

describe("a request for which the provider called the model several times", () => {
	test("leaves its last prompt for the next one to read", () => {
		const sum = { tokens: { read: 100_000, write: 9000 }, lastPrompt: prompt(50_000, 4000) };
		const now = { ...codex, messages: [...said, ...turn("b")] };
		const missed = (read: number) =>
			missAfter(
				request({ ...codex, messages: said, ...sum }),
				request({ ...now, tokens: { read, write: 60_000 - read } }),
			);
		expect(missed(54_000)).toBeUndefined();
		expect(missed(10_000)?.tokens).toBe(44_000);
	});

	test("is a compaction if the provider compacted it", () => {
		const now = { ...codex, messages: [...said, ...turn("b")], isCompacted: true };
		expect(
			missAfter(
				request({ ...codex, messages: said, tokens: cached }),
				request({ ...now, tokens: { write: 5000 } }),
			),
		).toMatchObject({ cause: "compaction", tokens: 5000 });
	});
});

function prompt(read: number, write: number) {
	return { input: 0, read, write, writeOneHour: 0 };
}
