import { DEMO_MODEL, isDemoModel } from "../core/demo-model.ts";
import { MODEL_SNAPSHOT } from "./model-snapshot.ts";
import type { ReplayModel } from "./replay/requests.ts";
import { type ModelInfo, type PriceRates, rulesFor } from "./rules.ts";

/** A snapshot of pi's models, for use without pi. Pi's own table is newer and has the user's models. */
export const knownModels: readonly ModelInfo[] = parseModels(MODEL_SNAPSHOT);

/**
 * Finds a known model by `provider/id`, or by `id` alone. For an `id` alone, the vendor's own offer takes
 * precedence over clouds and gateways.
 */
export function findModel(name: string, models = knownModels): ModelInfo | undefined {
	const exact = models.find(({ provider, id }) => `${provider}/${id}` === name);
	if (exact) return exact;
	const named = models.filter(({ id }) => id === name);
	return named.find(({ provider }) => VENDORS.includes(provider)) ?? named[0];
}

export function knownModel(name: ReplayModel["name"]): ReplayModel {
	const { provider, id } = name;
	const full = `${provider}/${id}`;
	const model: ModelInfo = isDemoModel(full)
		? DEMO_MODEL
		: (findModel(full) ?? findModel(id) ?? name);
	return { name, rules: rulesFor(model), prices: model.cost, contextWindow: model.contextWindow };
}

/** Parses lines of `provider id api contextWindow input/output/cacheRead/cacheWrite [tokens:rates …]`. */
export function parseModels(text: string): ModelInfo[] {
	return text
		.split("\n")
		.filter((line) => line !== "")
		.map((line) => {
			const [provider = "", id = "", api = "", contextWindow, rates, ...tiers] = line.split(" ");
			const cost = {
				...parseRates(rates),
				...(tiers.length > 0 && { tiers: tiers.map(parseTier) }),
			};
			return { provider, id, api, contextWindow: Number(contextWindow), cost };
		});
}

/** Companies that sell their own models, named as in pi. */
export const VENDORS = ["anthropic", "openai", "google", "deepseek"];

function parseRates(text = ""): PriceRates {
	const [input = 0, output = 0, cacheRead = 0, cacheWrite = 0] = text.split("/").map(Number);
	return { input, output, cacheRead, cacheWrite };
}

function parseTier(text: string) {
	const [above, rates] = text.split(":");
	return { inputTokensAbove: Number(above), ...parseRates(rates) };
}
