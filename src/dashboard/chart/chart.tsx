import "uplot/dist/uPlot.min.css";
import "./chart.css";
import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { theme } from "../theme.ts";
import { coloursAt } from "./colours.ts";
import { type ChartContent, plotData, plotOptions } from "./uplot-options.ts";
import { useDarkness } from "./use-darkness.ts";

interface ChartProps extends ChartContent {
	/** What there is to see, for those who do not see it; the figures must also stand in a table. */
	label: string;
	/** What a number on the lower axis counts, such as `Request`. */
	of: string;
	/** What the marks are. */
	marksName?: string;
	height?: number;
}

/** A chart of values over requests. Above it stand the values under the pointer, or the latest. */
export function Chart({ label, of, marksName, height = 200, ...content }: ChartProps) {
	const place = useRef<HTMLDivElement>(null);
	const pointed = useSignal<number | null>(null);
	const isDark = useDarkness();
	const { shape, numbers, rows, marks } = content;
	useEffect(() => {
		const element = place.current;
		if (!element || numbers.length === 0) return;
		const size = () => ({ width: Math.max(120, element.clientWidth), height });
		const plot = new uPlot(
			plotOptions(content, coloursAt(element), {
				...size(),
				onPoint: (at) => {
					pointed.value = at;
				},
			}),
			plotData(content),
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
			<Readout of={of} content={content} pointed={pointed} marksName={marksName} />
			<div class="chart-plot" ref={place} role="img" aria-label={label} />
		</figure>
	);
}

interface ReadoutProps {
	of: string;
	content: ChartContent;
	pointed: Signal<number | null>;
	marksName: string | undefined;
}

/** The names of the rows in their colours, with their values. */
function Readout({ of, content, pointed, marksName }: ReadoutProps) {
	const { numbers, rows, marks, format } = content;
	const at = pointed.value ?? numbers.length - 1;
	return (
		<figcaption class="chart-readout">
			<span class="chart-at">
				{of} {numbers[at] ?? "–"}
			</span>
			{rows.map(({ name, values, colour }) => (
				<span class="chart-name" key={name}>
					<svg class="swatch" viewBox="0 0 10 10" aria-hidden="true">
						<rect width="10" height="10" rx="2" fill={`var(${colour})`} />
					</svg>
					{name} <b class="number">{format(values[at] ?? 0)}</b>
				</span>
			))}
			{marks && marksName && (
				<span class="chart-name">
					<svg class="swatch" viewBox="0 0 10 10" aria-hidden="true">
						<circle cx="5" cy="5" r="4" fill="var(--bad)" />
					</svg>
					{marksName}
				</span>
			)}
		</figcaption>
	);
}
