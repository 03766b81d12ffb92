import "./chart.css";
import { type Signal, signal, useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { PlainText } from "../parts/text.tsx";
import { type ChartValues, type Layout, layOut, MARGIN, outline } from "./layout.ts";

interface ChartProps extends ChartValues {
	/** Text for screen readers. The page must also show the figures in a table. */
	readonly label: string;
	/** The unit of the x axis, such as `Request`. */
	readonly unit: string;
	/** What an x value is called; shorter below the axis. Default: the number. */
	nameOf?(number: number, isBelowAxis: boolean): string;
	readonly marks?: readonly (number | null)[];
	readonly marksName?: string;
	/** A CSS variable. Default: that of bad news. */
	readonly marksColour?: string;
	readonly height?: number;
	/** The name of the y axis, such as `Tokens`. */
	readonly quantity: string;
	/** Charts with the same name point at the same number. */
	readonly link?: string;
	format(value: number): string;
	/** Called for a click on a number, and for Enter after the arrow keys have chosen one. */
	onPick?(number: number): void;
}

/** A chart of values by number. Above it are the values at the pointer; without a pointer, the latest. */
export function Chart(props: ChartProps) {
	const { label, unit, shape, numbers, rows, steps, link, height = 220 } = props;
	const { nameOf = String, onPick } = props;
	const own = useSignal<number | null>(null);
	const pointed = link === undefined ? own : pointedIn(link);
	const place = useRef<HTMLDivElement>(null);
	const [width, setWidth] = useState(0);
	useEffect(() => {
		const element = place.current;
		if (!element) return;
		const observer = new ResizeObserver(() => setWidth(element.clientWidth));
		observer.observe(element);
		return () => observer.disconnect();
	}, []);
	const layout = useMemo(
		() => layOut({ shape, numbers, rows, ...(steps && { steps }) }, Math.max(120, width), height),
		[shape, numbers, rows, steps, width, height],
	);
	const lastAt = numbers.length - 1;
	const at = pointed.value === null ? -1 : numbers.indexOf(pointed.value);
	const shownAt = at < 0 ? lastAt : at;
	const point = (next: number | undefined) => {
		pointed.value = numbers[Math.max(0, Math.min(lastAt, next ?? shownAt))] ?? null;
	};
	function onKeyDown(event: KeyboardEvent): void {
		const chosen = numbers[shownAt];
		if (event.key === "Enter" && chosen !== undefined) onPick?.(chosen);
		else if (event.key in STEPS_OF_KEYS) point(shownAt + (STEPS_OF_KEYS[event.key] ?? 0));
		else return;
		event.preventDefault();
	}
	const indexAt = (event: MouseEvent) => {
		const { left = 0 } = place.current?.getBoundingClientRect() ?? {};
		return layout.nearest(event.clientX - left);
	};
	const shown = numbers[shownAt] ?? 0;
	const picture = { role: "img" as const, "aria-label": label };
	const slider = {
		role: "slider" as const,
		"aria-label": label,
		tabIndex: 0,
		"aria-valuemin": numbers[0] ?? 0,
		"aria-valuemax": numbers[lastAt] ?? 0,
		"aria-valuenow": shown,
		"aria-valuetext": `${unit} ${nameOf(shown, false)}`,
		onKeyDown,
		onClick: (event: MouseEvent) => {
			const picked = numbers[indexAt(event)];
			if (picked !== undefined) onPick?.(picked);
		},
	};
	return (
		<figure class="chart">
			<Readout {...props} at={shownAt} />
			{/* As high as the picture before it is drawn, so that nothing below moves. */}
			<div
				class={`chart-plot ${onPick ? "is-picked" : ""}`}
				ref={place}
				style={{ minHeight: `${height}px` }}
				onPointerMove={(event) => point(indexAt(event))}
				onPointerLeave={() => {
					pointed.value = null;
				}}
				{...(onPick ? slider : picture)}
			>
				{width > 0 && lastAt >= 0 && (
					<svg width={Math.max(120, width)} height={height} aria-hidden="true">
						<Picture {...props} layout={layout} height={height} />
						{at >= 0 && <Cursor {...props} layout={layout} at={at} />}
					</svg>
				)}
			</div>
		</figure>
	);
}

/** How far the keys go in a chart whose numbers can be picked. */
const STEPS_OF_KEYS: Readonly<Record<string, number>> = {
	ArrowLeft: -1,
	ArrowDown: -1,
	ArrowRight: 1,
	ArrowUp: 1,
	PageDown: -10,
	PageUp: 10,
	Home: Number.NEGATIVE_INFINITY,
	End: Number.POSITIVE_INFINITY,
};

const BAD = "--bad";

/** The numbers that linked charts point at, by the name of their link. */
const linked = new Map<string, Signal<number | null>>();

function pointedIn(link: string): Signal<number | null> {
	const known = linked.get(link) ?? signal(null);
	linked.set(link, known);
	return known;
}

function Readout(props: ChartProps & { at: number }) {
	const { unit, numbers, rows, marks, marksName, marksColour = BAD, at, format } = props;
	const { nameOf = String } = props;
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

type PictureProps = ChartProps & { readonly layout: Layout; readonly height: number };

/** Everything but the cursor; drawn again only when the values or the size have changed. */
function Picture(props: PictureProps) {
	const { layout, numbers, rows, marks, marksColour = BAD, height } = props;
	return useMemo(() => {
		const { shape, unit, quantity, format, nameOf = String } = props;
		const { x, y, left, right, floor, xLabels, yLabels } = layout;
		const middle = (MARGIN.top + floor) / 2;
		return (
			<>
				{yLabels.map((value) => (
					<g key={value}>
						<path class="chart-grid" d={`M${left} ${y(value)}H${right}`} />
						<text class="is-end" x={left - 8} y={y(value) + 4}>
							{format(value)}
						</text>
					</g>
				))}
				<text x={12} y={middle} transform={`rotate(-90 12 ${middle})`}>
					{quantity}
				</text>
				{xLabels.map((number) => (
					<text key={number} x={x(number)} y={floor + 17}>
						{nameOf(number, true)}
					</text>
				))}
				<text x={(left + right) / 2} y={height - 6}>
					{unit}
				</text>
				{rows.map(({ name, colour, values }, row) => {
					const isFew = values.filter((value) => value !== null).length < 3;
					return (
						<g key={name} style={{ color: `var(${colour})` }}>
							<path class={`chart-${shape}`} d={outline(layout, props, row)} />
							{/* A line of one point is hardly visible. */}
							{shape === "lines" && isFew && <Dots {...props} values={values} radius={3} />}
						</g>
					);
				})}
				<g style={{ color: `var(${marksColour})` }}>
					<Dots {...props} values={marks ?? []} radius={4} />
				</g>
			</>
		);
	}, [layout, numbers, marks, height]);
}

type DotsProps = PictureProps & { readonly values: readonly (number | null)[]; radius: number };

function Dots({ layout: { x, y }, numbers, values, radius }: DotsProps) {
	return values.map(
		(value, at) =>
			value !== null && (
				<circle key={at} cx={x(numbers[at] ?? 0)} cy={y(value)} r={radius} fill="currentColor" />
			),
	);
}

function Cursor({ layout, numbers, rows, shape, at }: ChartProps & { layout: Layout; at: number }) {
	const { x, y, floor } = layout;
	const place = x(numbers[at] ?? 0);
	return (
		<>
			<path class="chart-cursor" d={`M${place} ${MARGIN.top}V${floor}`} />
			{shape === "lines" &&
				rows.map(({ name, values, colour }) => {
					const value = values[at] ?? null;
					return (
						value !== null && (
							<circle key={name} cx={place} cy={y(value)} r={3} fill={`var(${colour})`} />
						)
					);
				})}
		</>
	);
}
