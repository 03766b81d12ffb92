import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
	formatAge,
	formatBytes,
	formatDollars,
	formatDuration,
	formatNumberOf,
	formatPrice,
	formatShare,
	formatTokens,
} from "../../../src/dashboard/views/format.ts";

describe("tokens", () => {
	test.each([
		[0, "0"],
		[812, "812"],
		[999, "999"],
		[999.6, "1.0k"],
		[1234, "1.2k"],
		[9949, "9.9k"],
		[9951, "10k"],
		[123_456, "123k"],
		[999_499, "999k"],
		[999_600, "1.0M"],
		[2_000_000, "2.0M"],
		[-1500, "−1.5k"],
	])("%d reads %s", (tokens, text) => {
		expect(formatTokens(tokens)).toBe(text);
	});

	test("never take more than five characters, up to a thousand thousand millions", () => {
		fc.assert(
			fc.property(fc.double({ min: 0, max: 1e11, noNaN: true }), (tokens) => {
				expect(formatTokens(tokens).length).toBeLessThanOrEqual(5);
			}),
		);
	});
});

describe("money", () => {
	test.each([
		[0, "$0"],
		[0.000001, "<$0.00001"],
		[0.0000420001, "$0.000042"],
		[0.0042, "$0.0042"],
		[0.05, "$0.05"],
		[0.056, "$0.056"],
		[0.0999, "$0.10"],
		[0.314, "$0.31"],
		[12.4, "$12.40"],
		[1234.5, "$1,235"],
		[-0.5, "−$0.50"],
	])("%d dollars read %s", (dollars, text) => {
		expect(formatDollars(dollars)).toBe(text);
	});

	test("a price without dollars is told in tokens", () => {
		expect(formatPrice({ tokens: 12_000 })).toBe("12k tokens");
		expect(formatPrice({ tokens: 12_000, dollars: 0.25 })).toBe("$0.25");
	});
});

describe("time", () => {
	test.each([
		[-5, "0 ms"],
		[0.42, "0.4 ms"],
		[12.3, "12 ms"],
		[999.7, "1.0 s"],
		[3400, "3.4 s"],
		[59_600, "1 min"],
		[125_000, "2 min 5 s"],
		[7_200_000, "2 h"],
		[12_000_000, "3 h 20 min"],
		[354_000_000, "4 d 2 h"],
	])("%d ms last %s", (ms, text) => {
		expect(formatDuration(ms)).toBe(text);
	});

	test.each([
		[1000, "just now"],
		[-99_000, "just now"],
		[40_000, "40 s ago"],
		[59_999, "59 s ago"],
		[180_000, "3 min ago"],
		[7_300_000, "2 h ago"],
		[500_000_000, "5 d ago"],
	])("what began %d ms before is as old as %s", (ms, text) => {
		expect(formatAge(1_000_000_000 - ms, 1_000_000_000)).toBe(text);
	});
});

test.each([
	[512, "512 B"],
	[1024, "1.0 kB"],
	[1_572_864, "1.5 MB"],
	[223_346_688, "213 MB"],
	[5_000_000_000, "4.7 GB"],
])("%d bytes read %s", (bytes, text) => {
	expect(formatBytes(bytes)).toBe(text);
});

test("a share is never shown as nothing when there is something", () => {
	expect(formatShare(0)).toBe("0 %");
	expect(formatShare(0.0001)).toBe("<1 %");
	expect(formatShare(0.421)).toBe("42 %");
	expect(formatShare(1.3)).toBe("130 %");
	expect(formatShare(Number.NaN)).toBe("0 %");
});

test("one thing is not many", () => {
	expect(formatNumberOf(1, "miss", "misses")).toBe("1 miss");
	expect(formatNumberOf(1200, "file")).toBe("1,200 files");
});
