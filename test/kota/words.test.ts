import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { bytesOf, clip, clipMiddle, count, countOf, oneLine } from "../../src/kota/words.ts";

const text = fc.oneof(
	fc.string({ unit: "grapheme", maxLength: 60 }),
	fc.string({ unit: "binary", maxLength: 60 }),
	fc.constantFrom("日本語".repeat(30), "😀".repeat(30), "a".repeat(90), "e\u0301".repeat(30)),
);

describe("clipping", () => {
	test.each([
		["at the end", clip],
		["in the middle", clipMiddle],
	])(
		"%s never exceeds the bytes, never splits a character, and leaves short texts alone",
		(_name, cut) => {
			fc.assert(
				fc.property(text, fc.nat(120), (given, maxBytes) => {
					const whole = given.toWellFormed();
					const result = cut(whole, maxBytes);
					expect(bytesOf(result)).toBeLessThanOrEqual(maxBytes);
					expect(result.isWellFormed()).toBe(true);
					if (bytesOf(whole) <= maxBytes) expect(result).toBe(whole);
					else if (maxBytes >= 3) expect(result).toContain("…");
				}),
			);
		},
	);

	test("keeps the start, or start and end", () => {
		expect(clip("packages/web/src/button.ts", 12)).toBe("packages/…");
		expect(clipMiddle("packages/web/src/button.ts", 20)).toBe("packag…c/button.ts");
	});
});

describe("one line", () => {
	test("has no character that ends a line or steers a terminal, and keeps all others", () => {
		fc.assert(
			fc.property(text, (given) => {
				const line = oneLine(given);
				expect(line).not.toMatch(/[^\P{Cc}\t]|\p{Zl}|\p{Zp}/u);
				expect(line.isWellFormed()).toBe(true);
			}),
		);
		expect(oneLine("src/über/日本.ts\tx")).toBe("src/über/日本.ts\tx");
		expect(oneLine("a\nb\u001b[31m\u202e")).toBe("a\\u000ab\\u001b[31m\\u202e");
	});
});

test("numbers are written for people", () => {
	expect([0, 999, 1000, 12_345, 1_234_567].map(count)).toEqual([
		"0",
		"999",
		"1,000",
		"12,345",
		"1,234,567",
	]);
	expect([countOf(1, "file"), countOf(2, "file"), countOf(0, "entry", "entries")]).toEqual([
		"1 file",
		"2 files",
		"0 entries",
	]);
});
