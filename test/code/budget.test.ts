import { describe, expect, test } from "vitest";
import { fitText, type Outline, wholeText } from "../../src/code/outline.ts";

const names = (prefix: string, length: number) =>
	Array.from({ length }, (_, at) => `  ${prefix}${at}`);

describe("fitting an answer", () => {
	test("takes the first form that fits as a whole", () => {
		const forms: Outline[] = [
			[{ head: ["long"], items: names("x".repeat(20), 11) }],
			[{ head: ["brief"], items: names("x", 10) }],
			[{ head: ["paths"], items: [] }],
		];
		const fitted = fitText(
			forms.map((form) => () => form),
			100,
		);
		expect(fitted).toBe(wholeText(forms[1] ?? []));
	});

	test("gives the first items their longer forms, as far as there is room", () => {
		const forms: Outline[] = [
			[{ head: ["long"], items: names("x".repeat(20), 10) }],
			[{ head: ["shorter"], items: names("x".repeat(9), 10) }],
			[{ head: ["brief"], items: names("x", 10) }],
		];
		const fitted = fitText(
			forms.map((form) => () => form),
			104,
		);
		expect(fitted.split("\n")).toEqual([
			"brief",
			...names("x".repeat(20), 2),
			...names("x".repeat(9), 3).slice(2),
			...names("x", 10).slice(3),
		]);
		expect(fitted.length).toBeLessThanOrEqual(104);
	});

	test("makes no form that is not needed", () => {
		const later = () => {
			throw new Error("made for nothing");
		};
		expect(fitText([() => [{ head: ["short"], items: [] }], later], 100)).toBe("short");
	});

	test("cuts the last form by items, gives every part its share and says what is missing", () => {
		const outline: Outline = [
			{ head: ["tests (3):"], items: names("test", 3) },
			{ head: ["files (900):"], items: names("file", 900) },
			{ head: ["folders (40):"], items: names("folder", 40) },
		];
		const text = fitText([() => outline], 200);
		expect(text.split("\n")).toEqual([
			"tests (3):",
			"  test0",
			"  test1",
			"  test2",
			"files (900):",
			...names("file", 5),
			"  … 895 more",
			"folders (40):",
			...names("folder", 5),
			"  … 35 more",
		]);
		expect(Buffer.byteLength(text)).toBeLessThanOrEqual(200);
	});

	test("never shows a part of an item", () => {
		const items = ["src/a.ts\n  1 first\n  2 second", "src/b.ts\n  1 third\n  2 fourth"];
		const text = fitText([() => [{ head: ["2 files"], items }]], 55);
		expect(text).toBe("2 files\nsrc/a.ts\n  1 first\n  2 second\n  … 1 more");
	});

	test("shortens a head that would take everything, and drops parts whose heads do not fit", () => {
		const outline: Outline = [
			{ head: [`${"deep/".repeat(500)}file.ts: 3 dependents`], items: [] },
			...Array.from({ length: 100 }, (_, at) => ({ head: [`part ${at}`], items: ["  item"] })),
		];
		const text = fitText([() => outline], 300);
		expect(Buffer.byteLength(text)).toBeLessThanOrEqual(300);
		expect(text.split("\n")[0]).toMatch(/^deep.*….*file\.ts: 3 dependents$/);
		expect(text).toContain("part 0");
		expect(text).not.toContain("part 99");
	});
});
