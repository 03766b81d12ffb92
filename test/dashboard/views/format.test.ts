import { expect, test } from "vitest";
import {
	formatDifference,
	formatLatency,
	formatNumberOf,
	formatPrice,
	formatShare,
} from "../../../src/dashboard/parts/figures.ts";

test("a price without dollars is told in tokens", () => {
	expect(formatPrice({ tokens: 12_000 })).toBe("12k tokens");
	expect(formatPrice({ tokens: 12_000, dollars: 1.25 })).toBe("$1.25");
});

test("a share is never shown as nothing when there is something", () => {
	expect(formatShare(0)).toBe("0 %");
	expect(formatShare(0.0001)).toBe("<1 %");
	expect(formatShare(0.421)).toBe("42 %");
	expect(formatShare(1.3)).toBe("130 %");
	expect(formatShare(Number.NaN)).toBe("0 %");
});

test.each([
	[71, 100, "29 % less"],
	[112, 100, "12 % more"],
	[100, 100, "the same"],
	[99.2, 100, "0.8 % less"],
	[5, 0, "the same"],
	[30_000, 100, "29,900 % more"],
])("%d against %d is %s", (cost, other, text) => {
	expect(formatDifference(cost, other)).toBe(text);
});

test("a few milliseconds keep their tenths", () => {
	expect(formatLatency(0.42)).toBe("0.4 ms");
	expect(formatLatency(3)).toBe("3 ms");
	expect(formatLatency(12.3)).toBe("12 ms");
	expect(formatLatency(12_000)).toBe("12 s");
});

test("one thing is not many", () => {
	expect(formatNumberOf(1, "miss", "misses")).toBe("1 miss");
	expect(formatNumberOf(1200, "file")).toBe("1,200 files");
});
