import { expect, test } from "vitest";
import { findMissedCompaction } from "../../../src/economy/replay/compaction.ts";
import { generateSession, PLAIN } from "./workload.ts";

test("a long session would have paid for a compaction, and the report says when", () => {
	const session = generateSession({ ...PLAIN, turns: 20 });
	const found = findMissedCompaction(session);
	expect(found?.saved).toBeGreaterThan(2 * (found?.cost ?? 0));
	expect(found?.request).toBeGreaterThan(1);
	expect(found?.request).toBeLessThan(session.bills.length);
});

test("its figures are those of the prices: a read less in each later request, for a summary and a new prompt", () => {
	const session = generateSession({ ...PLAIN, turns: 20 });
	const found = findMissedCompaction(session);
	const step = [...session.steps()][(found?.request ?? 0) - 1];
	const tokens = step?.blocks.reduce((sum, block) => sum + block.tokens, 0) ?? 0;
	const later = session.bills.length - (found?.request ?? 0) + 1;
	expect(found?.tokens).toBe(tokens);
	expect(found?.cost).toBeCloseTo(0.1 * tokens + 5 * 2000 + 1.15 * 22_000);
	expect(found?.saved).toBeCloseTo(0.1 * later * (tokens - 10_000 - 22_000));
});

test("a short session would not, nor one that is compacted often", () => {
	expect(findMissedCompaction(generateSession({ ...PLAIN, turns: 2 }))).toBeUndefined();
	const often = generateSession({ ...PLAIN, turns: 20, compactAt: 60_000 });
	expect(findMissedCompaction(often)).toBeUndefined();
});
