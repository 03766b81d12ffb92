import type { Ttl } from "../core/bill.ts";
import { type CacheRules, type ModelPrices, writeRatioFor } from "./rules.ts";

/** A compaction that the session did not make. Costs are in plain input tokens. */
export interface MissedCompaction {
	/** Number of the request before which it pays most, from 1. */
	readonly request: number;
	/** Size of that request's prompt. */
	readonly tokens: number;
	/** Of the request that summarises, its answer, and writing the new prompt. */
	readonly cost: number;
	/** What the later requests, up to the next compaction, would not have read. */
	readonly saved: number;
}

/** As pi compacts: the newest messages stay, and a summary stands for the others. */
export const KEPT_TOKENS = 20_000;
export const SUMMARY_TOKENS = 2_000;

/** The price of an answered token, relative to input, if no price list states it. */
const ANSWER_RATIO = 5;

interface PricedRequest {
	/** Its number in the session, from 1. */
	readonly request: number;
	/** Size of its prompt. */
	readonly tokens: number;
	/** The part of the prompt that a compaction leaves: tools and system prompt. */
	readonly head: number;
	readonly rules: CacheRules;
	readonly prices: ModelPrices | undefined;
	readonly ttl: Ttl;
	/** Whether it does not continue the request before it: after a compaction, or on another branch. */
	readonly startsOver: boolean;
}

interface Moment extends Pick<MissedCompaction, "request" | "tokens" | "cost"> {
	/** Tokens that each later request would not have had. */
	readonly removed: number;
	/** The sum of read prices of all requests before it. */
	readonly readsBefore: number;
}

/**
 * Finds the compaction that would have saved most. Counts only reads that become smaller, at the price of cached
 * ones. Pauses make a compaction pay more; files that are read again make it pay less.
 */
export class CompactionSearch {
	#best: MissedCompaction | undefined;
	#moments: Moment[] = [];
	#reads = 0;

	add(request: PricedRequest): void {
		if (request.startsOver) {
			this.#best = this.best();
			this.#moments = [];
		}
		const moment = momentOf(request, this.#reads);
		if (moment) this.#moments.push(moment);
		this.#reads += request.rules.readRatio;
	}

	/** By the requests so far; `undefined` if none would have paid. */
	best(): MissedCompaction | undefined {
		let best = this.#best;
		for (const { readsBefore, removed, ...moment } of this.#moments) {
			const saved = removed * (this.#reads - readsBefore);
			if (saved - moment.cost > (best ? best.saved - best.cost : 0)) best = { ...moment, saved };
		}
		return best;
	}
}

function momentOf(request: PricedRequest, readsBefore: number): Moment | undefined {
	const { tokens, head, rules, prices, ttl } = request;
	const removed = tokens - head - KEPT_TOKENS - SUMMARY_TOKENS;
	if (removed <= 0) return undefined;
	const answerRatio = prices?.input ? prices.output / prices.input : ANSWER_RATIO;
	const premium = writeRatioFor(ttl, rules) - rules.readRatio;
	const cost =
		tokens * rules.readRatio +
		SUMMARY_TOKENS * answerRatio +
		(KEPT_TOKENS + SUMMARY_TOKENS) * Math.max(0, premium);
	return { request: request.request, tokens, cost, removed, readsBefore };
}
