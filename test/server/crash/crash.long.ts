import { expect, test } from "vitest";
import { startServe } from "../support/serve-process.ts";
import { type CrashReport, runCrashes } from "./crash-run.ts";
import type { Moment } from "./fate.ts";

const STEPS = Number(process.env.STRATA_LONG_STEPS ?? 40_000);
const first = Number(process.env.STRATA_LONG_SEED ?? Date.now() % 1_000_000_000);
const STEPS_PER_KILL = 40;
const KILLS = Math.floor(STEPS / STEPS_PER_KILL);
/** Commands under one seed, in a server of its own. */
const STEPS_PER_SEED = 2_000;
const SESSIONS = 6;
/** Servers at a time. A start takes a core. */
const LANES = 2;

test(`nothing acknowledged is lost or doubled over ${STEPS} commands and ${KILLS} kills`, async () => {
	await fillCompileCache();
	const from = performance.now();
	const reports: CrashReport[] = [];
	const deaths = new Map<Moment, number>();
	const seeds = Array.from({ length: Math.ceil(STEPS / STEPS_PER_SEED) }, (_, at) => first + at);
	const left = seeds.entries();
	await Promise.all(Array.from({ length: LANES }, runSeeds));
	const sum = (key: keyof CrashReport) => reports.reduce((total, report) => total + report[key], 0);
	console.log(
		`${progress()}: ${sum("done")} commands done and ${sum("interrupted")} interrupted ` +
			`by ${sum("deaths")} kills; ${sum("events")} events`,
	);
	expect(sum("done")).toBeGreaterThan(sum("interrupted"));
	expect(sum("deaths")).toBeGreaterThanOrEqual(KILLS);

	async function runSeeds(): Promise<void> {
		for (const [at, seed] of left) {
			const steps = Math.min(STEPS_PER_SEED, STEPS - at * STEPS_PER_SEED);
			reports.push(
				await runCrashes({
					seed,
					sessions: SESSIONS,
					commands: Math.ceil(steps / SESSIONS),
					guests: Math.ceil(steps / 20),
					kills: Math.ceil(steps / STEPS_PER_KILL),
					onDeath,
				}),
			);
		}
	}

	function onDeath(moment: Moment): void {
		deaths.set(moment, (deaths.get(moment) ?? 0) + 1);
		if (killed() % 25 === 0) console.log(progress());
	}

	function killed(): number {
		return [...deaths.values()].reduce((total, count) => total + count, 0);
	}

	function progress(): string {
		const minutes = ((performance.now() - from) / 60_000).toFixed(1);
		const at = [...deaths].map(([moment, count]) => `${moment} ${count}`);
		return (
			`seeds ${first} to ${seeds.at(-1)}, ${reports.length} of ${seeds.length} judged in ${minutes} min, ` +
			`${killed()} of ${KILLS} kills (${at.join(", ")})`
		);
	}
});

/** A killed process writes nothing to Node's compile cache, so one that ends in order goes first. */
async function fillCompileCache(): Promise<void> {
	const server = startServe(["--port", "0", "--auth", "none", "--json"]);
	await server.ready();
	server.child.kill("SIGTERM");
	await server.exited;
}
