import { expect, test } from "vitest";
import { runCrashes } from "./crash-run.ts";

const seed = Number(process.env.STRATA_LONG_SEED ?? Date.now() % 1_000_000_000);

test(`a server that is killed again and again does what it acknowledged once (seed ${seed})`, {
	tags: "slow",
}, async () => {
	const report = await runCrashes({ seed, sessions: 4, commands: 75, guests: 15, kills: 5 });
	expect(report.done + report.interrupted).toBe(300);
	expect(report.done).toBeGreaterThan(200);
	expect(report.deaths).toBeGreaterThan(2);
});
