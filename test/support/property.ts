import fc from "fast-check";

/**
 * Share of a property's runs, by vitest.config.ts: a fifth in `npm test`, all in `npm run test:full`. STRATA_RUNS=10
 * looks ten times as long for a counterexample.
 */
const SHARE = shareOf(process.env.STRATA_RUNS ?? "1");

/** Runs of one property, from the number in `npm run test:full`. */
export function runs(full: number): number {
	return Math.max(1, Math.ceil(full * SHARE));
}

function shareOf(text: string): number {
	const share = Number(text);
	if (!(share > 0 && share <= 10_000)) {
		throw new Error(`STRATA_RUNS is "${text}": give a number above 0, such as 1 or 0.2`);
	}
	return share;
}

/** The same cases in every run of the suite, so that a failure comes from a change. A longer look takes new ones. */
const SEED = SHARE > 1 ? {} : { seed: 1 };

// For properties that name no number.
fc.configureGlobal({ numRuns: runs(100), ...SEED });

export { fc };
