import { describe, expect, test } from "vitest";
import { bytesOf, clip, clipMiddle } from "../../src/text/clip.ts";
import { fc } from "../support/property.ts";

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

test("bytes are counted as UTF-8 has them, lone halves of characters included", () => {
	fc.assert(
		fc.property(fc.string({ unit: "binary" }), fc.nat(20), (given, from) => {
			const cut = given.slice(from);
			expect(bytesOf(cut)).toBe(Buffer.byteLength(cut));
		}),
	);
	expect(bytesOf("\ud83d")).toBe(3);
	expect(bytesOf("\ude00\ud83d a")).toBe(8);
});
