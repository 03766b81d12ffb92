/**
 * What a rewrite may cost so that a session which ends right after it is still no dearer than it would have been, but
 * for a small share. A rewrite pays only over the requests that follow, and nobody knows whether there will be any: so
 * it is paid out of what earlier ones have saved, and out of {@link SHARE} of what was spent. Costs are in plain input
 * tokens.
 */
export interface RewriteCredit {
	/** Takes note of a request: what it cost, and what it would have cost in pi's own form. */
	add(cost: number, costOfPis: number): void;
	/** What may be spent now. */
	left(): number;
}

/** By how much a session may become dearer at worst. Below two percent, for sizes are estimates. */
const SHARE = 0.015;

/** Begins with nothing spent, and so with nothing to spend. */
export function createRewriteCredit(): RewriteCredit {
	let cost = 0;
	let costOfPis = 0;
	return {
		add(own, pis) {
			cost += own;
			costOfPis += pis;
		},
		left: () => (1 + SHARE) * costOfPis - cost,
	};
}
