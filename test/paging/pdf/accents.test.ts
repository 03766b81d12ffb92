import { expect, test } from "vitest";
import { type CharBox, composeAccents, ERASED } from "../../../src/paging/pdf/accents.ts";
import { pageText } from "../../../src/paging/pdf/page-text.ts";

/** Characters as a page draws them: each with its left edge; accents are drawn over a letter or below it. */
type Drawn = readonly (readonly [
	char: string,
	left: number,
	height?: "over" | "above" | "below",
])[];

const EXTENTS = { over: [6, 7], above: [8, 9], below: [-2, 0], letter: [0, 5] } as const;

function composed(drawn: Drawn): string {
	const text = drawn.map(([char]) => char).join("");
	const boxAt = (index: number): CharBox | undefined => {
		const [char, left, height = "letter"] = drawn[index] ?? ["", 0];
		if (char === "") return undefined;
		const [bottom, top] = EXTENTS[height];
		const width = height === "letter" ? 5 : 3;
		return { left: height === "letter" ? left : left + 1, right: left + width, bottom, top };
	};
	const result = composeAccents(text, boxAt);
	expect(result).toHaveLength(text.length);
	return pageText({ text: result, hyphens: [], painted: true }).text;
}

test("an accent drawn over the next letter becomes part of it", () => {
	expect(
		composed([
			["c", 0],
			["ˆ", 5, "over"],
			["o", 5],
			["t", 10],
			["´", 15, "over"],
			["e", 15],
		]),
	).toBe("côté");
	expect(
		composed([
			["n", 0],
			["a", 5],
			["¨", 10, "over"],
			["ı", 10],
			["f", 15],
		]),
	).toBe("naïf");
	expect(
		composed([
			["f", 0],
			["a", 5],
			["¸", 10, "below"],
			["c", 10],
			["o", 15],
			["n", 20],
		]),
	).toBe("façon");
});

test("an accent of a capital letter that ends up at the line end returns to its letter", () => {
	const word: Drawn = [
		["U", 0],
		["b", 5],
		["e", 10],
		["r", 15],
		[" ", 20],
		["¨", 0, "over"],
		["\r", 20],
		["\n", 20],
		["x", 50],
	];
	expect(composed(word)).toBe("Über\nx");
	const hyphenated: Drawn = [
		["U", 0],
		["b", 5],
		["-", 10],
		[" ", 20],
		["¨", 0, "over"],
		["\r", 20],
		["\n", 20],
		["e", 50],
		["r", 55],
	];
	expect(composed(hyphenated)).toBe("Über");
});

test("spaces that only the accent caused go with it, others stay", () => {
	expect(
		composed([
			["C", 0],
			["¸", 0, "below"],
			[" ", 5],
			["e", 5],
			["l", 10],
		]),
	).toBe("Çel");
	expect(
		composed([
			["e", 0],
			[" ", 5],
			["´", 0, "over"],
			[" ", 5],
			[".", 5],
		]),
	).toBe("é.");
	expect(
		composed([
			["e", 0],
			[" ", 5],
			["´", 0, "over"],
			[" ", 5],
			["x", 12],
		]),
	).toBe("é x");
});

test("marks that are over no letter stay as they are", () => {
	const code: Drawn = [
		["`", 0, "over"],
		["a", 5],
		["`", 10, "over"],
		[" ", 15],
		["^", 20, "over"],
		["x", 30],
	];
	expect(composed(code)).toBe("`a` ^x");
	expect(
		composed([
			["ˆ", 0, "over"],
			["1", 0],
		]),
	).toBe("ˆ1");
	expect(
		composed([
			["ˆ", 0, "over"],
			["q", 0],
		]),
	).toBe("ˆq");
	expect(composeAccents("plain", () => undefined)).toBe("plain");
	expect(composeAccents("é`", () => undefined)).not.toContain(ERASED);
});
