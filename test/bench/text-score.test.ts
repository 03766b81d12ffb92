import { describe, expect, test } from "vitest";
import { scoreText } from "../../bench/paging/text-score.ts";

describe("a score of extracted text", () => {
	const gold = "One two three four five six.";

	test("is 1 for the same words, whatever the marks, links and images", () => {
		const markdown = "# One *two*\n\n![nine](a.png)[three](https://x.org/(y)) four\n\n> five six";
		expect(scoreText(markdown, gold, 4)).toEqual({ precision: 1, recall: 1, f1: 1 });
	});

	test("takes no mark for a part of a word, and no sign of code for a mark", () => {
		const markdown =
			"1. a snake_case &lt;T> and [\\[pdf\\]](https://x.org/y_z)\n\n```c++\nx = a*b | c_d;\n```\n\n| e | **f**oo |";
		const page = "a snake_case <T> and [pdf]\nx = a*b | c_d;\ne foo";
		expect(scoreText(markdown, page, 1)).toEqual({ precision: 1, recall: 1, f1: 1 });
	});

	test("counts runs of words, or single ones in any order", () => {
		expect(scoreText("six five four three two one", gold, 4).f1).toBe(0);
		expect(scoreText("six five four three two one", gold, 1).f1).toBe(1);
	});

	test("falls with what is missing and with what is too much", () => {
		expect(scoreText("one two three four five", gold, 4)).toMatchObject({
			precision: 1,
			recall: 2 / 3,
		});
		expect(scoreText("one two three four five six seven", gold, 4)).toMatchObject({
			precision: 3 / 4,
			recall: 1,
		});
		expect(scoreText("one two three one two three", "one two three", 1).precision).toBe(1 / 2);
	});

	test("is 0 for nothing, unless nothing was wanted", () => {
		expect(scoreText("", gold, 4).f1).toBe(0);
		expect(scoreText("", "", 4).f1).toBe(1);
		expect(scoreText("words", "", 4).f1).toBe(0);
	});
});
