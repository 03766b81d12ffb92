import type { Thinking } from "../../core/bill.ts";
import { costOf, dollarsOf } from "../cost.ts";
import type { PromptTokens } from "../request.ts";
import { type CacheRules, type ModelInfo, rulesFor } from "../rules.ts";
import { type Answered, diagnoseMiss, type Miss } from "./miss.ts";

/** Costs are in plain input tokens of each model. */
export interface AccountSummary {
	readonly requests: number;
	readonly tokens: PromptTokens;
	readonly cost: number;
	readonly uncached: number;
	readonly withoutMisses: number;
	/** Latest last. */
	readonly misses: readonly CostlyMiss[];
	readonly misplaced: MisplacedThinking;
}

/** Requests with thinking whose earlier context changed, and the blocks dropped by the latest. */
export interface MisplacedThinking {
	readonly dropped: number;
	readonly allowed: number;
	readonly latestBlocks: number;
}

/** `cost` is in plain input tokens beyond a hit; `dollars` needs a known price. */
export interface CostlyMiss extends Miss {
	readonly cost: number;
	readonly dollars?: number;
}

export interface Account {
	add(answered: Answered, model: ModelInfo): CostlyMiss | undefined;
	summary(): AccountSummary;
}

/** Older misses are only summed up. */
const MAX_MISSES = 500;

export function createAccount(): Account {
	let before: Answered | undefined;
	let requests = 0;
	let tokens: PromptTokens = { input: 0, read: 0, write: 0, writeOneHour: 0 };
	let cost = 0;
	let missed = 0;
	const misses: CostlyMiss[] = [];
	let misplaced: MisplacedThinking = { dropped: 0, allowed: 0, latestBlocks: 0 };
	/** Cached from the last request: a session rarely changes its model. */
	let known: { model: ModelInfo; rules: CacheRules } | undefined;

	return {
		add(answered, model) {
			if (known?.model !== model) known = { model, rules: rulesFor(model) };
			const { rules } = known;
			const miss = before && diagnoseMiss(before, answered, rules);
			before = answered;
			requests++;
			tokens = sum(tokens, answered.tokens);
			cost += costOf(answered.tokens, rules);
			if (answered.misplaced) misplaced = withRequest(misplaced, answered.misplaced);
			if (!miss) return undefined;
			const costly = priced(miss, answered.tokens, rules, model);
			missed += costly.cost;
			misses.push(costly);
			if (misses.length > MAX_MISSES) misses.shift();
			return costly;
		},
		summary: () => ({
			requests,
			tokens,
			cost,
			uncached: tokens.input + tokens.read + tokens.write,
			withoutMisses: cost - missed,
			misses: [...misses],
			misplaced,
		}),
	};
}

function withRequest(sum: MisplacedThinking, { dropped, allowed }: Thinking): MisplacedThinking {
	return {
		dropped: sum.dropped + (dropped > 0 ? 1 : 0),
		allowed: sum.allowed + (allowed > 0 ? 1 : 0),
		latestBlocks: dropped > 0 ? dropped : sum.latestBlocks,
	};
}

/** Missed tokens are billed as written up to `billed.write`, the rest as plain input. */
function priced(miss: Miss, billed: PromptTokens, rules: CacheRules, model: ModelInfo): CostlyMiss {
	const write = Math.min(miss.tokens, billed.write);
	const writeOneHour = billed.write > 0 ? write * (billed.writeOneHour / billed.write) : 0;
	const input = Math.min(miss.tokens - write, billed.input);
	const hit: PromptTokens = {
		input: billed.input - input,
		read: billed.read + input + write,
		write: billed.write - write,
		writeOneHour: billed.writeOneHour - writeOneHour,
	};
	const cost = costOf(billed, rules) - costOf(hit, rules);
	if (!model.cost?.input) return { ...miss, cost };
	return { ...miss, cost, dollars: dollarsOf(billed, model.cost) - dollarsOf(hit, model.cost) };
}

function sum(one: PromptTokens, other: PromptTokens): PromptTokens {
	return {
		input: one.input + other.input,
		read: one.read + other.read,
		write: one.write + other.write,
		writeOneHour: one.writeOneHour + other.writeOneHour,
	};
}
