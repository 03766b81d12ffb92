import "uplot/dist/uPlot.min.css";
import "./chart.css";
import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { PlainText } from "../parts/text.tsx";
import { theme } from "../theme.ts";

interface ChartProps {
	/** Text for screen readers. The page must also show the figures in a table. */
	readonly label: string;
	/** The unit of the x axis, such as `Request`. */
	readonly unit: string;
	/** `areas` and `columns` are stacked, the first row at the bottom. */
	readonly shape: "areas" | "columns" | "lines";
	/** The x values: increasing integers. */
	readonly numbers: readonly number[];
	/** What an x value is called; shorter below the axis. Default: the number. */
	nameOf?(number: number, isBelowAxis: boolean): string;
	/** Possible distances of the labels below the x axis, whole numbers. */
	readonly steps?: readonly number[];
	readonly rows: readonly ChartRow[];
	readonly marks?: readonly (number | null)[];
	readonly marksName?: string;
	/** A CSS variable. Default: that of bad news. */
	readonly marksColour?: string;
	readonly height?: number;
	/** The name of the y axis, such as `Tokens`. */
	readonly quantity: string;
	/** Charts with the same name point at the same request. */
	readonly link?: string;
	format(value: number): string;
}

interface ChartRow {
	readonly name: string;
	/** `null`: nothing is known, and a line is interrupted. */
	readonly values: readonly (number | null)[];
	/** A CSS variable, such as `--series-1`. */
	readonly colour: string;
}

/** A chart of values by request. Above it are the values at the pointer; without a pointer, the latest. */
export function Chart(props: ChartProps) {
	const { label, shape, numbers, rows, marks, height = 220 } = props;
	const place = useRef<HTMLDivElement>(null);
	const pointed = useSignal<number | null>(null);
	const isDark = useDarkness();
	useEffect(() => {
		const element = place.current;
		if (!element || numbers.length === 0) return;
		const size = () => ({ width: Math.max(120, element.clientWidth), height });
		const setCursor = ({ cursor }: uPlot) => {
			pointed.value = cursor.idx ?? null;
		};
		const plot = new uPlot(
			{ ...plotOptions(props, colourIn(element)), ...size(), hooks: { setCursor: [setCursor] } },
			plotData(props),
			element,
		);
		const observer = new ResizeObserver(() => plot.setSize(size()));
		observer.observe(element);
		return () => {
			observer.disconnect();
			plot.destroy();
			pointed.value = null;
		};
	}, [shape, numbers, rows, marks, height, isDark, theme.value]);
	return (
		<figure class="chart">
			<Readout {...props} pointed={pointed} />
			{/* As high as the picture before it is drawn, so that nothing below moves. */}
			<div
				class="chart-plot"
				ref={place}
				role="img"
				aria-label={label}
				style={{ minHeight: `${height}px` }}
			/>
		</figure>
	);
}

function Readout(props: ChartProps & { pointed: Signal<number | null> }) {
	const { unit, numbers, rows, marks, marksName, marksColour = BAD, pointed, format } = props;
	const { nameOf = String } = props;
	const at = pointed.value ?? numbers.length - 1;
	const number = numbers[at];
	const text = (value: number | null | undefined) => (value === null ? "–" : format(value ?? 0));
	return (
		<figcaption class="chart-readout small soft">
			<span class="chart-at number">
				{unit} {number === undefined ? "–" : nameOf(number, false)}
			</span>
			{rows.map(({ name, values, colour }) => (
				<span class="chart-name line" key={name}>
					<Swatch colour={colour} />
					<PlainText class="one-line" text={name} max={60} />{" "}
					<b class="number">{text(values[at])}</b>
				</span>
			))}
			{marks && marksName && (
				<span class="chart-name line">
					<Swatch colour={marksColour} isRound />
					{marksName}
				</span>
			)}
		</figcaption>
	);
}

export function Swatch({ colour, isRound = false }: { colour: string; isRound?: boolean }) {
	const side = isRound ? 8 : 10;
	const at = (10 - side) / 2;
	return (
		<svg class="swatch" viewBox="0 0 10 10" aria-hidden="true">
			<rect x={at} y={at} width={side} height={side} rx={isRound ? 4 : 2} fill={`var(${colour})`} />
		</svg>
	);
}

/** Data for uPlot. Stacked columns are reversed: the lowest one is drawn last, in front of the others. */
function plotData({ shape, numbers, rows, marks }: ChartProps): uPlot.AlignedData {
	const values = rows.map((row) => row.values);
	const drawn = shape === "lines" ? values : stacked(values);
	const ordered = shape === "columns" ? drawn.toReversed() : drawn;
	return [numbers, ...ordered, ...(marks ? [marks] : [])] as uPlot.AlignedData;
}

