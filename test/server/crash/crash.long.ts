import { expect, test } from "vitest";
import { type CrashReport, runCrashes } from "./crash-run.ts";

const STEPS = Number(process.env.STRATA_LONG_STEPS ?? 6_000);
const first = Number(process.env.STRATA_LONG_SEED ?? Date.now() % 1_000_000_000);
/** Commands under one seed, in a server of its own. */
const STEPS_PER_SEED = 2_000;
const SESSIONS = 8;

test(`nothing acknowledged is lost or doubled over ${STEPS} commands and random kills`, async () => {
	const reports: CrashReport[] = [];
	for (let done = 0, seed = first; done < STEPS; done += STEPS_PER_SEED, seed++) {
		const commands = Math.ceil(Math.min(STEPS_PER_SEED, STEPS - done) / SESSIONS);
		reports.push(await runCrashes({ seed, sessions: SESSIONS, commands, guests: 100, kills: 30 }));
	}
	const sum = (key: keyof CrashReport) => reports.reduce((total, report) => total + report[key], 0);
	console.log(
		`seeds ${first} to ${first + reports.length - 1}: ${sum("done")} commands done and ` +
			`${sum("interrupted")} interrupted by ${sum("deaths")} kills; ${sum("events")} events`,
	);
	expect(sum("done")).toBeGreaterThan(sum("interrupted"));
});
