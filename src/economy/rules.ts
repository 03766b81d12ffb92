import type { PromptTokens, Ttl } from "../core/bill.ts";
import { property } from "../core/property.ts";
import type { Part, Setting } from "./model-request.ts";

/** Dollars per million tokens, as in pi's model table. Zero if the table has no price. */
export interface PriceRates {
	readonly input: number;
	readonly output: number;
	readonly cacheRead: number;
	readonly cacheWrite: number;
}

/** The rates of the highest tier that a prompt exceeds apply to all of the prompt. */
export interface ModelPrices extends PriceRates {
	readonly tiers?: readonly (PriceRates & { readonly inputTokensAbove: number })[];
}

/** A model and its prices. Accepts pi's model objects; only `provider` and `id` are required. */
export interface ModelInfo {
	readonly provider: string;
	readonly id: string;
	readonly api?: string;
	readonly cost?: ModelPrices;
	readonly contextWindow?: number;
	/** Cache lifetimes in seconds, if pi or the user sets them. */
	readonly promptCache?: { readonly short?: number; readonly long?: number };
	readonly compat?: unknown;
}

/** `none`: the price list has no cached reads. `default`: nothing is documented. */
type CacheFamily =
	| "anthropic"
	| "openai"
	| "openai-breakpoints"
	| "gemini"
	| "deepseek"
	| "nova"
	| "none"
	| "default";

/** Prices of one token, relative to a plain input token. */
export interface Ratios {
	readonly readRatio: number;
	readonly writeRatio: number;
	readonly writeOneHourRatio: number;
}

/** How a provider caches the prompts of one model. */
export interface CacheRules extends Ratios {
	readonly family: CacheFamily;
	/** Lifetime of a cache entry, from the start of the latest request that wrote or read it. */
	readonly ttlMs: Readonly<Record<Ttl, number>>;
	/** Minimum length of a cached prefix. Shorter ones are not cached; the provider reports no error. */
	readonly minimumTokens: number;
	/** Zero if the provider ignores breakpoints. */
	readonly maxBreakpoints: number;
	/** Maximum positions searched for an entry, the breakpoint's own first. A `run` is one. */
	readonly lookbackPositions: number;
	/** Cached without breakpoints: the whole `request`, or any shared `prefix` in `stepTokens`. */
	readonly automatic: "none" | "request" | "prefix";
	readonly stepTokens: number;
	/** For each setting, the first part that a change of it invalidates; absent if unknown. */
	readonly invalidates: Readonly<Partial<Record<Setting, Part>>>;
	readonly bindsThinking: boolean;
	/** `default`: cautious values, as the rules are undocumented. */
	readonly source: "table" | "default";
	readonly because: string;
}

/**
 * Returns the caching rules of a model. Price ratios come from its price list, the rest from its family.
 * `overrides` take precedence.
 */
export function rulesFor(model: ModelInfo, overrides: Partial<CacheRules> = {}): CacheRules {
	const family = familyOf(model);
	const row = { ...FAMILIES[family], ...(family === "anthropic" && claudeValues(model.id)) };
	const { input = 0, cacheRead = 0, cacheWrite = 0 } = model.cost ?? {};
	const hasReadPrice = input > 0 && cacheRead > 0;
	const readRatio = hasReadPrice ? ratio(cacheRead, input) : row.readRatio;
	// A provider with a price for reads but none for writes bills writes as plain input.
	const unpriced = hasReadPrice ? 1 : row.writeRatio;
	const writeRatio = input > 0 && cacheWrite > 0 ? ratio(cacheWrite, input) : unpriced;
	const { short, long } = model.promptCache ?? {};
	return {
		...row,
		family,
		readRatio,
		writeRatio,
		writeOneHourRatio: family === "anthropic" ? ANTHROPIC_HOUR_RATIO : writeRatio,
		ttlMs: {
			"5m": short === undefined ? row.ttlMs["5m"] : short * SECOND,
			"1h": long === undefined ? row.ttlMs["1h"] : long * SECOND,
		},
		bindsThinking: bindsThinking(model),
		source: family === "default" ? "default" : "table",
		because: `${row.because} (${model.provider}/${model.id}${hasReadPrice ? ", prices of pi's model table" : ""}).`,
		...overrides,
	};
}

/**
 * Whether a thinking block is valid only with the system prompt, tools and earlier messages it was
 * made with. After an edit before it, the provider refuses the request or drops that block and all
 * later ones. Claude does so since Opus 5.5 and Fable 5.1; unknown Claude models, and models that
 * pi drives like these two (`supportsMidConvoEffort`), count as binding.
 */
export function bindsThinking({ id, compat }: Pick<ModelInfo, "id" | "compat">): boolean {
	if (/claude/i.test(id)) return !FREE_THINKING.test(id.replaceAll(".", "-"));
	return property(compat, "supportsMidConvoEffort") === true;
}

