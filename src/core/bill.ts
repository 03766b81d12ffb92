import { countIn, property } from "./property.ts";

/** The tokens of one prompt, split by how they were billed. The whole prompt is `input + read + write`. */
export interface PromptTokens {
	readonly input: number;
	readonly read: number;
	readonly write: number;
	/** The part of `write` that is cached with a TTL of one hour. */
	readonly writeOneHour: number;
}

/**
 * Lifetime of a cached prefix, from the start of the latest request that used it: a provider's short
 * or long one, by Anthropic's names. `CacheRules.ttlMs` has their lengths.
 */
export type Ttl = "5m" | "1h";

export interface Bill {
	readonly provider: string;
	readonly model: string;
	readonly atMs: number;
	readonly tokens: PromptTokens;
	readonly output: number;
	readonly thinking?: Thinking;
}

/** Thinking blocks whose preceding context has changed. Each request counts all such blocks again. */
export interface Thinking {
	/** Blocks that the provider dropped unbilled. */
	readonly dropped: number;
	readonly allowed: number;
}

/** Reads the bill in an untrusted message; aborted answers have one too. `writtenMs`: fallback timestamp. */
export function billOf(message: unknown, writtenMs = 0): Bill | undefined {
	if (property(message, "role") !== "assistant") return undefined;
	const usage = property(message, "usage");
	const tokens = promptTokens(usage);
	if (tokens.input + tokens.read + tokens.write === 0) return undefined;
	const sentMs = property(message, "timestamp");
	const thinking = misplacedThinking(message);
	return {
		provider: String(property(message, "provider") ?? "unknown"),
		model: String(property(message, "model") ?? "unknown"),
		atMs: typeof sentMs === "number" && Number.isFinite(sentMs) ? sentMs : writtenMs,
		tokens,
		output: countIn(usage, "output"),
		...(thinking && { thinking }),
	};
}

/** Pi stores Anthropic's `input_transformations` as diagnostics of a message. */
function misplacedThinking(message: unknown): Thinking | undefined {
	const diagnostics = property(message, "diagnostics");
	if (!Array.isArray(diagnostics)) return undefined;
	const types = diagnostics
		.filter((one) => property(one, "type") === "anthropic_input_transformations")
		.flatMap((one) => property(property(one, "details"), "transformations"))
		.map((one) => property(one, "type"));
	const dropped = types.filter((type) => type === "thinking_dropped").length;
	const allowed = types.filter((type) => type === "thinking_mismatch_allowed").length;
	return dropped + allowed > 0 ? { dropped, allowed } : undefined;
}

export function promptTokens(usage: unknown): PromptTokens {
	const write = countIn(usage, "cacheWrite");
	return {
		input: countIn(usage, "input"),
		read: countIn(usage, "cacheRead"),
		write,
		writeOneHour: Math.min(write, countIn(usage, "cacheWrite1h")),
	};
}

/** `undefined` if nothing was written to the cache. */
export function ttlOf({ write, writeOneHour }: PromptTokens): Ttl | undefined {
	if (write === 0) return undefined;
	return writeOneHour > 0 ? "1h" : "5m";
}
