import { expect, test } from "vitest";
import { createPruningHistory } from "../../src/pruning/live.ts";

const PLAN = { why: "pays", rewrittenTokens: 100, rewriteCost: 115 } as const;

test("a history sums up what was freed and what it was worth", () => {
	const history = createPruningHistory();
	for (let atMs = 0; atMs < 60; atMs++) {
		history.noteAction({ ...PLAN, atMs, results: 2, freedTokens: 20 });
	}
	history.noteSaved(10_000);
	const { actions, ...sums } = history.summary();
	expect(sums).toEqual({ results: 120, freedTokens: 1200, saved: 10_000 - 60 * 115 });
	expect(actions.map(({ atMs }) => atMs)).toEqual(Array.from({ length: 50 }, (_, i) => i + 10));
});
