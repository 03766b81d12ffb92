import { describe, expect, test } from "vitest";
import type { Safeguard } from "../../../src/server/safeguards.ts";
import { postgresPrograms, withPostgres } from "../../support/postgres.ts";
import { FAULTS, type Fault, runCluster } from "./cluster-run.ts";
import { faultsIn } from "./history.ts";

const seeds = Number(process.env.STRATA_LONG_STEPS ?? 20);
const first = Number(process.env.STRATA_LONG_SEED ?? Date.now() % 1_000_000_000);
const SEEDS_WITHOUT = 5;

/** So many runs meet every fault. */
const ALL_MET = 10;

describe(withPostgres("three servers on one database"), () => {
	const met = new Set<Fault>();
	const all = Array.from({ length: seeds }, (_, index) => first + index);

	test.runIf(postgresPrograms).each(all)("keep their promises (seed %i)", async (seed) => {
		const { history, faults, complaints } = await runCluster({ seed, ms: 20_000 });
		for (const fault of faults) met.add(fault);
		expect(faultsIn(history), complaints).toEqual([]);
	});

	// Each is met with a probability of a tenth or so, and a run has about thirty.
	test.runIf(postgresPrograms && seeds >= ALL_MET)("met every fault", () => {
		expect([...met].sort()).toEqual(FAULTS.map(([, fault]) => fault).sort());
	});

	/** A checker that never fails proves nothing. Faults that show the missing part soonest. */
	const mutants: readonly [Safeguard, readonly (readonly [number, Fault])[]][] = [
		["fence", [[1, "long stop"]]],
		[
			"interruption",
			[
				[2, "kill"],
				[1, "none"],
			],
		],
		[
			"guard",
			[
				[1, "kill"],
				[1, "long stop"],
			],
		],
		["send-after-commit", [[1, "hang and kill"]]],
	];

	test.runIf(postgresPrograms).for(mutants)(
		"the same run fails without %s",
		async ([without, faults], { annotate }) => {
			const found: string[] = [];
			for (let seed = first; seed < first + SEEDS_WITHOUT && found.length === 0; seed++) {
				const { history } = await runCluster({ seed, ms: 20_000, without, faults });
				found.push(...faultsIn(history));
				await annotate(`seed ${seed}: ${found[0] ?? "nothing found"}`);
			}
			expect(found).not.toEqual([]);
		},
	);
});
