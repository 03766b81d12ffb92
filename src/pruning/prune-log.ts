import type { Plan } from "../economy/rewrite-plan.ts";

/** `hand`: the user wanted it. */
export type BatchPlan = Pick<Plan, "rewrittenTokens" | "rewriteCost"> & {
	readonly why: Plan["why"] | "hand";
};

export interface PrunedBatch extends BatchPlan {
	readonly results: number;
	readonly freedTokens: number;
	readonly atMs: number;
}

/** Totals since this process opened the session. */
export interface PruningSummary {
	/** The latest batches, newest last. */
	readonly batches: readonly PrunedBatch[];
	readonly results: number;
	readonly freedTokens: number;
	/** In plain input tokens; negative if pruning cost more than it saved. */
	readonly saved: number;
}

/** Maximum number of stored batches. Older batches are evicted, but the sums include them. */
const MAX_BATCHES = 50;

export class PruneLog {
	readonly #batches: PrunedBatch[] = [];
	#results = 0;
	#freedTokens = 0;
	#saved = 0;

	add(batch: PrunedBatch): void {
		this.#batches.push(batch);
		if (this.#batches.length > MAX_BATCHES) this.#batches.shift();
		this.#results += batch.results;
		this.#freedTokens += batch.freedTokens;
		this.#saved -= batch.rewriteCost;
	}

	/** In plain input tokens. */
	addSavings(tokens: number): void {
		this.#saved += tokens;
	}

	summary(): PruningSummary {
		return {
			batches: [...this.#batches],
			results: this.#results,
			freedTokens: this.#freedTokens,
			saved: this.#saved,
		};
	}
}
