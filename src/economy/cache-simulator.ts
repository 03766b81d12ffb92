import type { PromptTokens, Ttl } from "../core/bill.ts";
import { type Breakpoint, lookbackStart, type ModelRequest } from "./model-request.ts";
import { liveEntry, type Prefix, type Prompt, PromptBuilder, tokensOfFirst } from "./prompt.ts";
import type { CacheRules } from "./rules.ts";

/**
 * Simulates a provider's prompt cache for one account. Send requests in order of time. Exact at the level of
 * blocks: a change within a block invalidates the whole block.
 */
export class CacheSimulator {
	readonly #rules: CacheRules;
	#prompts: PromptBuilder;
	#nowMs = Number.NEGATIVE_INFINITY;
	/** Entries that were alive at this time can be read. */
	#asOfMs = Number.NEGATIVE_INFINITY;

	constructor(rules: CacheRules) {
		this.#rules = rules;
		this.#prompts = new PromptBuilder(rules);
	}

	/** A past `atMs` counts as the last one. An invalid request throws a RangeError and has no effect. */
	send(request: ModelRequest): PromptTokens {
		checkRequest(request, this.#rules);
		const prompts = request.cold ? new PromptBuilder(this.#rules) : this.#prompts;
		const atMs = Math.max(this.#nowMs, request.atMs);
		const asOfMs = request.keptAlive ? this.#nowMs : atMs;
		const prompt = prompts.build(request, asOfMs);
		// Nothing below throws.
		this.#prompts = prompts;
		this.#nowMs = atMs;
		this.#asOfMs = asOfMs;
		const warm = prompt.prefixes[(request.warmBlocks ?? 0) - 1];
		if (warm && !liveEntry(warm, asOfMs)) this.#cache(warm, retentionOf(request));
		return this.#rules.automatic === "prefix"
			? this.#billSharedPrefix(prompt, request)
			: this.#billAtBreakpoints(prompt, request);
	}

	/** For providers that end cache entries at breakpoints and search for entries from breakpoints. */
	#billAtBreakpoints(prompt: Prompt, request: ModelRequest): PromptTokens {
		const rules = this.#rules;
		const endOf = (breakpoint: Breakpoint | undefined) =>
			tokensOfFirst((breakpoint?.after ?? -1) + 1, prompt);
		const breakpoints = breakpointsOf(request, rules).filter(
			(breakpoint) => endOf(breakpoint) >= rules.minimumTokens,
		);
		const hitAfter = this.#longestHit(prompt, request.blocks, breakpoints);
		const hit = prompt.prefixes[hitAfter];
		const paid = hit?.entry?.ttl;
		if (hit && paid) this.#cache(hit, paid);
		for (const { after, ttl } of breakpoints) {
			const prefix = prompt.prefixes[after] as Prefix;
			// An entry inside the hit is not billed, so it must not live longer than the hit.
			const lifetime = after < hitAfter && paid === "5m" ? paid : ttl;
			this.#cache(prefix, liveEntry(prefix, this.#asOfMs)?.ttl ?? lifetime);
		}
		const read = tokensOfFirst(hitAfter + 1, prompt);
		const hour = breakpoints.findLast(({ ttl }) => ttl === "1h");
		const cached = Math.max(read, endOf(breakpoints.at(-1)));
		return billed(prompt, { read, cached, cachedForHour: Math.max(read, endOf(hour)) }, rules);
	}

	/** Searches from the last breakpoint first, so that the first hit is the longest. */
	#longestHit(
		{ prefixes }: Prompt,
		blocks: ModelRequest["blocks"],
		breakpoints: readonly Breakpoint[],
	): number {
		for (const { after } of breakpoints.toReversed()) {
			const first = lookbackStart(blocks, after, this.#rules.lookbackPositions);
			for (let at = after; at >= first; at--) {
				if (liveEntry(prefixes[at] as Prefix, this.#asOfMs)) return at;
			}
		}
		return -1;
	}

	/** For providers that cache every prefix, in whole steps of tokens. */
	#billSharedPrefix(prompt: Prompt, request: ModelRequest): PromptTokens {
		const rules = this.#rules;
		const nowMs = this.#nowMs;
		const { prefixes } = prompt;
		const ttl = retentionOf(request);
		const shared = prefixes.findLastIndex((prefix) => liveEntry(prefix, this.#asOfMs));
		const read = inSteps(tokensOfFirst(shared + 1, prompt), rules);
		const cached = Math.max(read, inSteps(tokensOfFirst(prefixes.length, prompt), rules));
		const entry = { ttl, expiresMs: nowMs + rules.ttlMs[ttl] };
		for (const prefix of prefixes) {
			// A short lifetime must not shorten an existing longer one.
			if (!prefix.entry || prefix.entry.expiresMs < entry.expiresMs) prefix.entry = entry;
		}
		return billed(prompt, { read, cached, cachedForHour: ttl === "1h" ? cached : read }, rules);
	}

	#cache(prefix: Prefix, ttl: Ttl): void {
		prefix.entry = { ttl, expiresMs: this.#nowMs + this.#rules.ttlMs[ttl] };
	}
}

/** The cached part of a prompt, in tokens from the prompt's start. */
interface CachedSpan {
	readonly read: number;
	/** Tokens in the cache after the request. Like `cachedForHour`, it includes the tokens read. */
	readonly cached: number;
	readonly cachedForHour: number;
}

function billed(
	prompt: Prompt,
	{ read, cached, cachedForHour }: CachedSpan,
	{ maxBreakpoints, writeRatio }: CacheRules,
): PromptTokens {
	const tokens = tokensOfFirst(prompt.prefixes.length, prompt);
	// Providers count writes as input if writes have no separate price.
	if (maxBreakpoints === 0 && writeRatio === 1) {
		return { input: tokens - read, read, write: 0, writeOneHour: 0 };
	}
	const write = cached - read;
	return { input: tokens - cached, read, write, writeOneHour: cachedForHour - read };
}

function inSteps(tokens: number, { stepTokens, minimumTokens }: CacheRules): number {
	const whole = Math.floor(tokens / stepTokens) * stepTokens;
	return whole >= minimumTokens ? whole : 0;
}

/** Returns breakpoints in block order, including the provider's implied one. */
function breakpointsOf(request: ModelRequest, rules: CacheRules): readonly Breakpoint[] {
	const own = rules.maxBreakpoints > 0 ? request.breakpoints : [];
	const end = request.blocks.length - 1;
	if (rules.automatic !== "request" || end < 0 || own.at(-1)?.after === end) return own;
	const implied = { after: end, ttl: retentionOf(request) };
	return [...own, implied].slice(-Math.max(1, rules.maxBreakpoints));
}

/** The last breakpoint sets the lifetime, even for providers that ignore its position. */
function retentionOf({ breakpoints }: ModelRequest): Ttl {
	return breakpoints.at(-1)?.ttl ?? "5m";
}

function checkRequest(request: ModelRequest, { maxBreakpoints }: CacheRules): void {
	const { atMs, blocks, breakpoints } = request;
	if (!Number.isFinite(atMs)) throw new RangeError(`atMs: expected milliseconds, got ${atMs}`);
	if (maxBreakpoints === 0) return; // the provider ignores them
	if (breakpoints.length > maxBreakpoints) {
		throw new RangeError(
			`breakpoints: the provider allows at most ${maxBreakpoints}, got ${breakpoints.length}`,
		);
	}
	let before: Breakpoint | undefined;
	for (const breakpoint of breakpoints) {
		if (blocks[breakpoint.after] === undefined || breakpoint.after <= (before?.after ?? -1)) {
			throw new RangeError(
				`breakpoints: expected ascending indices below ${blocks.length}, got ${breakpoints.map(({ after }) => after)}`,
			);
		}
		if (breakpoint.ttl === "1h" && before?.ttl === "5m") {
			throw new RangeError(
				`breakpoints: the 1h breakpoint after block ${breakpoint.after} must come before all 5m breakpoints`,
			);
		}
		before = breakpoint;
	}
}
