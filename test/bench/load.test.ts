import { expect, test } from "vitest";
import { busyReason, measureLoad } from "../../bench/runner/load.ts";

test.each([
	[{ average: 0.5, now: 0.25 }, true, undefined],
	[{ average: 0.51, now: 0 }, true, "its load average is 0.51 per processor, more than 0.5"],
	// After the first benchmark, the average is that of the benchmarks.
	[{ average: 2, now: 0 }, false, undefined],
	[{ average: 0, now: 0.26 }, false, "26 % of its processors are in use"],
])("%j, first: %j: %s", (load, isFirst, reason) => {
	if (reason === undefined) expect(busyReason(load, isFirst)).toBeUndefined();
	else expect(busyReason(load, isFirst)).toContain(reason);
});

test("of this machine it is a share", { tags: "slow" }, async () => {
	const { average, now } = await measureLoad();
	expect(average).toBeGreaterThanOrEqual(0);
	expect(now).toBeGreaterThanOrEqual(0);
	expect(now).toBeLessThanOrEqual(1);
});
