import { getBuiltinModels } from "@earendil-works/pi-ai/providers/all";
import { describe, expect, test } from "vitest";
import { type ModelInfo, rulesFor } from "../../src/economy/rules.ts";
import { HOUR, MINUTE } from "./requests.ts";

function model(id: string, prices?: [input: number, read: number, write: number]): ModelInfo {
	const provider = id.includes("deepseek") ? "deepseek" : "anybody";
	if (!prices) return { provider, id };
	const [input, cacheRead, cacheWrite] = prices;
	return { provider, id, cost: { input, output: 0, cacheRead, cacheWrite } };
}

describe("price ratios", () => {
	test("come from the model's own price list", () => {
		expect(rulesFor(model("claude-fable-5-1", [10, 0.25, 12.5]))).toMatchObject({
			readRatio: 0.025,
			writeRatio: 1.25,
			writeOneHourRatio: 2,
		});
		expect(rulesFor(model("gpt-5.6-sol", [1.25, 0.125, 1.5625]))).toMatchObject({
			readRatio: 0.1,
			writeRatio: 1.25,
			writeOneHourRatio: 1.25,
		});
	});

	test("have no noise from dividing decimals", () => {
		expect(rulesFor(model("claude-sonnet-4-5", [3, 0.3, 3.75])).readRatio).toBe(0.1);
	});

	test("a list with reads but without writes bills writes as input", () => {
		expect(rulesFor(model("gpt-4.1", [2, 0.5, 0]))).toMatchObject({
			readRatio: 0.25,
			writeRatio: 1,
		});
		expect(rulesFor(model("mystery", [2, 0.4, 0]))).toMatchObject({
			readRatio: 0.2,
			writeRatio: 1,
		});
	});

	test("without a list they are the family's", () => {
		expect(rulesFor(model("claude-sonnet-4-5"))).toMatchObject({
			readRatio: 0.1,
			writeRatio: 1.25,
		});
		expect(rulesFor(model("claude-sonnet-4-5", [0, 0, 0]))).toMatchObject({ readRatio: 0.1 });
	});

	test.each([
		["claude-opus-5", 0.1],
		["claude-fable-5", 0.1],
		["claude-haiku-5-5", 0.1],
		["claude-opus-5-55", 0.1],
		["claude-opus-5-5", 0.05],
		["us.anthropic.claude-opus-5-5-20260901-v1:0", 0.05],
		["claude-sonnet-5.5", 0.05],
		["anthropic/claude-fable-5.1", 0.025],
		["claude-mythos-5-1", 0.025],
	])("without a list, %s reads at %f", (id, readRatio) => {
		expect(rulesFor(model(id)).readRatio).toBe(readRatio);
		expect(rulesFor(model(id, [10, 2, 12.5])).readRatio).toBe(0.2);
	});
});

describe("families", () => {
	test.each([
		["claude-opus-4-5", "anthropic"],
		["us.anthropic.claude-opus-4-6-v1", "anthropic"],
		["anthropic/claude-sonnet-4.5", "anthropic"],
		["gpt-5.5", "openai"],
		["openai/gpt-4o-mini", "openai"],
		["openai.gpt-5.4", "openai"],
		["o3-mini", "openai"],
		["gpt-5.6-luna", "openai-breakpoints"],
		["gpt-5.10", "openai-breakpoints"],
		["gpt-6-astra", "openai-breakpoints"],
		["gemini-3.5-flash", "gemini"],
		["deepseek-v4-pro", "deepseek"],
		["us.amazon.nova-pro-v1:0", "nova"],
		["openai/gpt-oss-120b", "default"],
		["turbo1", "default"],
	])("%s follows %s", (id, family) => {
		expect(rulesFor(model(id)).family).toBe(family);
	});

	test("a vendor's model without a price for cached reads has no cache", () => {
		const rules = rulesFor(model("gpt-5-pro", [15, 0, 0]));
		expect(rules).toMatchObject({ family: "none", source: "table", readRatio: 1, writeRatio: 1 });
	});

	test.each([
		["claude-opus-5", 512],
		["claude-opus-5.5", 512],
		["claude-fable-5-1", 512],
		["claude-mythos-5", 512],
		["claude-opus-6", 512],
		["claude-fable-10-1", 512],
		["claude-sonnet-5", 1024],
		["claude-sonnet-5-5", 1024],
		["claude-3-7-sonnet-20250219", 1024],
		["claude-3-opus-20240229", 1024],
		["claude-sonnet-4-5-20250929", 1024],
		["claude-opus-4-8", 1024],
		["claude-opus-4-1-20250805", 1024],
		["claude-opus-4-20250514", 1024],
		["anthropic.claude-opus-4", 1024],
		["claude-opus-4-7", 2048],
		["claude-mythos-preview", 2048],
		["claude-3-5-haiku-20241022", 2048],
		["claude-haiku-3.5", 2048],
		["claude-opus-4.5", 4096],
		["anthropic.claude-opus-4-6-v1", 4096],
		["claude-opus-4-5-20251101", 4096],
		["claude-haiku-4-5", 4096],
		["claude-haiku-5-5", 4096],
		["claude-unheard-of", 4096],
	])("%s caches prefixes from %i tokens on", (id, tokens) => {
		expect(rulesFor(model(id)).minimumTokens).toBe(tokens);
	});

	test("Anthropic's limits, lives and what a change loses", () => {
		expect(rulesFor(model("claude-sonnet-5"))).toMatchObject({
			maxBreakpoints: 4,
			lookbackPositions: 20,
			automatic: "none",
			ttlMs: { "5m": 5 * MINUTE, "1h": HOUR },
			invalidates: { model: "tools", thinking: "messages", effort: "messages" },
		});
	});
});

