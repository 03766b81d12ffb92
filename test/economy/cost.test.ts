import { describe, expect, test } from "vitest";
import { costOf, dollarsOf, rulesFor } from "../../src/economy/rules.ts";

const rules = rulesFor({ provider: "anthropic", id: "claude-sonnet-4-5" });

describe("cost", () => {
	test("in plain input tokens: 1 for input, 0.1 for a read, 1.25 and 2 for writes", () => {
		expect(costOf({ input: 100, read: 0, write: 0, writeOneHour: 0 }, rules)).toBe(100);
		// 7 + 1000 × 0.1 + 100 × 1.25 + 300 × 2
		expect(costOf({ input: 7, read: 1000, write: 400, writeOneHour: 300 }, rules)).toBe(832);
	});

	test("in dollars, a write for the long lifetime costs what the model's rules say", () => {
		const cost = { input: 4, output: 20, cacheRead: 0.4, cacheWrite: 5 };
		const long = { input: 0, read: 0, write: 1000, writeOneHour: 1000 };
		const dollars = (id: string) => dollarsOf(long, cost, rulesFor({ provider: "any", id, cost }));
		expect(dollars("gpt-5.6-sol")).toBeCloseTo((1000 * 5) / 1e6, 12);
		expect(dollars("claude-opus-5")).toBeCloseTo((1000 * 8) / 1e6, 12);
	});

	test("in dollars, by the price of the highest tier that the prompt exceeds", () => {
		const cost = {
			input: 2,
			output: 10,
			cacheRead: 0.2,
			cacheWrite: 0,
			tiers: [
				{ inputTokensAbove: 1000, input: 4, output: 20, cacheRead: 0.4, cacheWrite: 0 },
				{ inputTokensAbove: 500, input: 3, output: 15, cacheRead: 0.3, cacheWrite: 0 },
			],
		};
		const prompt = (input: number, read: number) => ({ input, read, write: 0, writeOneHour: 0 });
		expect(dollarsOf(prompt(100, 400), cost)).toBeCloseTo((100 * 2 + 400 * 0.2) / 1e6, 12);
		expect(dollarsOf(prompt(101, 400), cost)).toBeCloseTo((101 * 3 + 400 * 0.3) / 1e6, 12);
		expect(dollarsOf({ ...prompt(1001, 0), output: 10 }, cost)).toBeCloseTo(
			(1001 * 4 + 200) / 1e6,
			12,
		);
	});
});
