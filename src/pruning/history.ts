import type { Plan } from "./plan.ts";

/** A batch that was pruned, and when. */
export interface Action extends Pick<Plan, "why" | "rewrittenTokens" | "rewriteCost"> {
	readonly results: number;
	readonly freedTokens: number;
	readonly atMs: number;
}

/** What pruning did in a session since this process opened it. */
export interface PruningSummary {
	/** Latest last. */
	readonly actions: readonly Action[];
	readonly results: number;
	readonly freedTokens: number;
	/** In plain input tokens; below zero, it has cost more than it saved. */
	readonly saved: number;
}

/** Keeps count of what pruning did and what it is worth. */
export interface PruningHistory {
	noteAction(action: Action): void;
	/** A request was cheaper by so much, in plain input tokens. */
	noteSaved(saved: number): void;
	summary(): PruningSummary;
}

const MAX_ACTIONS = 50;

/** Makes an empty one. */
export function createPruningHistory(): PruningHistory {
	const actions: Action[] = [];
	let results = 0;
	let freedTokens = 0;
	let saved = 0;
	return {
		noteAction(action) {
			actions.push(action);
			if (actions.length > MAX_ACTIONS) actions.shift();
			results += action.results;
			freedTokens += action.freedTokens;
			saved -= action.rewriteCost;
		},
		noteSaved(more) {
			saved += more;
		},
		summary: () => ({ actions: [...actions], results, freedTokens, saved }),
	};
}