test("OpenAI keeps prefixes for 30 minutes or 12 hours since GPT-5.6, written at 1.25 for both", () => {
	expect(rulesFor(model("gpt-5.6-sol"))).toMatchObject({
		ttlMs: { "5m": 30 * MINUTE, "1h": 12 * HOUR },
		writeRatio: 1.25,
		writeOneHourRatio: 1.25,
	});
});

describe("what is not in the table", () => {
	test("an unknown model gets cautious values that are named as such", () => {
		const rules = rulesFor({ provider: "somebody", id: "mystery-7" });
		expect(rules).toMatchObject({
			family: "default",
			source: "default",
			readRatio: 0.1,
			writeRatio: 1.25,
			ttlMs: { "5m": 5 * MINUTE },
		});
		expect(rules.because).toContain("Nothing is documented");
		expect(rules.because).toContain("somebody/mystery-7");
	});

	test("lifetimes that pi states win over the table's, and overrides over both", () => {
		const known = { ...model("claude-sonnet-5"), promptCache: { short: 600 } };
		expect(rulesFor(known).ttlMs).toEqual({ "5m": 10 * MINUTE, "1h": HOUR });
		expect(rulesFor(known, { readRatio: 0.025, minimumTokens: 1 })).toMatchObject({
			readRatio: 0.025,
			minimumTokens: 1,
			writeRatio: 1.25,
		});
	});
});

test("every model that Anthropic and OpenAI sell through pi for text is in the table", () => {
	for (const own of [...getBuiltinModels("anthropic"), ...getBuiltinModels("openai")]) {
		if (own.id.startsWith("gpt-realtime")) continue; // for speech; its cache is not documented
		const rules = rulesFor(own);
		expect([own.id, rules.source]).toEqual([own.id, "table"]);
		expect(rules.readRatio).toBeLessThanOrEqual(rules.writeRatio);
	}
});

describe("models that bind thinking to the exact prefix", () => {
	test.each([
		"claude-opus-5-5",
		"claude-opus-5.5",
		"us.anthropic.claude-opus-5-5-20260901-v1:0",
		"claude-fable-5-1",
		"anthropic/claude-fable-5.1",
		"claude-sonnet-5-5", // vendor pages differ
		"claude-opus-6",
		"claude-mythos-5-2",
		"claude-opus-10",
		"claude-next",
	])("%s: named by the vendor, or newer than what is known", (id) => {
		expect(rulesFor(model(id)).bindsThinking).toBe(true);
	});

	test.each([
		"claude-2.1",
		"claude-instant-1",
		"claude-3-5-sonnet-20241022",
		"claude-sonnet-4-20250514-v1:0",
		"claude-opus-4-8",
		"claude-haiku-4.5",
		"claude-opus-5",
		"claude-opus-5-20260601",
		"anthropic.claude-opus-5-v1:0",
		"claude-sonnet-5",
		"claude-fable-5",
		"claude-mythos-5-1",
		"gpt-5.6-sol",
		"gemini-3-pro",
		"deepseek-v4",
	])("not %s", (id) => {
		expect(rulesFor(model(id)).bindsThinking).toBe(false);
	});

	test("a model under another name does if pi drives it like one of them", () => {
		const alias = { provider: "gateway", id: "big-model" };
		expect(rulesFor(alias).bindsThinking).toBe(false);
		expect(rulesFor({ ...alias, compat: { supportsMidConvoEffort: true } }).bindsThinking).toBe(
			true,
		);
	});
});
