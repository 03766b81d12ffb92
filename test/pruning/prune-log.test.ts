import { expect, test } from "vitest";
import { PruneLog } from "../../src/pruning/pruner.ts";

const PLAN = { why: "pays", rewrittenTokens: 100, rewriteCost: 115 } as const;

test("a history sums up what was freed", () => {
	const log = new PruneLog();
	for (let atMs = 0; atMs < 60; atMs++) {
		log.add({ ...PLAN, atMs, results: 2, freedTokens: 20 });
	}
	const { batches, ...sums } = log.summary();
	expect(sums).toEqual({ results: 120, freedTokens: 1200 });
	expect(batches.map(({ atMs }) => atMs)).toEqual(Array.from({ length: 50 }, (_, i) => i + 10));
});
