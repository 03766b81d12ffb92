import uPlot from "uplot";
import type { ChartColours } from "./colours.ts";
import { stacked } from "./stack.ts";

/** One row of values in a chart. */
export interface ChartRow {
	name: string;
	values: readonly number[];
	/** A CSS variable of a colour, such as `--series-1`. */
	colour: string;
}

/** What a chart shows. */
export interface ChartContent {
	/** `areas` and `columns` are stacked, the first row at the bottom. */
	shape: "areas" | "columns" | "lines";
	/** What the values belong to, from left to right: whole numbers that grow. */
	numbers: readonly number[];
	rows: readonly ChartRow[];
	/** Points to be noticed, `null` where there is none. */
	marks?: readonly (number | null)[] | undefined;
	format(value: number): string;
}

/** The data of a chart in uPlot's form: what lies lowest in a stack of columns is drawn last, over the others. */
export function plotData({ shape, numbers, rows, marks }: ChartContent): uPlot.AlignedData {
	const values = rows.map((row) => row.values);
	const drawn = shape === "lines" ? values : stacked(values);
	const ordered = shape === "columns" ? drawn.toReversed() : drawn;
	return [numbers, ...ordered, ...(marks ? [marks] : [])] as uPlot.AlignedData;
}

/** How to draw it. */
export function plotOptions(
	content: ChartContent,
	colours: ChartColours,
	{ width, height, onPoint }: { width: number; height: number; onPoint(at: number | null): void },
): uPlot.Options {
	const { shape, rows, marks, format } = content;
	const axis = {
		stroke: colours.text,
		font: colours.font,
		grid: { stroke: colours.grid, width: 1 },
		ticks: { show: false },
	};
	const series = rows.map((row) => seriesOf(row, shape, colours));
	const pad = shape === "columns" ? 0.6 : 0;
	return {
		width,
		height,
		legend: { show: false },
		cursor: { y: false, drag: { x: false, y: false }, points: { show: shape === "lines" } },
		scales: {
			x: {
				time: false,
				// One request alone still needs some width.
				range: (_, low, high) => [low - pad, high === low ? high + Math.max(pad, 0.5) : high + pad],
			},
			y: { range: (_, __, high) => [0, high > 0 ? high * 1.08 : 1] },
		},
		series: [
			{},
			...(shape === "columns" ? series.toReversed() : series),
			...(marks ? [markSeries(colours)] : []),
		],
		// Each area is filled down to the one below it.
		bands:
			shape === "areas"
				? rows.slice(1).map((_, at) => ({ series: [at + 2, at + 1] as uPlot.Band.Bounds }))
				: [],
		axes: [
			{ ...axis, size: 26, space: 60, incrs: WHOLE_STEPS, grid: { show: false } },
			// uPlot's own guess clips labels of five digits.
			{ ...axis, size: 58, space: 34, values: (_, splits) => splits.map(format) },
		],
		hooks: { setCursor: [({ cursor }) => onPoint(cursor.idx ?? null)] },
	};
}

const WHOLE_STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000];

function seriesOf(
	row: ChartRow,
	shape: ChartContent["shape"],
	colours: ChartColours,
): uPlot.Series {
	const colour = colours.of(row.colour);
	const base = { label: row.name, stroke: colour, points: { show: false } };
	if (shape === "lines") return { ...base, width: 2, points: { show: row.values.length < 3 } };
	const bars = shape === "columns" ? uPlot.paths.bars?.({ size: [0.85, 48], gap: 1 }) : undefined;
	return { ...base, width: shape === "areas" ? 1 : 0, fill: colour, ...(bars && { paths: bars }) };
}

function markSeries(colours: ChartColours): uPlot.Series {
	const colour = colours.of("--bad");
	return {
		label: "marks",
		stroke: colour,
		paths: () => null,
		points: { show: true, size: 8, width: 0, fill: colour },
	};
}
