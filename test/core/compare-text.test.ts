import { expect, test } from "vitest";
import { compareText } from "../../src/core/compare-text.ts";

test("texts are ordered by their units, whatever the language", () => {
	expect(["b", "ä", "a", "B", "a"].sort(compareText)).toEqual(["B", "a", "a", "b", "ä"]);
	expect(compareText("a", "a")).toBe(0);
});
