/** What a chart draws: values by increasing whole numbers. */
export interface ChartValues {
	/** `areas` and `columns` are stacked, the first row at the bottom. */
	readonly shape: "areas" | "columns" | "lines";
	/** The x values: increasing integers. */
	readonly numbers: readonly number[];
	readonly rows: readonly ChartRow[];
	/** Possible distances of the labels below the x axis, whole numbers. */
	readonly steps?: readonly number[];
}

interface ChartRow {
	readonly name: string;
	/** `null`: nothing is known, and a line is interrupted. */
	readonly values: readonly (number | null)[];
	/** A CSS variable, such as `--series-1`. */
	readonly colour: string;
}

/** Room around the plot, for the axes and their names, in pixels. */
export const MARGIN = { left: 76, right: 10, top: 6, bottom: 38 };
const LABEL_WIDTH = 70;
const LABEL_HEIGHT = 34;
const MAX_COLUMN = 48;

/** Where everything of a chart is in a picture of this size. */
export function layOut(chart: ChartValues, width: number, height: number) {
	const { shape, numbers, rows, steps = WHOLE_STEPS } = chart;
	const [first = 0, second = first + 1] = numbers;
	const pad = shape === "columns" ? 0.6 * (second - first) : 0; // half a column at each end
	const low = first - pad;
	// With a single number, the range must not be empty.
	const high = Math.max((numbers.at(-1) ?? first) + pad, low + 0.5);
	const drawn = shape === "lines" ? rows.map(({ values }) => values) : stacked(rows);
	const top = 1.08 * drawn.reduce((most, row) => row.reduce(larger, most), 0) || 1;
	const plotWidth = Math.max(1, width - MARGIN.left - MARGIN.right);
	const plotHeight = Math.max(1, height - MARGIN.top - MARGIN.bottom);
	const x = (number: number) => rounded(MARGIN.left + ((number - low) / (high - low)) * plotWidth);
	const y = (value: number) => rounded(MARGIN.top + (1 - value / top) * plotHeight);
	const distance = plotWidth / (high - low);
	// Numbers of requests or tokens have no halves.
	const isWhole = rows.every(({ values }) => values.every((value) => Number.isInteger(value ?? 0)));
	return {
		x,
		y,
		left: MARGIN.left,
		right: MARGIN.left + plotWidth,
		floor: MARGIN.top + plotHeight,
		/** For `areas` and `columns`, the values with those below them. */
		drawn,
		columnWidth: Math.max(1, Math.min(MAX_COLUMN, 0.85 * (second - first) * distance - 1)),
		xLabels: multiples(low, high, (high - low) * (LABEL_WIDTH / plotWidth), steps),
		yLabels: multiples(0, top, top * (LABEL_HEIGHT / plotHeight), isWhole ? WHOLE_STEPS : STEPS),
		/** The index of the number that is nearest to a place on the x axis. */
		nearest(place: number): number {
			const wanted = low + (place - MARGIN.left) / distance;
			const after = numbers.findIndex((number) => number >= wanted);
			if (after < 0) return numbers.length - 1;
			const [before = Number.NEGATIVE_INFINITY, next = 0] = [numbers[after - 1], numbers[after]];
			return wanted - before < next - wanted ? after - 1 : after;
		},
	};
}

export type Layout = ReturnType<typeof layOut>;

/** The outline of one row. */
export function outline(layout: Layout, { shape, numbers }: ChartValues, row: number): string {
	const { x, y, drawn, floor, columnWidth } = layout;
	const tops = drawn[row] ?? [];
	const below = drawn[row - 1] ?? [];
	if (shape === "lines") {
		// A gap ends a line. One point alone is a dot, by the round ends of lines.
		return tops
			.map((value, at) => {
				if (value === null) return "";
				const isStart = (tops[at - 1] ?? null) === null;
				return `${isStart ? "M" : "L"}${x(numbers[at] ?? 0)} ${y(value)}${isStart ? "h0" : ""}`;
			})
			.join("");
	}
	if (shape === "columns") {
		return tops
			.map((value, at) => {
				const base = at in below ? y(below[at] ?? 0) : floor;
				const upper = y(value ?? 0);
				if (upper >= base) return "";
				const left = rounded(x(numbers[at] ?? 0) - columnWidth / 2);
				return `M${left} ${base}V${upper}h${rounded(columnWidth)}V${base}Z`;
			})
			.join("");
	}
	const upper = tops.map((value, at) => `${x(numbers[at] ?? 0)} ${y(value ?? 0)}`);
	const lower = numbers.map((number, at) => `${x(number)} ${y(below[at] ?? 0)}`).reverse();
	return upper.length === 0 ? "" : `M${[...upper, ...lower].join("L")}Z`;
}

/** Each row's values with those of the rows before it. What is not a number counts as 0. */
export function stacked(rows: readonly Pick<ChartRow, "values">[]): number[][] {
	const sums: number[] = [];
	return rows.map(({ values }) =>
		values.map((value, at) => {
			const sum = (sums[at] ?? 0) + (Number.isFinite(value) ? Number(value) : 0);
			sums[at] = sum;
			return sum;
		}),
	);
}

/** The multiples of the smallest of the steps that is not below the least distance. */
function multiples(low: number, high: number, least: number, steps: readonly number[]): number[] {
	const step = steps.find((one) => one >= least) ?? least;
	const first = Math.ceil(low / step);
	const count = Math.floor(high / step) - first + 1;
	return Array.from({ length: Math.max(0, count) }, (_, at) => (first + at) * step);
}

const stepsFrom = (power: number) =>
	Array.from({ length: 14 }, (_, at) => [1, 2, 5].map((one) => one * 10 ** (power + at))).flat();
const WHOLE_STEPS = stepsFrom(0);
const STEPS = stepsFrom(-6);

function larger(most: number, value: number | null): number {
	return Number.isFinite(value) ? Math.max(most, Number(value)) : most;
}

function rounded(place: number): number {
	return Math.round(place * 10) / 10;
}
