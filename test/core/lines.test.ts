import { expect, test } from "vitest";
import { linesOf } from "../../src/core/lines.ts";
import { fc } from "../support/property.ts";

/** Texts in which newlines are frequent, beside characters of one to four bytes. */
const text = fc
	.array(fc.constantFrom("\n", "\n", "a", "\r", "é", "漢", "😀", "\u2028", "\uFEFF"), {
		maxLength: 40,
	})
	.map((parts) => parts.join(""));

test("lines are what splitting the text at newlines gives", () => {
	fc.assert(
		fc.property(text, (content) => {
			const lines = linesOf(Buffer.from(content));
			const expected = content.split("\n");
			const found = expected.map((_, index) => lines.slice(index + 1, index + 1).toString());
			expect(lines.count).toBe(expected.length);
			expect(found).toEqual(expected);
		}),
	);
});

test("a slice holds its lines with the newlines between them, and size says how many bytes", () => {
	fc.assert(
		fc.property(text, fc.nat(), fc.nat(), (content, one, other) => {
			const lines = linesOf(Buffer.from(content));
			const [first = 1, last = 1] = [one, other]
				.map((number) => (number % lines.count) + 1)
				.sort((a, b) => a - b);
			const slice = lines.slice(first, last);
			expect(slice.toString()).toBe(
				content
					.split("\n")
					.slice(first - 1, last)
					.join("\n"),
			);
			expect(lines.size(first, last)).toBe(slice.length);
		}),
	);
});

test("all lines together are the file, byte for byte, also where it is not text", () => {
	fc.assert(
		fc.property(fc.uint8Array({ maxLength: 200 }), (array) => {
			const lines = linesOf(Buffer.from(array));
			expect(lines.slice(1, lines.count)).toEqual(Buffer.from(array));
		}),
	);
});

test("lines are found in large files, wherever their newlines lie", () => {
	// Around multiples of 64 KiB, the size of the parts in which a file is searched.
	const length = fc.constantFrom(0, 1, 65_534, 65_535, 65_536, 65_537, 131_071);
	fc.assert(
		fc.property(fc.array(length, { minLength: 1, maxLength: 4 }), (lengths) => {
			const lines = linesOf(Buffer.from(lengths.map((size) => "x".repeat(size)).join("\n")));
			expect(lengths.map((_, index) => lines.size(index + 1, index + 1))).toEqual(lengths);
			expect(lines.count).toBe(lengths.length);
		}),
	);
});

test("a final newline is followed by one more, empty line, and an empty file has one line", () => {
	expect(linesOf(Buffer.from("a\nb\n")).count).toBe(3);
	expect(linesOf(Buffer.from("a\nb")).count).toBe(2);
	expect(linesOf(Buffer.alloc(0)).count).toBe(1);
	expect(linesOf(Buffer.alloc(0)).size(1, 1)).toBe(0);
});
