import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { clipped, excerpt, placeIn, reaching } from "../../src/dashboard/parts/text.tsx";

const FIRST = { most: 400, lines: 24 };

describe("words that are looked for in a long text", () => {
	test("are found in either case, and nothing is when nothing is looked for", () => {
		expect(placeIn("The Fox", "fox")).toBe(4);
		expect(placeIn("The Fox", "hen")).toBe(-1);
		expect(placeIn("The Fox", "")).toBe(-1);
	});

	test("show within the bounds that reach for them", () => {
		fc.assert(
			fc.property(
				fc.array(fc.constantFrom("a", "bc", "\n", "\n\n"), { maxLength: 2_000 }),
				fc.nat(),
				(parts, at) => {
					const before = parts.slice(0, parts.length === 0 ? 0 : at % parts.length).join("");
					const text = `${before}FOX${parts.join("")}`;
					const bounds = reaching(text, placeIn(text, "fox"), FIRST);
					expect(clipped(text, bounds).text).toContain("FOX");
				},
			),
		);
	});

	test("leave the bounds alone when they show already, or are not there", () => {
		expect(reaching("a fox", 2, { most: 4_000, lines: 24 })).toEqual({ most: 4_000, lines: 24 });
		expect(reaching("a hen", -1, FIRST)).toBe(FIRST);
	});

	test("show by themselves when they are too far into the text to show all before them", () => {
		const text = `${"x".repeat(5_000_000)} the fox ${"y".repeat(5_000_000)}`;
		const place = placeIn(text, "fox");
		expect(reaching(text, place, FIRST)).toBe(FIRST);
		expect(excerpt(text, place)).toContain("the fox y");
		expect(excerpt(text, place)?.length).toBeLessThan(500);
		expect(excerpt(text, 100)).toBeUndefined();
	});
});
