import { expect, test } from "vitest";
import { short as threeDigits } from "../../src/economy/replay/report-text.ts";
import { counted, grouped, megabytes } from "../../src/text/figures.ts";

test("numbers are written for people", () => {
	expect([0, 999, 1000, 12_345, 1_234_567, -12_345, 1234.5678].map(grouped)).toEqual([
		"0",
		"999",
		"1,000",
		"12,345",
		"1,234,567",
		"-12,345",
		"1,235",
	]);
});

test("one thing is one, and none are many", () => {
	expect(counted(1, "file")).toBe("1 file");
	expect(counted(0, "file")).toBe("0 files");
	expect(counted(0, "entry", "entries")).toBe("0 entries");
	expect(counted(12, "cache miss", "cache misses")).toBe("12 cache misses");
	expect(counted(1234, "file")).toBe("1,234 files");
});

test("counts are shown in three digits, however large", () => {
	const shown = [0, 999, 999.6, 1000, 999_499, 999_500, 1.4e6, 56.4e6, 3e9, 1.5e13].map(
		threeDigits,
	);
	expect(shown.join(", ")).toBe(
		"0, 999, 1.00 k, 1.00 k, 999 k, 1.00 M, 1.40 M, 56.4 M, 3.00 G, 15.0 T",
	);
});

test("bytes are told in megabytes", () => {
	expect([0, 3.5 * 1024 ** 2, 2000 * 1024 ** 2].map(megabytes)).toEqual([
		"0.0 MB",
		"3.5 MB",
		"2000.0 MB",
	]);
});
