import { describe, expect, test } from "vitest";
import { costsOf, logToBest, rulesAt } from "../../../bench/tiers/compare.ts";
import { log } from "../../../bench/tiers/log-layout.ts";
import { appendAndReread } from "../../../bench/tiers/plain-layouts.ts";
import { generateRequests, WORKLOADS } from "../../../bench/tiers/workload.ts";

/** The benchmark has more turns, more files, all prices and twenty seeds; these take a second or two. */
const QUICK = WORKLOADS.filter(({ turns = 40, files = 12 }) => turns <= 40 && files <= 12);

describe("what the log layout costs", () => {
	test.each(QUICK)("no more than any other layout: $name", { tags: "slow" }, (workload) => {
		for (const readRatio of [0.1, 0.025]) {
			const costs = costsOf(workload, { readRatio, seeds: 3 });
			expect(logToBest(costs).ratio, JSON.stringify(costs)).toBeLessThanOrEqual(1.005);
		}
	});

	test("with an empty working set its requests are exactly those that only append", () => {
		const rules = rulesAt(0.1);
		const session = generateRequests(
			{ name: "empty", files: 0, editsPerTurn: 0, gapSeconds: 120 },
			1,
		);
		const requests = [...log(session, rules)];
		expect(requests).toEqual([...appendAndReread(session, rules)]);
		expect(requests).toHaveLength(40);
	});
});

test("the same seed makes the same session, and another seed another one", () => {
	const [workload] = WORKLOADS;
	if (!workload) throw new Error("there are no workloads");
	expect(generateRequests(workload, 1)).toEqual(generateRequests(workload, 1));
	expect(generateRequests(workload, 1)).not.toEqual(generateRequests(workload, 2));
});
