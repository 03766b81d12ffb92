import { useMemo, useState } from "preact/hooks";
import type { Cost, CostRequest } from "../../../protocol/index.ts";
import { Chart } from "../../chart/chart.tsx";
import { dollars, formatPrice, short } from "../../parts/figures.ts";
import { Fold } from "../../parts/fold.tsx";
import { PlainText } from "../../parts/text.tsx";
import { Section } from "../section.tsx";
import { type Column, Table } from "../table.tsx";
import { causeName } from "./cause.tsx";
import { billSeries, promptSeries } from "./series.ts";

/** What each request sent, and how the bill grew beside what it would have been. */
export function CostCharts({ cost }: { cost: Cost }) {
	const prompts = useMemo(() => promptSeries(cost), [cost]);
	const bill = useMemo(() => billSeries(cost), [cost]);
	const promptRows = useMemo(
		() => [
			{ name: "Read", values: prompts.read, colour: "--series-3" },
			{ name: "Written", values: prompts.write, colour: "--series-4" },
			{ name: "Uncached", values: prompts.input, colour: "--series-2" },
		],
		[prompts],
	);
	const billRows = useMemo(
		() => [
			{ name: "No cache", values: bill.noCache, colour: "--series-7" },
			{ name: "Pi alone", values: bill.appendOnly, colour: "--series-4" },
			{ name: "Paid", values: bill.cost, colour: "--series-1" },
		],
		[bill],
	);
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
type NumberedRequest = readonly [number: number, request: CostRequest];

const REQUEST_COLUMNS: readonly Column<NumberedRequest>[] = [
	{ title: "#", cell: ([number]) => number, align: "right", isRowHeader: true },
	{ title: "Model", cell: ([, { model }]) => <PlainText text={model} most={80} /> },
	{ title: "Read", cell: ([, { read }]) => short(read), align: "right" },
	{ title: "Written", cell: ([, { write }]) => short(write), align: "right" },
	{ title: "Uncached", cell: ([, { input }]) => short(input), align: "right" },
	{ title: "Answer", cell: ([, { output }]) => short(output), align: "right" },
	{ title: "Cost", cell: ([, { cost }]) => formatPrice(cost), align: "right" },
	{
		title: "Pi alone",
		cell: ([, request]) => formatPrice(request.appendOnlyCost),
		align: "right",
	},
	{ title: "No cache", cell: ([, request]) => formatPrice(request.noCacheCost), align: "right" },
	{
		title: "Thinking",
		cell: ([, { thinkingDropped }]) => thinkingDropped && `${thinkingDropped} dropped`,
	},
	{
		title: "Miss",
		cell: ([, { miss }]) => miss && <PlainText text={causeName(miss.cause)} most={80} />,
	},
];

function RequestTable({ cost }: { cost: Cost }) {
	const [isOpen, setIsOpen] = useState(false);
	const { requests, totals } = cost;
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
