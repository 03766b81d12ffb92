import { expect, test } from "vitest";
import { Numbers } from "../../src/birth/numbers.ts";
import { fc, runs } from "../support/property.ts";
import { numbersIn } from "./plain-folds.ts";
import { playBoth } from "./play-both.ts";

test.each([1, 2, 3, 4, 5])("the engine decides as a plain one does (part %i)", (part) => {
	const played = playBoth(runs(2000), part * 1_000_000);
	expect(played.shortened).toBeGreaterThan(played.results / 10);
});

test("numbers are those that a regular expression finds", () => {
	const piece = fc.oneof(
		fc.nat(3000).map(String),
		fc.constantFrom("0", "07", "1234567890123456", "2026-11-16", "T12:00", " 9:05:00", ":05:06.25"),
		fc.constantFrom(
			" ",
			"/",
			" of ",
			".",
			",",
			":",
			"-",
			"_",
			"%",
			"x",
			"µ",
			"μ",
			"日",
			"\t",
			"/s",
		),
		fc.constantFrom("ms", "s", "ns", "sec", "seconds", "min", "minutes", "kB", "KiB", "b", "bytes"),
	);
	fc.assert(
		fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
			const text = `12 ${pieces.join("")}\n34`;
			const end = text.indexOf("\n");
			const numbers = new Numbers(
				text,
				Uint16Array.from(text, (unit) => unit.charCodeAt(0)),
			);
			numbers.append(3, end);
			const found = Array.from({ length: numbers.count }, (_, at) => ({
				text: numbers.textOf(at),
				value: numbers.value[at],
				isMeasured: numbers.isMeasured[at] === 1,
			}));
			expect(found).toEqual(numbersIn(text.slice(3, end)));
		}),
		{ numRuns: runs(5000) },
	);
});
