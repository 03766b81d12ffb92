import type { Step } from "./replay/requests.ts";
import type { Block, Breakpoint, Request, Ttl } from "./request.ts";
import type { CacheRules } from "./rules.ts";

/** A request that is to be marked. Indices are of blocks; one outside the request is left out. */
export interface Placement {
	readonly blocks: readonly Block[];
	readonly rules: Pick<CacheRules, "maxBreakpoints" | "minimumTokens" | "lookbackBlocks">;
	/** The last block that the next pruning will leave as it is; its entry is what stays readable then. */
	readonly frontier?: number;
	/** The last marked block of the request before. */
	readonly previousTail?: number;
	/** The last block worth caching, where a tail follows that changes each time. Default: the last block. */
	readonly tail?: number;
	/** Markers on the last blocks of the system prompt: pi sets two with a subscription login. Default: 1. */
	readonly systemUses?: number;
	/** Default: all the provider allows. */
	readonly budget?: number;
	/** Default: 5m. */
	readonly ttl?: Ttl;
}

/**
 * Where the cache markers of a request go, in the order of its blocks. When there are too few for all:
 * first the tail, which holds everything; then the system prompt; then the tail of the request before, if
 * looking back from the new one would not find it; then the frontier; then the tools, which
 * matter only when the system prompt changes.
 */
export function placeBreakpoints(placement: Placement): Breakpoint[] {
	const { blocks, rules, frontier, previousTail, systemUses = 1, ttl = "5m" } = placement;
	const { tail = blocks.length - 1, budget = rules.maxBreakpoints } = placement;
	const wanted = [tail];
	const system = lastOf("system", blocks);
	for (let back = 0; back < systemUses; back++) {
		if (blocks[system - back]?.part === "system") wanted.push(system - back);
	}
	if (previousTail !== undefined && tail - previousTail > rules.lookbackBlocks) {
		wanted.push(previousTail);
	}
	if (frontier !== undefined) wanted.push(frontier);
	wanted.push(lastOf("tools", blocks));

	const firstLongEnough = firstReaching(rules.minimumTokens, blocks);
	const useful = wanted.filter((after) => after >= firstLongEnough && after <= tail);
	return [...new Set(useful)]
		.slice(0, Math.min(budget, rules.maxBreakpoints))
		.sort((a, b) => a - b)
		.map((after) => ({ after, ttl }));
}

/** Parts stand in their order, and the messages, of which there are many, come last. */
function lastOf(part: "tools" | "system", blocks: readonly Block[]): number {
	let last = -1;
	for (const [at, block] of blocks.entries()) {
		if (block.part === part) last = at;
		else if (block.part === "messages") break;
	}
	return last;
}

/** The first block up to which there are enough tokens for an entry. */
function firstReaching(minimum: number, blocks: readonly Block[]): number {
	let tokens = 0;
	for (const [index, block] of blocks.entries()) {
		tokens += block.tokens;
		if (tokens >= minimum) return index;
	}
	return blocks.length;
}

/** The request of a step with these blocks in it. `frontier`: see `placeBreakpoints`; without it the markers are pi's. */
export function requestOf(step: Step, blocks: readonly Block[], frontier?: number): Request {
	const { atMs, settings, ttl, model } = step;
	const breakpoints = placeBreakpoints({
		blocks,
		rules: model.rules,
		ttl,
		...(frontier !== undefined && { frontier }),
	});
	return { atMs, blocks, breakpoints, settings };
}
