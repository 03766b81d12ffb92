import type { Thinking } from "../../core/bill.ts";
import { costOf, dollarsOf } from "../cost.ts";
import type { PromptTokens } from "../request.ts";
import { type CacheRules, type ModelInfo, rulesFor } from "../rules.ts";
import { type Answered, diagnoseMiss, type Miss } from "./miss.ts";

/** What the requests of a session have cost so far. Costs are in plain input tokens of their models. */
export interface AccountSummary {
	readonly requests: number;
	readonly tokens: PromptTokens;
	readonly cost: number;
	/** The same prompts without any cache. */
	readonly uncached: number;
	/** The same prompts if nothing had been missed. */
	readonly withoutMisses: number;
	/** Latest last. */
	readonly misses: readonly CostlyMiss[];
	/** Requests with thinking that no longer stood behind what it was made behind. */
	readonly misplaced: MisplacedThinking;
}

/** Such requests by what the provider did, and how many blocks it dropped in the latest of them. */
export interface MisplacedThinking {
	readonly dropped: number;
	readonly allowed: number;
	readonly latestBlocks: number;
}

/** A miss, with what it cost beyond a hit: in plain input tokens, and in dollars where the price is known. */
export interface CostlyMiss extends Miss {
	readonly cost: number;
	readonly dollars?: number;
}

/** Adds up the requests of one session. */
export interface Account {
	/** Takes note of an answered request. Returns the miss, if it was one. */
	add(answered: Answered, model: ModelInfo): CostlyMiss | undefined;
	summary(): AccountSummary;
}

/** Only the latest are kept one by one. */
const MAX_MISSES = 500;

/** Begins an account without requests. */
export function createAccount(): Account {
	let before: Answered | undefined;
	let requests = 0;
	let tokens: PromptTokens = { input: 0, read: 0, write: 0, writeOneHour: 0 };
	let cost = 0;
	let missed = 0;
	const misses: CostlyMiss[] = [];
	let misplaced: MisplacedThinking = { dropped: 0, allowed: 0, latestBlocks: 0 };
	/** Of the last request: a session rarely changes its model. */
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

/** What was missed was written again as far as anything was written, and is plain input for the rest. */
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
