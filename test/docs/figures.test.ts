import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { withFigures } from "../../scripts/figures.ts";
import { documentAt, documents, root } from "./documents.ts";

/** A figure is a link to a result whose title is the case: `[0.64](…/pruning.json "trace: pruning, reads at 0.1")`. */
const figures = documents.flatMap(({ path, links }) =>
	links
		.filter((link) => link.path.startsWith("bench/results/") && link.title !== undefined)
		.map(({ text, path: file, title = "" }) => ({ from: path, text, file, title })),
);

test("every figure of a document is what its result says, rounded as it is written", () => {
	const wrong = figures.flatMap(({ from, text, file, title }) => {
		const value = caseValue(file, title);
		return value !== undefined && isRounded(text, value)
			? []
			: [`${from}: [${text}] "${title}" is ${value ?? "not a case"} in ${file}`];
	});
	expect(wrong).toEqual([]);
	expect(figures.length).toBeGreaterThan(8);
});

test("the README has no measured figure without its result", () => {
	const { prose } = documentAt("README.md");
	const section = prose.split("## What is in it")[1]?.split("\n## ")[0] ?? "";
	const measured = section
		.split("\n")
		.filter((line) => line.startsWith("| ["))
		.map((line) => line.split("|").at(-2) ?? "");
	expect(measured.length).toBeGreaterThan(4);
	for (const cell of measured) {
		const bare = cell.replaceAll(/\[[^\]]*\]\([^)]*\)/g, "");
		// What is left may say how large the experiment was, not how well it went.
		expect(bare).not.toMatch(/\d\s*(%|ms|×|s\b)|\d\.\d/);
	}
});

test("a figure that its result contradicts is rewritten with its places and unit", () => {
	const link = (figure: string) => `[${figure}](../bench/results/a.json "a case")`;
	const written = (figure: string, value?: number) => withFigures(link(figure), () => value);
	expect(written("0.64", 0.701)).toBe(link("0.70"));
	expect(written("0.64", 0.641)).toBe(link("0.64"));
	expect(written("107 ms", 93.4)).toBe(link("93 ms"));
	expect(written("10,000/s", 12_345)).toBe(link("12,345/s"));
	expect(written("0.64")).toBe(link("0.64"));
});

describe("the checker itself", () => {
	test.each([
		["0.64", 0.644],
		["0.88", 0.875],
		["1.00", 1],
		["107 ms", 106.9],
		["55.6 %", 55.6],
		["10,000/s", 9_999.7],
	])("takes %s for %d", (text, value) => expect(isRounded(text, value)).toBe(true));

	test.each([
		["0.64", 0.65],
		["0.6", 0.644_9 + 0.1],
		["107 ms", 108],
		["many", 1],
	])("does not take %s for %d", (text, value) => expect(isRounded(text, value)).toBe(false));
});

function caseValue(file: string, title: string): number | undefined {
	const { results } = JSON.parse(readFileSync(join(root, file), "utf8")) as {
		results: { case?: string; value?: number }[];
	};
	return results.find((result) => result.case === title)?.value;
}

/** Whether a text begins with the value, rounded to as many places as it shows. */
function isRounded(text: string, value: number): boolean {
	const shown = /^-?\d[\d,]*(?:\.(\d+))?/.exec(text);
	if (!shown) return false;
	const places = shown[1]?.length ?? 0;
	// Halves may be rounded either way: 0.875 is stored as a little less, or more.
	return Math.abs(Number(shown[0].replaceAll(",", "")) - value) <= 0.5 * 10 ** -places + 1e-9;
}
