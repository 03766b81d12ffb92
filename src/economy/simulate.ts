import type { PromptTokens, Ttl } from "../core/bill.ts";
import {
	createPromptReader,
	livingEntry,
	type Prefix,
	type Prompt,
	tokensOfFirst,
} from "./prompt.ts";
import type { Breakpoint, Request } from "./request.ts";
import type { CacheRules } from "./rules.ts";

/**
 * A provider's prompt cache for one account, fed with requests in order of time. Exact at the level
 * of blocks: a change within a block invalidates it from its start.
 */
export function createCacheSimulator(rules: CacheRules) {
	let readPrompt = createPromptReader(rules);
	let nowMs = Number.NEGATIVE_INFINITY;
	const bill = rules.automatic === "prefix" ? billSharedPrefix : billMarked;

	return { send };

	/**
	 * An `atMs` in the past counts as now. Throws a RangeError for a request that the provider would
	 * refuse, and leaves the cache unchanged.
	 */
	function send(request: Request): PromptTokens {
		checkRequest(request, rules);
		const usedReader = request.cold ? createPromptReader(rules) : readPrompt;
		const atMs = Math.max(nowMs, request.atMs);
		const prompt = usedReader(request, atMs);
		// Nothing throws from here on.
		readPrompt = usedReader;
		nowMs = atMs;
		return bill(prompt, request);
	}

	/** Entries end at marked blocks, and are found from marked blocks. */
	function billMarked(prompt: Prompt, request: Request): PromptTokens {
		const endOf = (marker: Breakpoint | undefined) =>
			tokensOfFirst((marker?.after ?? -1) + 1, prompt);
		const markers = markersOf(request, rules).filter(
			(marker) => endOf(marker) >= rules.minimumTokens,
		);
		const hitAfter = longestHit(prompt, markers);
		const hit = prompt.prefixes[hitAfter];
		const paid = hit?.entry?.ttl;
		if (hit && paid) keep(hit, paid);
		for (const { after, ttl } of markers) {
			const prefix = prompt.prefixes[after] as Prefix;
			// An entry inside the hit is not billed, so it does not outlive the hit.
			const lifetime = after < hitAfter && paid === "5m" ? paid : ttl;
			keep(prefix, livingEntry(prefix, nowMs)?.ttl ?? lifetime);
		}
		const read = tokensOfFirst(hitAfter + 1, prompt);
		const hour = markers.findLast(({ ttl }) => ttl === "1h");
		const cached = Math.max(read, endOf(markers.at(-1)));
		return billed(prompt, { read, cached, cachedForHour: Math.max(read, endOf(hour)) });
	}

	/** Searches from the last marker first: it finds the longest hit. */
	function longestHit({ prefixes }: Prompt, markers: readonly Breakpoint[]): number {
		for (const { after } of markers.toReversed()) {
			const first = Math.max(0, after - rules.lookbackBlocks);
			for (let at = after; at >= first; at--) {
				if (livingEntry(prefixes[at] as Prefix, nowMs)) return at;
			}
		}
		return -1;
	}

	/** Every prefix is an entry, in whole steps of tokens. */
	function billSharedPrefix(prompt: Prompt, request: Request): PromptTokens {
		const { prefixes } = prompt;
		const ttl = retentionOf(request);
		const shared = prefixes.findLastIndex((prefix) => livingEntry(prefix, nowMs));
		const read = inSteps(tokensOfFirst(shared + 1, prompt), rules);
		const cached = Math.max(read, inSteps(tokensOfFirst(prefixes.length, prompt), rules));
		const entry = { ttl, expiresMs: nowMs + rules.ttlMs[ttl] };
		for (const prefix of prefixes) {
			// A short lifetime does not shorten a longer one.
			if (!prefix.entry || prefix.entry.expiresMs < entry.expiresMs) prefix.entry = entry;
		}
		const cachedForHour = ttl === "1h" ? cached : read;
		return billed(prompt, { read, cached, cachedForHour });
	}

	function keep(prefix: Prefix, ttl: Ttl): void {
		prefix.entry = { ttl, expiresMs: nowMs + rules.ttlMs[ttl] };
	}

	function billed(prompt: Prompt, { read, cached, cachedForHour }: CachedSpan): PromptTokens {
		const tokens = tokensOfFirst(prompt.prefixes.length, prompt);
		// Providers count writes as input if they have no price of their own.
		if (rules.maxBreakpoints === 0 && rules.writeRatio === 1) {
			return { input: tokens - read, read, write: 0, writeOneHour: 0 };
		}
		const write = cached - read;
		return { input: tokens - cached, read, write, writeOneHour: cachedForHour - read };
	}
}

/** In tokens from the start of the prompt. */
interface CachedSpan {
	readonly read: number;
	/** After the request; `cachedForHour` includes what was read. */
	readonly cached: number;
	readonly cachedForHour: number;
}

function inSteps(tokens: number, { stepTokens, minimumTokens }: CacheRules): number {
	const whole = Math.floor(tokens / stepTokens) * stepTokens;
	return whole >= minimumTokens ? whole : 0;
}

/** In block order, with the provider's own implied marker. */
function markersOf(request: Request, rules: CacheRules): readonly Breakpoint[] {
	const own = rules.maxBreakpoints > 0 ? request.breakpoints : [];
	const end = request.blocks.length - 1;
	if (rules.automatic !== "request" || end < 0 || own.at(-1)?.after === end) return own;
	const implied = { after: end, ttl: retentionOf(request) };
	return [...own, implied].slice(-Math.max(1, rules.maxBreakpoints));
}

/** Requests for providers without markers still carry one to ask for long retention. */
function retentionOf({ breakpoints }: Request): Ttl {
	return breakpoints.at(-1)?.ttl ?? "5m";
}

function checkRequest(
	{ atMs, blocks, breakpoints }: Request,
	{ maxBreakpoints }: CacheRules,
): void {
	if (!Number.isFinite(atMs)) throw new RangeError(`atMs: expected milliseconds, got ${atMs}`);
	if (maxBreakpoints === 0) return; // the provider ignores them
	if (breakpoints.length > maxBreakpoints) {
		throw new RangeError(
			`breakpoints: ${breakpoints.length} are more than the ${maxBreakpoints} that the provider allows`,
		);
	}
	let before: Breakpoint | undefined;
	for (const marker of breakpoints) {
		if (blocks[marker.after] === undefined || marker.after <= (before?.after ?? -1)) {
			throw new RangeError(
				`breakpoints: expected ascending indices below ${blocks.length}, got ${breakpoints.map(({ after }) => after)}`,
			);
		}
		if (marker.ttl === "1h" && before?.ttl === "5m") {
			throw new RangeError(
				`breakpoints: the marker for 1h behind block ${marker.after} comes after one for 5m; longer ones come first`,
			);
		}
		before = marker;
	}
}
