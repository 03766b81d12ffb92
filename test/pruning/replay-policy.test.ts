import { expect, test } from "vitest";
import { runPolicy } from "../../src/economy/replay/index.ts";
import { appendOnly } from "../../src/economy/replay/policies/append-only.ts";
import { pruningPolicy } from "../../src/pruning/replay-policy.ts";
import { generateSession, workloads } from "../economy/replay/workload.ts";

const pruning = pruningPolicy({ keepRecentTurns: 2, maxToolChars: 1200, adaptive: true });

test.each([0.1, 0.05, 0.025])(
	"at a read price of %s pruning saves on the whole, and makes no session dearer by two percent",
	(readRatio) => {
		const ratios = workloads(readRatio).map((workload) => {
			const session = generateSession(workload);
			const before = runPolicy(appendOnly, session);
			const after = runPolicy(pruning, session);
			expect(after.maxContext).toBeLessThanOrEqual(before.maxContext);
			return after.cost / before.cost;
		});
		expect(Math.max(...ratios)).toBeLessThanOrEqual(1.02);
		expect(ratios.reduce((sum, ratio) => sum + ratio, 0) / ratios.length).toBeLessThan(0.95);
	},
	30_000,
);
