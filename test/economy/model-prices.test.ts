import { calculateCost } from "@earendil-works/pi-ai";
import { getBuiltinModels, getBuiltinProviders } from "@earendil-works/pi-ai/providers/all";
import { describe, expect, test } from "vitest";
import { findModel, knownModels, parseModels, VENDORS } from "../../src/economy/model-prices.ts";
import { dollarsOf, type ModelInfo, type PriceRates, rulesFor } from "../../src/economy/rules.ts";

/** Gateways are left out: they resell these under their own names, and pi knows their prices. */
const SNAPSHOT_PROVIDERS = [...VENDORS, "amazon-bedrock", "github-copilot", "openai-codex"];

const piModels = getBuiltinProviders().flatMap((provider) => [...getBuiltinModels(provider)]);

describe("the snapshot of prices", () => {
	test("is what pi's model table says; `npx vitest run test/economy/model-prices -u` writes it anew", async () => {
		const file = [
			"/**",
			" * Written by test/economy/model-prices.test.ts from pi's model table; see there how to renew it.",
			" * The lines are explained at `parseModels`.",
			" */",
			"export const MODEL_SNAPSHOT = `",
			`${formatModels(piModels)}\`;`,
			"",
		].join("\n");
		await expect(file).toMatchFileSnapshot("../../src/economy/model-snapshot.ts");
	});

	test("gives the rules that pi's own table gives", () => {
		const known = knownModels;
		expect(known.length).toBeGreaterThan(100);
		for (const model of known) {
			const own = piModels.find(
				({ provider, id }) => provider === model.provider && id === model.id,
			);
			expect(rulesFor(model)).toEqual(rulesFor(own as ModelInfo));
		}
	});

	test("survives writing and reading, tiers included", () => {
		const tiered = {
			provider: "openai",
			id: "gpt-9",
			api: "openai-responses",
			contextWindow: 400_000,
			cost: {
				input: 2.5,
				output: 15,
				cacheRead: 0.25,
				cacheWrite: 0,
				tiers: [
					{ inputTokensAbove: 272_000, input: 5, output: 22.5, cacheRead: 0.5, cacheWrite: 0 },
				],
			},
		};
		expect(parseModels(formatModels([tiered]))).toEqual([tiered]);
		expect(parseModels(formatModels([{ ...tiered, provider: "a gateway" }]))).toEqual([]);
	});
});

describe("finding a model", () => {
	test("by provider and id, or by id alone with the vendor first", () => {
		const cloud = { provider: "github-copilot", id: "gpt-5.4" };
		const vendor = { provider: "openai", id: "gpt-5.4" };
		expect(findModel("github-copilot/gpt-5.4", [cloud, vendor])).toBe(cloud);
		expect(findModel("gpt-5.4", [cloud, vendor])).toBe(vendor);
		expect(findModel("gpt-5.4", [cloud])).toBe(cloud);
		expect(findModel("gpt-5", [cloud, vendor])).toBeUndefined();
	});

	test("among the known models unless others are given", () => {
		expect(findModel("claude-opus-4-5")).toMatchObject({
			provider: "anthropic",
			cost: { input: 5, output: 25, cacheRead: 0.5, cacheWrite: 6.25 },
		});
	});
});

test("dollars are what pi itself would show, for every model of its table", () => {
	const tokens = { input: 1000, read: 250_000, write: 30_000, writeOneHour: 10_000, output: 700 };
	for (const model of piModels) {
		const usage = {
			input: 1000,
			output: 700,
			cacheRead: 250_000,
			cacheWrite: 30_000,
			cacheWrite1h: 10_000,
			totalTokens: 281_700,
			cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
		};
		expect(dollarsOf(tokens, model.cost)).toBeCloseTo(calculateCost(model, usage).total, 9);
	}
});

/** What `parseModels` reads. */
function formatModels(models: readonly ModelInfo[]): string {
	return models
		.filter((model) => SNAPSHOT_PROVIDERS.includes(model.provider))
		.map(({ provider, id, api = "-", contextWindow = 0, cost }) => {
			const tiers = (cost?.tiers ?? []).map(
				(tier) => `${tier.inputTokensAbove}:${formatRates(tier)}`,
			);
			return [provider, id, api, contextWindow, formatRates(cost), ...tiers].join(" ");
		})
		.sort()
		.join("\n");
}

function formatRates(rates: PriceRates | undefined): string {
	const { input = 0, output = 0, cacheRead = 0, cacheWrite = 0 } = rates ?? {};
	return [input, output, cacheRead, cacheWrite].join("/");
}
