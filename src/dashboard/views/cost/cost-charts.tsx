import { useMemo, useState } from "preact/hooks";
import type { Data } from "../../../protocol/index.ts";
import { Chart } from "../../chart/chart.tsx";
import { Fold } from "../../parts/controls.tsx";
import { dollars, formatPrice, short } from "../../parts/figures.ts";
import { PlainText } from "../../parts/text.tsx";
import { Section } from "../section.tsx";
import { type Columns, Table } from "../table.tsx";
import { causeName } from "./cause.tsx";

export function CostCharts({ cost }: { cost: Data<"Cost"> }) {
	const [prompts, promptRows] = useMemo(() => {
		const series = promptSeries(cost);
		const rows = [
			{ name: "Read", values: series.read, colour: "--series-3" },
			{ name: "Written", values: series.write, colour: "--series-4" },
			{ name: "Uncached", values: series.input, colour: "--series-2" },
		];
		return [series, rows] as const;
	}, [cost]);
	const [bill, billRows] = useMemo(() => {
		const series = billSeries(cost);
		const rows = [
			{ name: "No cache", values: series.noCache, colour: "--series-7" },
			{ name: "Pi alone", values: series.appendOnly, colour: "--series-4" },
			{ name: "Paid", values: series.cost, colour: "--series-1" },
		];
		return [series, rows] as const;
	}, [cost]);
	return (
		<div class="two-columns">
			<Section title="Prompt of each request">
				<Chart
					label="Tokens read from the cache, written to it and uncached, by request"
					of="Request"
					shape="columns"
					numbers={prompts.numbers}
					rows={promptRows}
					marks={prompts.missed}
					marksName="Cache missed"
					format={short}
				/>
			</Section>
			<Section title={bill.unit === "dollars" ? "Bill as it grew" : "Bill as it grew, in tokens"}>
				<Chart
					label="What the prompts cost together, beside pi alone and no cache"
					of="Request"
					shape="lines"
					numbers={bill.numbers}
					rows={billRows}
					format={bill.unit === "dollars" ? dollars : short}
				/>
			</Section>
			<RequestTable cost={cost} />
		</div>
	);
}

const MOST_LINES = 50;

/** 1 is the first request of the session. */
type NumberedRequest = readonly [number: number, request: Data<"CostRequest">];

const REQUEST_COLUMNS: Columns<NumberedRequest> = [
	{ title: "#", cell: ([number]) => number, align: "right", isRowHeader: true },
	{ title: "Model", cell: ([, { model }]) => <PlainText text={model} most={80} /> },
	["Read", ([, { read }]) => short(read)],
	["Written", ([, { write }]) => short(write)],
	["Uncached", ([, { input }]) => short(input)],
	["Answer", ([, { output }]) => short(output)],
	["Cost", ([, { cost }]) => formatPrice(cost)],
	["Pi alone", ([, { appendOnlyCost }]) => formatPrice(appendOnlyCost)],
	["No cache", ([, { noCacheCost }]) => formatPrice(noCacheCost)],
	{ title: "Thinking", cell: ([, { thinkingDropped: n }]) => n && `${n} dropped` },
	{
		title: "Miss",
		cell: ([, { miss }]) => miss && <PlainText text={causeName(miss.cause)} most={80} />,
	},
];

function RequestTable({ cost: { requests, totals } }: { cost: Data<"Cost"> }) {
	const [isOpen, setIsOpen] = useState(false);
	const latest = requests
		.slice(-MOST_LINES)
		.reverse()
		.map((request, at): NumberedRequest => [totals.requests - at, request]);
	return (
		<div class="card all-columns">
			<Fold summary="Requests as a table" isOpen={isOpen} onToggle={setIsOpen}>
				<Table
					label="The latest requests"
					rows={latest}
					keyOf={([number]) => number}
					columns={REQUEST_COLUMNS}
				/>
			</Fold>
		</div>
	);
}

/** `missed` is the height of a column where the cache was missed. */
export function promptSeries(cost: Data<"Cost">) {
	const { requests } = cost;
	return {
		numbers: numbersOf(cost),
		read: requests.map(({ read }) => read),
		write: requests.map(({ write }) => write),
		input: requests.map(({ input }) => input),
		missed: requests.map(({ miss, read, write, input }) => (miss ? read + write + input : null)),
	};
}

/** In dollars if all prices are known. */
export function billSeries(cost: Data<"Cost">) {
	const { requests } = cost;
	const isPriced = requests.every((request) =>
		[request.cost, request.appendOnlyCost, request.noCacheCost].every(
			({ dollars }) => dollars !== undefined,
		),
	);
	const unit = isPriced ? "dollars" : "tokens";
	const grown = (pick: (request: Data<"CostRequest">) => Data<"Price">) => {
		let sum = 0;
		return requests.map((request) => {
			sum += pick(request)[unit] ?? 0;
			return sum;
		});
	};
	return {
		unit,
		numbers: numbersOf(cost),
		cost: grown((request) => request.cost),
		appendOnly: grown(({ appendOnlyCost }) => appendOnlyCost),
		noCache: grown(({ noCacheCost }) => noCacheCost),
	};
}

interface MissRow extends Data<"CacheMiss"> {
	readonly number: number;
	readonly atMs: number;
}

/** The latest first. */
export function missRows(cost: Data<"Cost">): MissRow[] {
	const numbers = numbersOf(cost);
	return cost.requests
		.flatMap(({ miss, atMs }, at) => (miss ? [{ ...miss, number: numbers[at] ?? 0, atMs }] : []))
		.reverse();
}

/** 1 is the first request of the session; the list may begin late. */
function numbersOf({ requests, totals }: Data<"Cost">): number[] {
	const first = Math.max(0, totals.requests - requests.length) + 1;
	return requests.map((_, at) => first + at);
}
