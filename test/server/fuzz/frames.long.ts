import { expect, test } from "vitest";
import { sendSpoiledFrames } from "./frames-run.ts";
import { startHostileServer } from "./hostile-server.ts";

const STEPS = Number(process.env.STRATA_LONG_STEPS ?? 50_000);
const first = Number(process.env.STRATA_LONG_SEED ?? Date.now() % 1_000_000_000);
const STEPS_PER_SEED = 2_500;

test(`${STEPS} spoiled frames leave the server as it was`, async () => {
	const server = await startHostileServer();
	await sendSpoiledFrames(server, { seed: first - 1, count: STEPS_PER_SEED });
	const before = await server.residentBytes();
	for (let done = 0, seed = first; done < STEPS; done += STEPS_PER_SEED, seed++) {
		const count = Math.min(STEPS_PER_SEED, STEPS - done);
		const { answered, closed } = await sendSpoiledFrames(server, { seed, count });
		expect(answered + closed).toBe(count);
		await server.bystanderGoesOn();
	}
	const grownMegabytes = ((await server.residentBytes()) - before) / 2 ** 20;
	console.log(`seeds from ${first}: grown by ${grownMegabytes.toFixed(1)} MB`);
	expect(grownMegabytes).toBeLessThan(100);
	await server.stop();
});
