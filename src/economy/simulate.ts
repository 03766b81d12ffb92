import { livingEntry, type Prefix } from "./prefix-tree.ts";
import { createPromptReader, type Prompt, tokensOfFirst } from "./prompt.ts";
import type { Breakpoint, PromptTokens, Request, Ttl } from "./request.ts";
import type { CacheRules } from "./rules.ts";

/** How a provider bills one prompt. */
export interface Billed extends PromptTokens {
	/** Index of the last block that was read from the cache, whole or in part; -1 if none was. */
	readonly hitAfter: number;
}

/** A provider's prompt cache for one account, fed with requests in the order of time. */
export interface CacheSimulator {
	/**
	 * Bills a request, and writes and refreshes what it has cached. A clock that goes back stands still.
	 * @throws RangeError for a request that the provider would refuse; the cache stays as it was then.
	 */
	send(request: Request): Billed;
	/** Sends the last request once more to keep its entries alive; `undefined` before the first one. */
	ping(atMs: number): Billed | undefined;
	/** Everything cached is gone. */
	forget(): void;
}

/** Follows a provider's rules exactly, as far as blocks can tell: what differs within one differs from its start. */
export function createCacheSimulator(rules: CacheRules): CacheSimulator {
	let reader = createPromptReader(rules);
	let nowMs = Number.NEGATIVE_INFINITY;
	let last: Request | undefined;
	const bill = rules.automatic === "prefix" ? billSharedPrefix : billMarked;

	function send(request: Request): Billed {
		checkTime(request);
		checkMarkers(request, rules);
		const usedReader = request.cold ? createPromptReader(rules) : reader;
		const atMs = Math.max(nowMs, request.atMs);
		const prompt = usedReader.read(request, atMs);
		// Nothing throws from here on.
		reader = usedReader;
		nowMs = atMs;
		last = request;
		return bill(prompt, request);
	}

	/** Entries end behind marked blocks, and are found from marked blocks. */
	function billMarked(prompt: Prompt, request: Request): Billed {
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
			// Nothing is billed for an entry inside what was read, so it gets no longer life than that.
			const lifetime = after < hitAfter && paid === "5m" ? paid : ttl;
			keep(prefix, livingEntry(prefix, nowMs)?.ttl ?? lifetime);
		}
		const read = tokensOfFirst(hitAfter + 1, prompt);
		const hour = markers.findLast(({ ttl }) => ttl === "1h");
		const cached = Math.max(read, endOf(markers.at(-1)));
		return billed(prompt, { hitAfter, read, cached, cachedForHour: Math.max(read, endOf(hour)) });
	}

	/** Each marker is searched from for itself, the last one first: no other can find anything longer. */
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
	function billSharedPrefix(prompt: Prompt, request: Request): Billed {
		const { prefixes } = prompt;
		const ttl = retentionOf(request);
		const shared = prefixes.findLastIndex((prefix) => livingEntry(prefix, nowMs));
		const read = inSteps(tokensOfFirst(shared + 1, prompt), rules);
		const cached = Math.max(read, inSteps(tokensOfFirst(prefixes.length, prompt), rules));
		const entry = { ttl, expiresMs: nowMs + rules.ttlMs[ttl] };
		for (const prefix of prefixes) {
			// A request without the wish for a long life does not end one.
			if (!prefix.entry || prefix.entry.expiresMs < entry.expiresMs) prefix.entry = entry;
		}
		const cachedForHour = ttl === "1h" ? cached : read;
		return billed(prompt, { hitAfter: read > 0 ? shared : -1, read, cached, cachedForHour });
	}

	/** Starts the life of an entry, or starts it again. */
	function keep(prefix: Prefix, ttl: Ttl): void {
		prefix.entry = { ttl, expiresMs: nowMs + rules.ttlMs[ttl] };
	}

	function billed(prompt: Prompt, { hitAfter, read, cached, cachedForHour }: CachedSpan): Billed {
		const tokens = tokensOfFirst(prompt.prefixes.length, prompt);
		// Where writing has no price of its own, providers count it as input.
		if (rules.maxBreakpoints === 0 && rules.writeRatio === 1) {
			return { input: tokens - read, read, write: 0, writeOneHour: 0, hitAfter };
		}
		const write = cached - read;
		return { input: tokens - cached, read, write, writeOneHour: cachedForHour - read, hitAfter };
	}

	return {
		send,
		ping: (atMs) => last && send({ ...last, atMs, cold: false }),
		forget() {
			reader = createPromptReader(rules);
		},
	};
}

/** Bills requests one after another, starting with an empty cache. */
export function simulate(requests: Iterable<Request>, rules: CacheRules): Billed[] {
	const cache = createCacheSimulator(rules);
	return Array.from(requests, (request) => cache.send(request));
}

/** How much of a prompt is in the cache, in tokens from its start. */
interface CachedSpan {
	readonly hitAfter: number;
	/** Before the request. */
	readonly read: number;
	/** After it: in all, and the part that was read or is written for an hour. */
	readonly cached: number;
	readonly cachedForHour: number;
}

function inSteps(tokens: number, { stepTokens, minimumTokens }: CacheRules): number {
	const whole = Math.floor(tokens / stepTokens) * stepTokens;
	return whole >= minimumTokens ? whole : 0;
}

/** The markers that count, in the order of blocks, with the one that the provider itself sets. */
function markersOf(request: Request, rules: CacheRules): readonly Breakpoint[] {
	const own = rules.maxBreakpoints > 0 ? request.breakpoints : [];
	const end = request.blocks.length - 1;
	if (rules.automatic !== "request" || end < 0 || own.at(-1)?.after === end) return own;
	const implied = { after: end, ttl: retentionOf(request) };
	return [...own, implied].slice(-Math.max(1, rules.maxBreakpoints));
}

/** Who wants long retention from a provider without markers still says so in the request's own. */
function retentionOf({ breakpoints }: Request): Ttl {
	return breakpoints.at(-1)?.ttl ?? "5m";
}

function checkTime({ atMs }: Request): void {
	if (!Number.isFinite(atMs)) throw new RangeError(`atMs: expected milliseconds, got ${atMs}`);
}

function checkMarkers({ blocks, breakpoints }: Request, { maxBreakpoints }: CacheRules): void {
	if (maxBreakpoints === 0) return; // the provider does not look at them
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
