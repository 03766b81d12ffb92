import { MODEL_SNAPSHOT } from "./model-snapshot.ts";
import type { ReplayModel } from "./replay/requests.ts";
import { type ModelInfo, type PriceRates, rulesFor } from "./rules.ts";

/**
 * The models whose prices were known when this version was made, for work without pi at hand. Whoever has
 * pi takes its own table, which is newer and holds the user's own models.
 */
export function knownModels(): readonly ModelInfo[] {
	parsed ??= parseModels(MODEL_SNAPSHOT);
	return parsed;
}

/**
 * The model called `provider/id`, or just `id`: then the vendor's own offer is preferred to that of a cloud or
 * gateway. `undefined` if there is none.
 */
export function findModel(
	name: string,
	models: readonly ModelInfo[] = knownModels(),
): ModelInfo | undefined {
	const exact = models.find(({ provider, id }) => `${provider}/${id}` === name);
	if (exact) return exact;
	const named = models.filter(({ id }) => id === name);
	return named.find(({ provider }) => VENDORS.includes(provider)) ?? named[0];
}

/** A model with what is known about it without pi: by both its names, by its own alone, or nothing but the names. */
export function knownModel(name: ReplayModel["name"]): ReplayModel {
	const { provider, id } = name;
	const model: ModelInfo = findModel(`${provider}/${id}`) ?? findModel(id) ?? name;
	return { name, rules: rulesFor(model), prices: model.cost, contextWindow: model.contextWindow };
}

/**
 * The snapshot's text for the given models. One line a model:
 * `provider id api contextWindow input/output/cacheRead/cacheWrite`, then the tiers as `tokens:rates`.
 */
export function formatModels(models: readonly ModelInfo[]): string {
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

/** The inverse of {@link formatModels}. */
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

/** Companies that sell their own models, under pi's names for them. */
const VENDORS = ["anthropic", "openai", "google", "deepseek"];
/** Gateways resell these under names of their own; with pi at hand their prices are known too. */
const SNAPSHOT_PROVIDERS = [...VENDORS, "amazon-bedrock", "github-copilot", "openai-codex"];

let parsed: readonly ModelInfo[] | undefined;

function formatRates(rates: PriceRates | undefined): string {
	const { input = 0, output = 0, cacheRead = 0, cacheWrite = 0 } = rates ?? {};
	return [input, output, cacheRead, cacheWrite].join("/");
}

function parseRates(text = ""): PriceRates {
	const [input = 0, output = 0, cacheRead = 0, cacheWrite = 0] = text.split("/").map(Number);
	return { input, output, cacheRead, cacheWrite };
}

function parseTier(text: string) {
	const [above, rates] = text.split(":");
	return { inputTokensAbove: Number(above), ...parseRates(rates) };
}
