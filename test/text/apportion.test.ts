import { expect, test } from "vitest";
import { apportioned } from "../../src/text/apportion.ts";
import { fc } from "../support/property.ts";

test("scaled amounts have exactly the given sum, and none is off by 1 or more", () => {
	fc.assert(
		fc.property(
			fc.array(fc.nat(10_000), { minLength: 1, maxLength: 50 }),
			fc.nat(1_000_000),
			(amounts, total) => {
				const sum = amounts.reduce((before, amount) => before + amount, 0);
				fc.pre(sum > 0);
				const scaled = apportioned(amounts, total);
				expect(scaled.reduce((before, amount) => before + amount, 0)).toBe(total);
				for (const [at, amount] of scaled.entries()) {
					expect(Math.abs(amount - ((amounts[at] ?? 0) * total) / sum)).toBeLessThan(1);
				}
			},
		),
	);
});

test("nothing has no parts", () => {
	expect(apportioned([0, 0], 10)).toEqual([0, 0]);
	expect(apportioned([], 10)).toEqual([]);
	expect(apportioned([1, 1, 1], 2)).toEqual([1, 1, 0]);
});
