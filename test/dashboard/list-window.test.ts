import { expect, test } from "vitest";
import { MAX_ROWS, offsetsOf, rowAt, windowOf } from "../../src/dashboard/parts/virtual-list.tsx";
import { fc } from "../support/property.ts";

const heights = fc.array(fc.integer({ min: 1, max: 900 }), { minLength: 1, maxLength: 300 });

test("the row at a height is the one that covers it", () => {
	fc.assert(
		fc.property(heights, fc.nat(100_000), (list, top) => {
			const offsets = offsetsOf(list.length, (index) => list[index] ?? 0);
			const row = rowAt(offsets, top);
			expect(offsets[row]).toBeLessThanOrEqual(top);
			if (row < list.length - 1) expect(offsets[row + 1]).toBeGreaterThan(top);
		}),
	);
});

test("what is in view is drawn, and never more rows than allowed", () => {
	fc.assert(
		fc.property(heights, fc.nat(100_000), (list, top) => {
			const offsets = offsetsOf(list.length, (index) => list[index] ?? 0);
			const view = { top, height: 100, margin: 10 };
			const { from, to } = windowOf(offsets, view);
			expect(to - from).toBeLessThanOrEqual(MAX_ROWS);
			expect(from).toBeLessThanOrEqual(rowAt(offsets, top));
			expect(to).toBeGreaterThan(Math.min(rowAt(offsets, top + 100), from + MAX_ROWS - 1));
		}),
	);
});

test("an empty list draws nothing", () => {
	expect(
		windowOf(
			offsetsOf(0, () => 0),
			{ top: 0, height: 100, margin: 10 },
		),
	).toEqual({ from: 0, to: 0 });
});
