import { expect, test } from "vitest";
import { inspect } from "../support/inspected-server.ts";
import { sendSpoiledFrames } from "./frames-run.ts";
import { startHostileServer } from "./hostile-server.ts";

const STEPS = Number(process.env.STRATA_LONG_STEPS ?? 50_000);
const first = Number(process.env.STRATA_LONG_SEED ?? Date.now() % 1_000_000_000);
const STEPS_PER_SEED = 2_500;
/** The server remembers the outcomes of some ten thousand commands: so many have to come first. */
const WARMUP = 12_500;

test(`${STEPS} spoiled frames leave the server as it was`, async () => {
	const server = await startHostileServer();
	const holdings = await inspect(server.process);
	await attack(WARMUP, first - WARMUP);
	const before = await holdings();
	await attack(STEPS, first);
	const after = await holdings();
	const grown = (what: "heapBytes" | "residentBytes") => (after[what] - before[what]) / 2 ** 20;
	console.log(
		`seeds from ${first}: heap grown by ${grown("heapBytes").toFixed(1)} MB, ` +
			`in all by ${grown("residentBytes").toFixed(1)} MB; ${after.handles} handles, before ${before.handles}`,
	);
	expect(grown("heapBytes")).toBeLessThan(10);
	// Garbage stays for as long as nobody else needs the memory, which here is plenty.
	expect(grown("residentBytes")).toBeLessThan(250);
	await server.stop();

	async function attack(frames: number, firstSeed: number): Promise<void> {
		for (let done = 0, seed = firstSeed; done < frames; done += STEPS_PER_SEED, seed++) {
			const count = Math.min(STEPS_PER_SEED, frames - done);
			const { answered, closed } = await sendSpoiledFrames(server, { seed, count });
			expect(answered + closed).toBe(count);
			await server.bystanderGoesOn();
		}
	}
});
