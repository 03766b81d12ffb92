import { expect, test } from "vitest";
import { growth, runChurn } from "./churn-run.ts";

const MEGABYTE = 2 ** 20;
const SESSIONS = Number(process.env.STRATA_LONG_STEPS ?? 3_000);
const SESSIONS_PER_ROUND = 100;
/** The server remembers the outcomes of some ten thousand commands: so many have to come first. */
const WARMUP = 15;

test(`after ${SESSIONS} sessions and twice as many connections memory and handles are what they were`, async () => {
	const rounds = Math.max(9, Math.ceil(SESSIONS / SESSIONS_PER_ROUND));
	const held = await runChurn({
		warmup: WARMUP,
		rounds,
		sessions: SESSIONS_PER_ROUND,
		connections: 2 * SESSIONS_PER_ROUND,
	});
	const heaps = held.map(({ heapBytes }) => (heapBytes / MEGABYTE).toFixed(1));
	console.log(
		`heap in MB: ${heaps.join(" ")}; handles: ${held.map((one) => one.handles).join(" ")}`,
	);
	expect(growth(held, "handles")).toBeLessThanOrEqual(2);
	expect(growth(held, "heapBytes")).toBeLessThan(3 * MEGABYTE);
	expect(growth(held, "residentBytes")).toBeLessThan(60 * MEGABYTE);
});
