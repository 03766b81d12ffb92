import { property } from "../core/property.ts";
import type { Part, Setting, Ttl } from "./request.ts";

/** Dollars for a million tokens, as in pi's model table. Zero where the table has no price. */
export interface PriceRates {
	readonly input: number;
	readonly output: number;
	readonly cacheRead: number;
	readonly cacheWrite: number;
}

/** The prices of a model. With tiers, the highest one that a prompt exceeds prices all of it. */
export interface ModelPrices extends PriceRates {
	readonly tiers?: readonly (PriceRates & { readonly inputTokensAbove: number })[];
}

/** What the economy needs of a model: a model of pi fits, and its two names alone will do. */
export interface ModelInfo {
	readonly provider: string;
	readonly id: string;
	readonly api?: string;
	readonly cost?: ModelPrices;
	readonly contextWindow?: number;
	/** How long cached prefixes live, in seconds, where pi or its user states it. */
	readonly promptCache?: { readonly short?: number; readonly long?: number };
	/** Pi's switches for the model's API. */
	readonly compat?: unknown;
}

/**
 * Whose way of caching a model follows. `none`: its price list knows no cached reads.
 * `default`: nothing is documented.
 */
export type CacheFamily =
	| "anthropic"
	| "openai"
	| "openai-breakpoints"
	| "gemini"
	| "deepseek"
	| "nova"
	| "none"
	| "default";

/** How a provider caches the prompts of one model, and what that costs. */
export interface CacheRules {
	readonly family: CacheFamily;
	/** Price of a token read from the cache; one plain input token is 1. */
	readonly readRatio: number;
	/** Price of a token written for the short lifetime. */
	readonly writeRatio: number;
	/** Price of a token written for the long lifetime. */
	readonly writeOneHourRatio: number;
	/** What the provider makes of the two lifetimes. Every use starts them again. */
	readonly ttlMs: Readonly<Record<Ttl, number>>;
	/** Shorter prefixes are not cached, silently. */
	readonly minimumTokens: number;
	/** Markers a request may carry; zero where the provider ignores them. */
	readonly maxBreakpoints: number;
	/** How many blocks before a marked one are searched for an entry. */
	readonly lookbackBlocks: number;
	/**
	 * What is cached without markers: nothing, each request up to its end, or whatever prefix two
	 * requests share, in steps of `stepTokens`.
	 */
	readonly automatic: "none" | "request" | "prefix";
	readonly stepTokens: number;
	/** The first part that a changed setting loses; absent where a change is not known to lose any. */
	readonly invalidates: Readonly<Partial<Record<Setting, Part>>>;
	/** See {@link bindsThinking}. */
	readonly bindsThinking: boolean;
	/** `default`: cautious values stand in for rules nobody has written down. */
	readonly source: "table" | "default";
	/** Where the rules come from, in a sentence for people. */
	readonly because: string;
}

/**
 * The rules for a model: price ratios from its own price list, the rest from the table of families.
 * `overrides` win; they are for people who know better, and for asking what if.
 */
export function rulesFor(model: ModelInfo, overrides: Partial<CacheRules> = {}): CacheRules {
	const family = familyOf(model);
	const row = FAMILIES[family];
	const { input = 0, cacheRead = 0, cacheWrite = 0 } = model.cost ?? {};
	const hasReadPrice = input > 0 && cacheRead > 0;
	const readRatio = hasReadPrice ? ratio(cacheRead, input) : row.readRatio;
	// A list that prices reads but not writes bills the writes as plain input.
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
		minimumTokens: family === "anthropic" ? claudeMinimum(model.id) : row.minimumTokens,
		bindsThinking: bindsThinking(model),
		source: family === "default" ? "default" : "table",
		because: `${row.because} (${model.provider}/${model.id}${hasReadPrice ? ", prices of pi's model table" : ""}).`,
		...overrides,
	};
}

/**
 * Whether the model accepts a thinking block only while system prompt, tools and every earlier message are what was sent
 * when the block was made. An edit before such a block makes the provider refuse the request, or drop that block and all
 * later ones. Claude does so from Opus 5.5 and Fable 5.1 on, so unknown Claude models count as binding; and so does a
 * model under another name that pi drives like one of those.
 */
export function bindsThinking({ id, compat }: Pick<ModelInfo, "id" | "compat">): boolean {
	if (/claude/i.test(id)) return !FREE_THINKING.test(id.replaceAll(".", "-"));
	return property(compat, "supportsMidConvoEffort") === true;
}

/** Claude 1 to 4.x in both word orders, the 5.0 models, and Mythos 5.1. Dates and platform suffixes may follow. */
const FREE_THINKING =
	/claude-(instant|v?[1-4](?!\d)|(opus|sonnet|haiku)-[34](?!\d)|(opus|sonnet|haiku|fable|mythos)-5(?!\d|-\d{1,2}(?!\d))|mythos-5-1(?!\d))/i;

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** What Anthropic and pi charge for a write that lives an hour; no price list has a column for it. */
const ANTHROPIC_HOUR_RATIO = 2;

/** A family's rules; the two ratios hold for models whose price list says nothing about caching. */
type Row = Omit<CacheRules, "family" | "writeOneHourRatio" | "bindsThinking" | "source">;

