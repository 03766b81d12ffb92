import type { Ttl } from "../core/bill.ts";
import {
	type Block,
	type Breakpoint,
	lookbackStart,
	type ModelRequest,
	type Part,
} from "./model-request.ts";
import type { Step } from "./replay/requests.ts";
import type { CacheRules } from "./rules.ts";

/** Indices refer to `blocks`; an index outside the request is ignored. */
export interface Placement {
	readonly blocks: readonly Block[];
	readonly rules: Pick<CacheRules, "maxBreakpoints" | "minimumTokens" | "lookbackPositions">;
	/** The last block before the next pruning's first change: its cache entry stays readable. */
	readonly frontier?: number | undefined;
	readonly previousTail?: number;
	/** The last block worth caching, if volatile blocks follow. Default: the last block. */
	readonly tail?: number;
	/** Default: 5m. */
	readonly ttl?: Ttl;
}

/**
 * Returns breakpoints in block order. Priority if the provider allows fewer: the tail, which
 * covers everything; the system prompt; the previous tail, if the lookback would not reach it; the
 * frontier; the tools, which matter only when the system prompt changes.
 */
export function placeBreakpoints(placement: Placement): Breakpoint[] {
	const { blocks, rules, frontier = -1, previousTail = -1, ttl = "5m" } = placement;
	const { tail = blocks.length - 1 } = placement;
	// Only tools and system prompt are searched, since the messages come last and are many.
	const end = blocks.findIndex(({ part }) => part === "messages");
	const head = end < 0 ? blocks : blocks.slice(0, end);
	const lastOf = (wanted: Part) => head.findLastIndex(({ part }) => part === wanted);
	const wanted = [tail, lastOf("system")];
	if (previousTail < lookbackStart(blocks, tail, rules.lookbackPositions)) {
		wanted.push(previousTail);
	}
	wanted.push(frontier, lastOf("tools"));

	const firstLongEnough = firstReaching(rules.minimumTokens, blocks);
	const useful = wanted.filter((after) => after >= firstLongEnough && after <= tail);
	return [...new Set(useful)]
		.slice(0, rules.maxBreakpoints)
		.sort((a, b) => a - b)
		.map((after) => ({ after, ttl }));
}

function firstReaching(minimum: number, blocks: readonly Block[]): number {
	let tokens = 0;
	for (const [index, block] of blocks.entries()) {
		tokens += block.tokens;
		if (tokens >= minimum) return index;
	}
	return blocks.length;
}

/** Without `frontier`, the request has the breakpoints that pi sets, or ends where the agent set its last one. */
export function requestForStep(
	{ atMs, settings, ttl, behindMarker = 0, model, warmBlocks, keptAlive }: Step,
	blocks: readonly Block[],
	frontier?: number,
): ModelRequest {
	const tail = blocks.length - 1 - behindMarker;
	const breakpoints = placeBreakpoints({ blocks, rules: model.rules, ttl, frontier, tail });
	return { atMs, blocks, breakpoints, settings, warmBlocks, keptAlive };
}
