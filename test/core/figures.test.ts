import { expect, test } from "vitest";
import { counted, grouped } from "../../src/core/figures.ts";

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