/** Shared by the providers that cache shared prefixes by themselves and bill writes as input. */
const AUTOMATIC = {
	readRatio: 0.1,
	writeRatio: 1,
	maxBreakpoints: 0,
	lookbackBlocks: 0,
	automatic: "prefix",
	stepTokens: 1,
	invalidates: { model: "tools" },
} as const;

/**
 * Vendor documentation as of November 2026. Where sources disagree or are vague, the value that promises
 * less caching stands here: the longer minimum, the shorter life.
 */
const FAMILIES: Readonly<Record<CacheFamily, Row>> = {
	anthropic: {
		readRatio: 0.1,
		writeRatio: 1.25,
		ttlMs: { "5m": 5 * MINUTE, "1h": HOUR },
		minimumTokens: 4096,
		maxBreakpoints: 4,
		lookbackBlocks: 20,
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
	// GPT before 5.6. Lifetime "5 to 10 minutes"; the long one is `prompt_cache_retention: 24h`.
	openai: {
		...AUTOMATIC,
		ttlMs: { "5m": 5 * MINUTE, "1h": 24 * HOUR },
		minimumTokens: 1024,
		stepTokens: 128,
		because: "OpenAI's documented rules for models before GPT-5.6",
	},
	// Entries are matched exactly and from anywhere; four are written for a request.
	"openai-breakpoints": {
		...AUTOMATIC,
		writeRatio: 1.25,
		ttlMs: { "5m": 30 * MINUTE, "1h": 30 * MINUTE },
		minimumTokens: 1024,
		maxBreakpoints: 4,
		lookbackBlocks: Number.POSITIVE_INFINITY,
		automatic: "request",
		because: "OpenAI's documented rules since GPT-5.6",
	},
	// Implicit caching only. Sources name minimums from 1024 to 4096 and no lifetime.
	gemini: {
		...AUTOMATIC,
		ttlMs: { "5m": 5 * MINUTE, "1h": 5 * MINUTE },
		minimumTokens: 4096,
		because: "Google's documented rules for implicit caching",
	},
	// Whole requests; the prefixes it detects between requests are not documented well enough to promise.
	deepseek: {
		...AUTOMATIC,
		readRatio: 0.033,
		ttlMs: { "5m": HOUR, "1h": HOUR },
		minimumTokens: 0,
		lookbackBlocks: Number.POSITIVE_INFINITY,
		automatic: "request",
		because: "DeepSeek's documented rules",
	},
	nova: {
		...AUTOMATIC,
		readRatio: 0.25,
		ttlMs: { "5m": 5 * MINUTE, "1h": 5 * MINUTE },
		minimumTokens: 1024,
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
	// Cheap reads and dear writes make rearranging look dear, so an unknown prefix is left alone.
	default: {
		...AUTOMATIC,
		writeRatio: 1.25,
		ttlMs: { "5m": 5 * MINUTE, "1h": 5 * MINUTE },
		minimumTokens: 1024,
		stepTokens: 128,
		because: "Nothing is documented about this model's cache, so cautious defaults stand in",
	},
};

/** By the model's name, since gateways and clouds pass on the caching of the vendor behind them. */
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

/** Models that are not listed get the longest minimum. */
function claudeMinimum(id: string): number {
	const name = id.replaceAll(".", "-");
	const row = CLAUDE_MINIMUMS.find(({ models }) => models.test(name));
	return row?.tokens ?? FAMILIES.anthropic.minimumTokens;
}

const CLAUDE_MINIMUMS = [
	{ models: /(opus|fable|mythos)-5/, tokens: 512 },
	{ models: /sonnet-[45]/, tokens: 1024 },
	// Opus 4 (with its date, if any), 4.1 and 4.8; 4.5 and 4.6 have 4096.
	{ models: /opus-4(-\d{8}|-[018](?!\d)|(?!-\d))/, tokens: 1024 },
	{ models: /opus-4-7(?!\d)/, tokens: 2048 },
];

/** Prices are decimals: 0.3 / 3 should be 0.1 to the last digit. */
function ratio(price: number, base: number): number {
	return Number((price / base).toPrecision(6));
}

/** What happened since the last request of a session. */
export interface SinceLastRequest {
	/** Time since the last request that used the cache. */
	readonly gapMs: number;
	/** How long the provider keeps what that request cached. */
	readonly ttlMs: number;
	readonly modelChanged?: boolean;
	readonly toolsChanged?: boolean;
	readonly thinkingChanged?: boolean;
	readonly compacted?: boolean;
}

/** Whether the conversation has to be written anew anyway, and the weightiest reason why. */
export type Coldness =
	| { readonly cold: false }
	| {
			readonly cold: true;
			readonly why: "model" | "tools" | "compaction" | "thinking" | "gap";
	  };

/**
 * While the cache is cold, changing the conversation costs nothing: it is about to be written in full. Another branch, a
 * fork or a resumed session is not cold by itself: its beginning was sent before, and may be in the cache.
 */
export function isCold(since: SinceLastRequest): Coldness {
	if (since.modelChanged) return { cold: true, why: "model" };
	if (since.toolsChanged) return { cold: true, why: "tools" };
	if (since.compacted) return { cold: true, why: "compaction" };
	if (since.thinkingChanged) return { cold: true, why: "thinking" };
	// An entry is dead at the instant its time is over.
	if (since.gapMs >= since.ttlMs) return { cold: true, why: "gap" };
	return { cold: false };
}