/** Models that do not bind: Claude 1 to 4.x in both word orders, 5.0 and Mythos 5.1, with any suffix. */
const FREE_THINKING =
	/claude-(instant|v?[1-4](?!\d)|(opus|sonnet|haiku)-[34](?!\d)|(opus|sonnet|haiku|fable|mythos)-5(?!\d|-\d{1,2}(?!\d))|mythos-5-1(?!\d))/i;

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** Price of a one-hour write by Anthropic and pi, relative to input. Price lists have no column for it. */
const ANTHROPIC_HOUR_RATIO = 2;

/** The ratios apply only if a model's price list has no cache prices. */
type Row = Omit<CacheRules, "family" | "writeOneHourRatio" | "bindsThinking" | "source">;

/** For providers that cache shared prefixes automatically and bill writes as input. */
const AUTOMATIC = {
	readRatio: 0.1,
	writeRatio: 1,
	maxBreakpoints: 0,
	lookbackPositions: 0,
	automatic: "prefix",
	stepTokens: 1,
	minimumTokens: 1024,
	ttlMs: { "5m": 5 * MINUTE, "1h": 5 * MINUTE },
	invalidates: { model: "tools" },
} as const;

/** From vendors' documents of November 2026. If sources disagree, the value that caches less is used. */
const FAMILIES: Readonly<Record<CacheFamily, Row>> = {
	anthropic: {
		readRatio: 0.1,
		writeRatio: 1.25,
		ttlMs: { "5m": 5 * MINUTE, "1h": HOUR },
		minimumTokens: 4096,
		maxBreakpoints: 4,
		lookbackPositions: 20,
		automatic: "none",
		stepTokens: 1,
		invalidates: {
			model: "tools",
			toolChoice: "messages",
			images: "messages",
			thinking: "messages",
			effort: "messages",
		},
		because: "Anthropic's documented rules",
	},
	// Before GPT-5.6. Documented lifetimes: "5 to 10 minutes", or `prompt_cache_retention: 24h`.
	openai: {
		...AUTOMATIC,
		ttlMs: { "5m": 5 * MINUTE, "1h": 24 * HOUR },
		stepTokens: 128,
		because: "OpenAI's documented rules for models before GPT-5.6",
	},
	// A lookup finds exact matches at any distance; a request writes at most four entries.
	"openai-breakpoints": {
		...AUTOMATIC,
		writeRatio: 1.25,
		ttlMs: { "5m": 30 * MINUTE, "1h": 12 * HOUR },
		maxBreakpoints: 4,
		lookbackPositions: Number.POSITIVE_INFINITY,
		automatic: "request",
		because: "OpenAI's documented rules since GPT-5.6",
	},
	// Implicit caching only. Sources name minimums from 1024 to 4096 tokens and no lifetime.
	gemini: {
		...AUTOMATIC,
		minimumTokens: 4096,
		because: "Google's documented rules for implicit caching",
	},
	// Caches whole requests; detection of shared prefixes is not documented well enough to rely on.
	deepseek: {
		...AUTOMATIC,
		readRatio: 0.033,
		ttlMs: { "5m": HOUR, "1h": HOUR },
		minimumTokens: 0,
		lookbackPositions: Number.POSITIVE_INFINITY,
		automatic: "request",
		because: "DeepSeek's documented rules",
	},
	nova: {
		...AUTOMATIC,
		readRatio: 0.25,
		because: "Amazon's documented rules for Nova",
	},
	none: {
		...AUTOMATIC,
		readRatio: 1,
		ttlMs: { "5m": 0, "1h": 0 },
		minimumTokens: Number.POSITIVE_INFINITY,
		automatic: "none",
		because: "The vendor's price list has no cached reads",
	},
	// Cheap reads and expensive writes discourage a rewrite of an unknown cache.
	default: {
		...AUTOMATIC,
		writeRatio: 1.25,
		stepTokens: 128,
		because: "Nothing is documented about this model's cache, so cautious defaults apply",
	},
};

/** Decides mostly by the model's name, since gateways and clouds pass on the vendor's caching. */
function familyOf({ provider, id, cost }: ModelInfo): CacheFamily {
	const sellsNoReads = cost !== undefined && cost.input > 0 && cost.cacheRead === 0;
	if (/claude/i.test(id)) return "anthropic";
	if (/amazon[./]nova/i.test(id)) return "nova";
	if (provider === "deepseek") return "deepseek";
	if (/gemini-/i.test(id)) return sellsNoReads ? "none" : "gemini";
	const gpt = /(?:^|[/.])(?:o\d|(?:chat)?gpt-(\d+)(?:\.(\d+))?)/i.exec(id);
	if (!gpt) return "default";
	if (sellsNoReads) return "none";
	const [major, minor] = [Number(gpt[1] ?? 0), Number(gpt[2] ?? 0)];
	return major > 5 || (major === 5 && minor >= 6) ? "openai-breakpoints" : "openai";
}

