import type { Plan } from "./plan.ts";

/** A batch that was pruned. */
export interface Action {
	readonly atMs: number;
	readonly why: Plan["why"];
	readonly results: number;
	readonly freedTokens: number;
	/** Tokens that the provider had to write again because of it. */
	readonly rewrittenTokens: number;
}

/** What pruning did in a session so far. Money is in plain input tokens: below zero, it has cost more than it saved. */
export interface PruningSummary {
	/** Latest last. */
	readonly actions: readonly Action[];
	readonly results: number;
	readonly freedTokens: number;
	readonly saved: number;
}

/** Keeps count of what pruning did and what it is worth. */
export interface PruningHistory {
	noteAction(action: Action, prices: Prices): void;
	/** Every request is smaller by what was freed before it. */
	noteRequest(prices: Prices): void;
	summary(): PruningSummary;
}

/** Of one token, in plain input tokens. */
export interface Prices {
	readonly readRatio: number;
	readonly writeRatio: number;
}

const MAX_ACTIONS = 50;

export function createPruningHistory(): PruningHistory {
	const actions: Action[] = [];
	let results = 0;
	let freedTokens = 0;
	let saved = 0;
	return {
		noteAction(action, { readRatio, writeRatio }) {
			actions.push(action);
			if (actions.length > MAX_ACTIONS) actions.shift();
			results += action.results;
			freedTokens += action.freedTokens;
			saved -= action.rewrittenTokens * (writeRatio - readRatio);
		},
		noteRequest({ readRatio }) {
			saved += freedTokens * readRatio;
		},
		summary: () => ({ actions: [...actions], results, freedTokens, saved }),
	};
}
