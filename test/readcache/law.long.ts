import { expect, test } from "vitest";
import { addUp, type LawReport, runLaw, sharesOf } from "./law.ts";

const STEPS = Number(process.env.STRATA_LONG_STEPS ?? 100_000);
/** Steps under one seed: small enough that a failing run is soon run again. */
const STEPS_PER_SEED = 2000;

test(`the law of the read cache holds over ${STEPS} random steps`, async () => {
	const first = Number(process.env.STRATA_LONG_SEED ?? Date.now() % 1_000_000_000);
	const reports: LawReport[] = [];
	for (let done = 0, seed = first; done < STEPS; done += STEPS_PER_SEED, seed++) {
		reports.push(await runLaw({ seed, steps: Math.min(STEPS_PER_SEED, STEPS - done) }));
	}
	const { steps, reads, answers, pruned, paged, guarded, seconds } = addUp(reports);
	const counts = Object.entries(answers).map(([kind, count]) => `  ${count} ${kind}`);
	console.log(
		`seeds ${first} to ${first + reports.length - 1}: ${steps} steps, ${reads} reads, ${paged} chunks of paging and ${pruned} prunings in ${seconds.toFixed(0)} s\n${counts.join("\n")}`,
	);
	expect(pruned).toBeGreaterThan(STEPS / 50);
	expect(paged).toBeGreaterThan(STEPS / 50);
	expect(guarded).toBeGreaterThan(STEPS / 100);
	for (const share of Object.values(sharesOf(addUp(reports)))) expect(share).toBeGreaterThan(0.03);
});
