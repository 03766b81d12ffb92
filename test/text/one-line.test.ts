import { expect, test } from "vitest";
import { collapsed, escaped, oneLine } from "../../src/text/one-line.ts";
import { fc } from "../support/property.ts";

const text = fc.oneof(
	fc.string({ unit: "grapheme", maxLength: 60 }),
	fc.string({ unit: "binary", maxLength: 60 }),
);

test("one line has no character that ends a line or steers a terminal, and keeps all others", () => {
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
test("a character of two units is escaped as JSON would", () => {
	expect(escaped("a\u{e0001}b", /\p{Cf}/gu)).toBe("a\\udb40\\udc01b");
});

test("white space collapses to single spaces, with none at the ends", () => {
	expect(collapsed("  a\t\nb \u2028 c ")).toBe("a b c");
	expect(collapsed(" \n ")).toBe("");
});
