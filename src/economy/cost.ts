import type { PromptTokens, Ttl } from "./request.ts";
import type { CacheRules, ModelPrices, PriceRates } from "./rules.ts";

/** In plain input tokens, so that policies compare in any currency. */
export function costOf(
	tokens: PromptTokens,
	rules: Pick<CacheRules, "readRatio" | "writeRatio" | "writeOneHourRatio">,
): number {
	return (
		tokens.input +
		tokens.read * rules.readRatio +
		(tokens.write - tokens.writeOneHour) * rules.writeRatio +
		tokens.writeOneHour * rules.writeOneHourRatio
	);
}

/** The price of a written token; one plain input token is 1. */
export function writeRatioFor(
	ttl: Ttl,
	{ writeRatio, writeOneHourRatio }: Pick<CacheRules, "writeRatio" | "writeOneHourRatio">,
): number {
	return ttl === "1h" ? writeOneHourRatio : writeRatio;
}

/** By the same sums as pi shows. */
export function dollarsOf(
	tokens: PromptTokens & { readonly output?: number },
	prices: ModelPrices,
): number {
	const rates = ratesFor(tokens.input + tokens.read + tokens.write, prices);
	const shortWrite = tokens.write - tokens.writeOneHour;
	return (
		(tokens.input * rates.input +
			tokens.read * rates.cacheRead +
			shortWrite * rates.cacheWrite +
			tokens.writeOneHour * rates.input * HOUR_WRITE +
			(tokens.output ?? 0) * rates.output) /
		1_000_000
	);
}

/** Pi charges a one-hour write at twice the input price, for every model. */
const HOUR_WRITE = 2;

function ratesFor(prompt: number, prices: ModelPrices): PriceRates {
	const reached = (prices.tiers ?? []).filter((tier) => prompt > tier.inputTokensAbove);
	return reached.sort((a, b) => b.inputTokensAbove - a.inputTokensAbove)[0] ?? prices;
}
