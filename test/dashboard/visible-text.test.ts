import { describe, expect, test } from "vitest";
import { clipped, visibleString, visibleText } from "../../src/dashboard/parts/text.tsx";
import { fc } from "../support/property.ts";

describe("text of others made visible", () => {
	test.each([
		["colours of a terminal are dropped", "\u001b[31mred\u001b[0m", "red"],
		["other codes are written out", "a\u001b[2Jb", "a␛[2Jb"],
		["a title for the terminal is written out", "\u001b]0;pwned\u0007x", "␛]0;pwned·x"],
		["marks inside of codes are named", "\u001b]0;\u202e\u200b\u0007x", "␛]0;⟨U+202E⟩⟨U+200B⟩·x"],
		["control characters get their pictures", "a\u0000b\u0008c\u007f", "a␀b␈c␡"],
		["a change of direction is named", "abc\u202etxt.exe", "abc⟨U+202E⟩txt.exe"],
		["what has no width is named", "a\u200bb\ufeff", "a⟨U+200B⟩b⟨U+FEFF⟩"],
		["tags that nobody sees are named", "x\u{e0041}", "x⟨U+E0041⟩"],
		["ends of lines of Windows are ends of lines", "a\r\nb", "a\nb"],
		["a lone carriage return shows", "good\rbad", "good␍bad"],
		["tabs, umlauts, Arabic and Hebrew stay as they are", "\tä שלום مرحبا", "\tä שלום مرحبا"],
		["joined emoji stay whole", "👩\u200d💻", "👩\u200d💻"],
	])("%s", (_, text, shown) => {
		expect(visibleString(text)).toBe(shown);
	});

	test("what was written out is set apart from what was there", () => {
		expect(visibleText("a\u0000\u0001b")).toEqual([
			{ text: "a", isEscape: false },
			{ text: "␀␁", isEscape: true },
			{ text: "b", isEscape: false },
		]);
	});

	test("nothing that hides or turns text is left, whatever the text is", () => {
		const nasty = fc.string({
			unit: fc.constantFrom(
				"\u001b",
				"[",
				"m",
				"3",
				"]",
				"\u0007",
				"a",
				"\u202e",
				"\u2066",
				"\r",
				"\n",
				"\u0000",
				"\\",
			),
		});
		fc.assert(
			fc.property(nasty, (text) => {
				expect(visibleString(text)).not.toMatch(/(?!\n)\p{Cc}|[\u202a-\u202e\u2066-\u2069]/u);
			}),
		);
	});
});

describe("clipping", () => {
	test("keeps to the characters and to the lines, and tells what is left", () => {
		expect(clipped("abcdef", { chars: 4, lines: 9 })).toEqual({ text: "abcd", rest: 2 });
		expect(clipped("a\nb\nc", { chars: 99, lines: 2 })).toEqual({ text: "a\nb", rest: 2 });
		expect(clipped("a\nb", { chars: 99, lines: 2 })).toEqual({ text: "a\nb", rest: 0 });
	});

	test("splits no character, and loses none", () => {
		fc.assert(
			fc.property(
				fc.string({ unit: "binary" }),
				fc.nat(20),
				fc.integer({ min: 1, max: 5 }),
				(text, chars, lines) => {
					const cut = clipped(text, { chars, lines });
					const isBeginning =
						text.startsWith(cut.text) && cut.text.length + cut.rest === text.length;
					expect(isBeginning && cut.text.isWellFormed()).toBe(true);
				},
			),
		);
	});
});
