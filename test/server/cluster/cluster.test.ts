import { describe, expect, test } from "vitest";
import { postgresPrograms, withPostgres } from "../../support/postgres.ts";
import { runCluster } from "./cluster-run.ts";
import { faultsIn } from "./history.ts";

const seed = Number(process.env.STRATA_LONG_SEED ?? Date.now() % 1_000_000_000);

describe(withPostgres("three servers on one database"), () => {
	test.runIf(postgresPrograms)(
		`do what they acknowledge once, whatever is killed, paused, cut off or late (seed ${seed})`,
		{ tags: "slow" },
		async () => {
			const { history, faults, complaints } = await runCluster({ seed, ms: 10_000 });
			expect(faultsIn(history), complaints).toEqual([]);
			expect(history.commands.length).toBeGreaterThan(10);
			expect(history.events.length).toBeGreaterThan(10);
			expect(faults.length).toBeGreaterThan(5);
		},
	);
});
