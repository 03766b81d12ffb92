import { describe, expect, test } from "vitest";
import { boundsReaching, clipped, excerpt, matchIndex } from "../../src/dashboard/parts/text.tsx";
import { fc } from "../support/property.ts";

const FIRST = { chars: 400, lines: 24 };

describe("words that are looked for in a long text", () => {
	test("are found in either case, and nothing is when nothing is looked for", () => {
		expect(matchIndex("The Fox", "fox")).toBe(4);
		expect(matchIndex("The Fox", "hen")).toBe(-1);
		expect(matchIndex("The Fox", "")).toBe(-1);
	});

	test("show within the bounds that reach for them", () => {
		fc.assert(
			fc.property(
				fc.array(fc.constantFrom("a", "bc", "\n", "\n\n"), { maxLength: 2_000 }),
				fc.nat(),
				(parts, at) => {
					const before = parts.slice(0, parts.length === 0 ? 0 : at % parts.length).join("");
					const text = `${before}FOX${parts.join("")}`;
					const bounds = boundsReaching(text, matchIndex(text, "fox"), FIRST);
					expect(clipped(text, bounds).text).toContain("FOX");
				},
			),
		);
	});

	test("leave the bounds alone when they show already, or are not there", () => {
		expect(boundsReaching("a fox", 2, { chars: 4_000, lines: 24 })).toEqual({
			chars: 4_000,
			lines: 24,
		});
		expect(boundsReaching("a hen", -1, FIRST)).toBe(FIRST);
	});

	test("show by themselves when they are too far into the text to show all before them", () => {
		const text = `${"x".repeat(5_000_000)} the fox ${"y".repeat(5_000_000)}`;
		const index = matchIndex(text, "fox");
		expect(boundsReaching(text, index, FIRST)).toBe(FIRST);
		expect(excerpt(text, index)).toContain("the fox y");
		expect(excerpt(text, index)?.length).toBeLessThan(500);
		expect(excerpt(text, 100)).toBeUndefined();
	});
});
