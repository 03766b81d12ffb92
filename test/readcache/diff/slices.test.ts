import { describe, expect, test } from "vitest";
import { runAtOnce, runInSlices, type Steps } from "../../../src/readcache/diff/slices.ts";

function* work(steps: number, units: number, onStep?: (step: number) => void): Steps<string> {
	for (let step = 0; step < steps; step++) {
		onStep?.(step);
		yield units;
	}
	return "done";
}

describe("running work in slices", () => {
	test("the event loop gets turns while large work is going on", async () => {
		let turns = 0;
		let running = true;
		const turn = () => {
			turns++;
			if (running) setImmediate(turn);
		};
		setImmediate(turn);
		expect(await runInSlices(work(10, 2_000_000))).toBe("done");
		running = false;
		expect(turns).toBeGreaterThanOrEqual(9);
	});

	test("an abort during a pause stops the work with pi's own words", async () => {
		const controller = new AbortController();
		let lastStep = 0;
		const steps = work(1000, 2_000_000, (step) => {
			lastStep = step;
		});
		setImmediate(() => controller.abort());
		await expect(runInSlices(steps, controller.signal)).rejects.toThrow(/^Operation aborted$/);
		expect(lastStep).toBeLessThan(10);
	});

	test("an abort by the work itself is noticed at its next step", async () => {
		const controller = new AbortController();
		let lastStep = 0;
		const steps = work(1000, 1, (step) => {
			lastStep = step;
			if (step === 3) controller.abort();
		});
		await expect(runInSlices(steps, controller.signal)).rejects.toThrow("Operation aborted");
		expect(lastStep).toBe(3);
	});

	test("work with a signal that is already aborted never begins", async () => {
		let begun = false;
		const steps = work(1, 1, () => {
			begun = true;
		});
		await expect(runInSlices(steps, AbortSignal.abort())).rejects.toThrow("Operation aborted");
		expect(begun).toBe(false);
	});

	test("run at once, the same work gives the same result", () => {
		expect(runAtOnce(work(10, 2_000_000))).toBe("done");
	});
});
