import { expect, test } from "vitest";
import { type ChartValues, layOut, outline } from "../../src/dashboard/chart/layout.ts";

const chart = (
	shape: ChartValues["shape"],
	values: readonly (readonly (number | null)[])[],
	numbers = [1, 2, 3],
): ChartValues => ({
	shape,
	numbers,
	rows: values.map((row, at) => ({ name: `row ${at}`, values: row, colour: "--series-1" })),
});

test("an area begins where the one below it ends", () => {
	const areas = chart("areas", [
		[10, 10, 10],
		[5, 0, 5],
	]);
	const layout = layOut(areas, 276, 150);
	const lower = outline(layout, areas, 0).slice(1, -1).split("L");
	const upper = outline(layout, areas, 1).slice(1, -1).split("L");
	expect(upper.slice(3)).toEqual(lower.slice(0, 3).reverse());
	expect(upper[1]).toBe(lower[1]);
	expect(lower.at(-1)).toBe(`${layout.left} ${layout.floor}`);
});

test("a line is interrupted where nothing is known", () => {
	const lines = chart("lines", [[1, null, 3]]);
	expect(outline(layOut(lines, 276, 150), lines, 0).match(/[ML]/g)).toEqual(["M", "M"]);
	const joined = chart("lines", [[1, 2, 3]]);
	expect(outline(layOut(joined, 276, 150), joined, 0).match(/[ML]/g)).toEqual(["M", "L", "L"]);
});

test("columns have room at both ends, and nothing is drawn for zero", () => {
	const columns = chart("columns", [[4, 0, 8]]);
	const layout = layOut(columns, 276, 150);
	expect(outline(layout, columns, 0).match(/M/g)).toHaveLength(2);
	expect(layout.x(1) - layout.columnWidth / 2).toBeGreaterThan(layout.left);
	expect(layout.x(3) + layout.columnWidth / 2).toBeLessThan(layout.right);
});

test("labels are at round numbers that do not touch each other", () => {
	const numbers = Array.from({ length: 950 }, (_, at) => at + 1);
	const requests = chart("lines", [numbers.map((number) => number * 1.5)], numbers);
	const layout = layOut(requests, 576, 200);
	expect(layout.xLabels).toEqual([200, 400, 600, 800]);
	expect(layout.yLabels).toEqual([0, 500, 1000, 1500]);
	// Dollars have halves, requests do not.
	expect(
		layOut(chart("lines", [[0.01, 0.02, 0.03]]), 276, 150).yLabels.map((y) => +y.toFixed(4)),
	).toEqual([0, 0.02]);
	expect(layOut(chart("lines", [[1, 0, 1]]), 276, 150).yLabels).toEqual([0, 1]);
});

test("the pointer chooses the nearest number, also beyond both ends", () => {
	const layout = layOut(chart("lines", [[1, 2, 3]], [10, 20, 40]), 376, 150);
	expect(
		[0, layout.x(10), layout.x(14), layout.x(16), layout.x(31), 9999].map(layout.nearest),
	).toEqual([0, 0, 0, 1, 2, 2]);
});

test("a single number, or none, has a picture without a fault", () => {
	const single = chart("columns", [[7]], [3]);
	const layout = layOut(single, 276, 150);
	expect(outline(layout, single, 0)).toMatch(/^M[\d.]+ [\d.]+V[\d.]+h[\d.]+V[\d.]+Z$/);
	const none = chart("areas", [[]], []);
	expect(outline(layOut(none, 276, 150), none, 0)).toBe("");
	expect(layOut(none, 0, 0).nearest(5)).toBe(-1);
});
