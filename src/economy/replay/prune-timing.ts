import { isCold } from "../is-cold.ts";
import { createRewriteCredit } from "../rewrite-credit.ts";
import { shouldPrune } from "../should-prune.ts";
import type { SessionBlock } from "./assembly.ts";
import { freedBy } from "./pruned-results.ts";
import type { Step } from "./requests.ts";

/** Decides for each request of a session whether old results go now. One per replay. */
export interface PruneTiming {
	/** Whether to prune `candidates`, some of the `blocks` that are about to be sent. */
	isNow(step: Step, blocks: readonly SessionBlock[], candidates: readonly SessionBlock[]): boolean;
	/** To be told what was sent in the end. */
	sent(step: Step, blocks: readonly SessionBlock[]): void;
}

export function createPruneTiming(): PruneTiming {
	const growth = createGrowth();
	const credit = createRewriteCredit();
	let before: { step: Step; tokens: number } | undefined;
	/** What the decision for the request at hand costs. */
	let rewriteCost = 0;

	return { isNow, sent };

	function isNow(
		step: Step,
		blocks: readonly SessionBlock[],
		candidates: readonly SessionBlock[],
	): boolean {
		const prunableTokens = freedBy(candidates);
		const tokensAfterFirst = tokensBehind(blocks, candidates[0]) - prunableTokens;
		const cold = isColdNow(step);
		const { prune, why } = shouldPrune({
			prunableTokens,
			tokensAfterFirst,
			growthPerRequest: growth.next(prunableTokens),
			rules: step.model.rules,
			cold,
			contextTokens: tokensOf(blocks),
			contextWindow: step.model.contextWindow ?? Number.MAX_SAFE_INTEGER,
			ttl: step.ttl,
		});
		const cost = cold
			? 0
			: Math.max(0, writeRatioOf(step) - step.model.rules.readRatio) * tokensAfterFirst;
		const isPruned = prune && (why !== "pays" || cost <= credit.left());
		rewriteCost = isPruned ? cost : 0;
		if (isPruned) growth.startOver();
		return isPruned;
	}

	function sent(step: Step, blocks: readonly SessionBlock[]): void {
		const pis = tokensOf(step.blocks);
		const fresh = before && !isColdNow(step) ? Math.max(0, pis - before.tokens) : pis;
		const costOf = (tokens: number) =>
			Math.max(0, tokens - fresh) * step.model.rules.readRatio +
			Math.min(tokens, fresh) * writeRatioOf(step);
		credit.add(costOf(tokensOf(blocks)) + rewriteCost, costOf(pis));
		before = { step, tokens: pis };
	}

	function isColdNow(step: Step): boolean {
		if (!before) return true;
		const { ttlMs, invalidates } = step.model.rules;
		return isCold({
			gapMs: step.atMs - before.step.atMs,
			ttlMs: ttlMs[before.step.ttl],
			modelChanged: step.changes.has("model"),
			// The conversation stands behind both.
			toolsChanged: step.changes.has("tools") || step.changes.has("system"),
			thinkingChanged: invalidates.thinking !== undefined && step.changes.has("thinking"),
			compacted: step.changes.has("compaction"),
			branched: step.changes.has("branch"),
		}).cold;
	}
}

/** How much the latest request counts in the average growth. */
const NEWEST_WEIGHT = 0.05;

/** By how much the prunable part grows from request to request: an average in which the newest counts most. */
function createGrowth() {
	let last = 0;
	let seen = 0;
	let average = 0;
	return {
		next(prunableTokens: number): number {
			const grown = Math.max(0, prunableTokens - last);
			last = prunableTokens;
			seen++;
			// A plain mean until there are enough requests for the weight.
			average += (grown - average) * Math.max(NEWEST_WEIGHT, 1 / seen);
			return average;
		},
		startOver(): void {
			last = 0;
		},
	};
}

function writeRatioOf({ model, ttl }: Step): number {
	return ttl === "1h" ? model.rules.writeOneHourRatio : model.rules.writeRatio;
}

function tokensBehind(blocks: readonly SessionBlock[], first: SessionBlock | undefined): number {
	return first ? tokensOf(blocks.slice(blocks.indexOf(first))) : 0;
}

function tokensOf(blocks: readonly SessionBlock[]): number {
	return blocks.reduce((sum, { tokens }) => sum + tokens, 0);
}