function plotOptions(
	props: ChartProps,
	colourOf: ColourOf,
): Omit<uPlot.Options, "width" | "height"> {
	const { shape, numbers, rows, marks, unit, quantity, link, format } = props;
	const { nameOf = String, steps = WHOLE_STEPS, marksColour = BAD } = props;
	// Numbers of requests or tokens have no halves.
	const isWhole = rows.every(({ values }) => values.every((value) => Number.isInteger(value ?? 0)));
	const font = `11px ${getComputedStyle(document.body).fontFamily}`;
	const axis = {
		stroke: colourOf("--text-soft"),
		font,
		labelFont: font,
		labelSize: 18,
		labelGap: 2,
		grid: { stroke: colourOf("--line"), width: 1 },
		ticks: { show: false },
	};
	const series = rows.map((row) => seriesOf(row, shape, colourOf));
	const marked = colourOf(marksColour);
	const markSeries: uPlot.Series = {
		label: "marks",
		stroke: marked,
		paths: () => null,
		points: { show: true, size: 8, width: 0, fill: marked },
	};
	const [first = 0, second = first + 1] = numbers;
	const pad = shape === "columns" ? 0.6 * (second - first) : 0; // room for half a column at each end
	return {
		legend: { show: false },
		cursor: {
			y: false,
			drag: { x: false, y: false },
			points: { show: shape === "lines" },
			...(link !== undefined && { sync: { key: link, scales: ["x", null] } }),
		},
		scales: {
			x: {
				time: false,
				// With a single request, the range must not be empty.
				range: (_, low, high) => [low - pad, high === low ? high + Math.max(pad, 0.5) : high + pad],
			},
			y: { range: (_, __, high) => [0, high > 0 ? high * 1.08 : 1] },
		},
		series: [
			{},
			...(shape === "columns" ? series.toReversed() : series),
			...(marks ? [markSeries] : []),
		],
		// Each area is filled down to the one below it.
		bands:
			shape === "areas"
				? rows.slice(1).map((_, at) => ({ series: [at + 2, at + 1] as uPlot.Band.Bounds }))
				: [],
		axes: [
			{
				...axis,
				...{ label: unit, size: 26, space: 70, grid: { show: false } },
				incrs: [...steps],
				values: (_, splits) => splits.map((split) => nameOf(split, true)),
			},
			// The size is fixed, because uPlot's own guess clips labels of five digits.
			{
				...axis,
				...{ label: quantity, size: 58, space: 34 },
				...(isWhole && { incrs: WHOLE_STEPS }),
				values: (_, splits) => splits.map(format),
			},
		],
	};
}

const WHOLE_STEPS = Array.from({ length: 10 }, (_, at) =>
	[1, 2, 5].map((one) => one * 10 ** at),
).flat();
const BAD = "--bad";

function seriesOf(row: ChartRow, shape: ChartProps["shape"], colourOf: ColourOf): uPlot.Series {
	const colour = colourOf(row.colour);
	const base = { label: row.name, stroke: colour, points: { show: false } };
	if (shape === "lines") {
		// A line of one point is invisible.
		const known = row.values.filter((value) => value !== null);
		return { ...base, width: 2, points: { show: known.length < 3 } };
	}
	const bars = shape === "columns" ? uPlot.paths.bars?.({ size: [0.85, 48], gap: 1 }) : undefined;
	return { ...base, width: shape === "areas" ? 1 : 0, fill: colour, ...(bars && { paths: bars }) };
}

export function stacked(rows: readonly (readonly (number | null)[])[]): number[][] {
	const sums: number[] = [];
	return rows.map((row) =>
		row.map((value, at) => {
			const sum = (sums[at] ?? 0) + (Number.isFinite(value) ? Number(value) : 0);
			sums[at] = sum;
			return sum;
		}),
	);
}

/** Resolves CSS variables to colours for a canvas. Only a computed style has `light-dark(…)` resolved. */
function colourIn(element: HTMLElement): ColourOf {
	return (variable) => {
		const probe = element.appendChild(document.createElement("span"));
		probe.style.color = `var(${variable})`;
		const { color } = getComputedStyle(probe);
		probe.remove();
		return color;
	};
}

type ColourOf = (variable: string) => string;

function useDarkness(): boolean {
	const list = useMemo(() => matchMedia("(prefers-color-scheme: dark)"), []);
	const [isDark, setIsDark] = useState(list.matches);
	useEffect(() => {
		const follow = () => setIsDark(list.matches);
		list.addEventListener("change", follow);
		return () => list.removeEventListener("change", follow);
	}, []);
	return isDark;
}