/** Unlisted models get the family's values: the largest minimum and the usual price of reads. */
function claudeValues(id: string): Pick<Row, "minimumTokens" | "readRatio"> {
	const { minimumTokens, readRatio } = FAMILIES.anthropic;
	const name = id.replaceAll(".", "-");
	return {
		minimumTokens: CLAUDE_MINIMUMS.find(({ models }) => models.test(name))?.tokens ?? minimumTokens,
		readRatio: CLAUDE_READS.find(({ models }) => models.test(name))?.ratio ?? readRatio,
	};
}

const CLAUDE_MINIMUMS = [
	{ models: /(opus|fable|mythos)-([5-9]|\d\d)(?!\d)/, tokens: 512 },
	{ models: /sonnet-[45]|3-[57]-sonnet|3-opus/, tokens: 1024 },
	// Opus 4 (with its date, if any), 4.1 and 4.8; 4.5 and 4.6 have 4096.
	{ models: /opus-4(-\d{8}|-[018](?!\d)|(?!-\d))/, tokens: 1024 },
	{ models: /opus-4-7(?!\d)|mythos-preview|3(-5)?-haiku|haiku-3/, tokens: 2048 },
];

/** Only for models without a price list. */
const CLAUDE_READS = [
	{ models: /(opus|sonnet)-5-5(?!\d)/, ratio: 0.05 },
	{ models: /(fable|mythos)-5-1(?!\d)/, ratio: 0.025 },
];

/** Rounds, so that 0.3 / 3 is exactly 0.1. */
function ratio(price: number, base: number): number {
	return Number((price / base).toPrecision(6));
}

interface SinceLastRequest {
	readonly gapMs: number;
	readonly ttlMs: number;
	readonly modelChanged?: boolean;
	readonly toolsChanged?: boolean;
	readonly thinkingChanged?: boolean;
	readonly compacted?: boolean;
}

export type Coldness =
	| { readonly cold: false }
	| { readonly cold: true; readonly why: "model" | "tools" | "compaction" | "thinking" | "gap" };

/** With a cold cache, a rewrite is free. A branch, fork or resume alone does not make the cache cold. */
export function isCold(since: SinceLastRequest): Coldness {
	if (since.modelChanged) return { cold: true, why: "model" };
	if (since.toolsChanged) return { cold: true, why: "tools" };
	if (since.compacted) return { cold: true, why: "compaction" };
	if (since.thinkingChanged) return { cold: true, why: "thinking" };
	// An entry is expired as soon as the gap equals its lifetime.
	if (since.gapMs >= since.ttlMs) return { cold: true, why: "gap" };
	return { cold: false };
}

/** Returns the cost of a prompt in plain input tokens, so that policies compare without a currency. */
export function costOf(tokens: PromptTokens, rules: Ratios): number {
	return (
		tokens.input +
		tokens.read * rules.readRatio +
		(tokens.write - tokens.writeOneHour) * rules.writeRatio +
		tokens.writeOneHour * rules.writeOneHourRatio
	);
}

/** Returns the price of a written token, relative to a plain input token. */
export function writeRatioFor(ttl: Ttl, { writeRatio, writeOneHourRatio }: Ratios): number {
	return ttl === "1h" ? writeOneHourRatio : writeRatio;
}

/**
 * The price of a prompt, and of an answer if `output` is given, computed as pi does. `rules` set the
 * price of a write for the long lifetime, and those that the table does not have.
 */
export function dollarsOf(
	tokens: PromptTokens & { readonly output?: number },
	prices: ModelPrices,
	rules: Pick<Ratios, "writeOneHourRatio"> & Partial<Ratios> = PIS_RATIO,
): number {
	const rates = ratesFor(tokens.input + tokens.read + tokens.write, prices);
	const { readRatio = 0, writeRatio = 0 } = rules;
	const shortWrite = tokens.write - tokens.writeOneHour;
	return (
		(tokens.input * rates.input +
			tokens.read * (rates.cacheRead || rates.input * readRatio) +
			shortWrite * (rates.cacheWrite || rates.input * writeRatio) +
			tokens.writeOneHour * rates.input * rules.writeOneHourRatio +
			(tokens.output ?? 0) * rates.output) /
		1_000_000
	);
}

/** Pi charges a one-hour write at twice the input price, for every model. */
const PIS_RATIO = { writeOneHourRatio: 2 };

function ratesFor(prompt: number, prices: ModelPrices): PriceRates {
	const reached = (prices.tiers ?? []).filter((tier) => prompt > tier.inputTokensAbove);
	return reached.sort((a, b) => b.inputTokensAbove - a.inputTokensAbove)[0] ?? prices;
}
