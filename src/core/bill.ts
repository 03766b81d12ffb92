import { countIn, property } from "./property.ts";

/** The prompt of one request by how it was billed, in tokens. Their sum is the prompt. */
export interface PromptTokens {
	/** Neither read from a cache nor written to one. */
	readonly input: number;
	readonly read: number;
	readonly write: number;
	/** The part of `write` that was written for an hour. */
	readonly writeOneHour: number;
}

/** How long a provider keeps a cached prefix after its last use. */
export type Ttl = "5m" | "1h";

/** What a provider charged for one request. */
export interface Bill {
	readonly provider: string;
	/** The model's id at its provider. */
	readonly model: string;
	readonly atMs: number;
	readonly tokens: PromptTokens;
	/** Tokens of the answer. */
	readonly output: number;
	/** Thinking blocks of earlier answers that the provider left out of the prompt, or would have: see {@link Thinking}. */
	readonly thinking?: Thinking;
}

/**
 * Thinking blocks that no longer stand behind what was sent when they were made, by what the provider did about it. Each
 * request counts all of them again.
 */
export interface Thinking {
	/** Left out of the prompt, unbilled. */
	readonly dropped: number;
	/** Let through. */
	readonly allowed: number;
}

/**
 * The bill of a message of a session, which may be anything; none if it is no answer, or nothing was billed. What was
 * stopped midway is billed too. `writtenMs` is for messages that do not say when they were sent.
 */
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

/** As pi stores what Anthropic reports in `input_transformations`. */
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

/** What a message's `usage` says about the request, by how it was billed. Session files may hold anything. */
export function promptTokens(usage: unknown): PromptTokens {
	const write = countIn(usage, "cacheWrite");
	return {
		input: countIn(usage, "input"),
		read: countIn(usage, "cacheRead"),
		write,
		writeOneHour: Math.min(write, countIn(usage, "cacheWrite1h")),
	};
}

/** For how long the provider keeps what a request wrote to its cache; `undefined` if it wrote nothing. */
export function ttlOf({ write, writeOneHour }: PromptTokens): Ttl | undefined {
	if (write === 0) return undefined;
	return writeOneHour > 0 ? "1h" : "5m";
}
