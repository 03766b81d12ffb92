import { describe, expect, test } from "vitest";
import { createRewriteCredit } from "../../src/economy/index.ts";

describe("the credit for rewrites", () => {
	test("is nothing before anything was spent", () => {
		expect(createRewriteCredit().left()).toBe(0);
	});

	test("is a small share of what pi's own requests would have cost", () => {
		const credit = createRewriteCredit();
		credit.add(1_000_000, 1_000_000);
		expect(credit.left()).toBeGreaterThan(0);
		expect(credit.left()).toBeLessThanOrEqual(20_000);
	});

	test("grows with what was saved, and shrinks with what rewrites cost", () => {
		const credit = createRewriteCredit();
		credit.add(600_000, 1_000_000);
		const saved = credit.left();
		expect(saved).toBeGreaterThan(400_000);
		credit.add(250_000, 100_000);
		expect(credit.left()).toBeLessThan(saved - 148_000);
	});
});
