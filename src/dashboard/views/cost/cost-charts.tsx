import { useMemo, useState } from "preact/hooks";
import type { Data } from "../../../protocol/index.ts";
import { MISS_CAUSES, missAdvice } from "../../../text/miss-causes.ts";
import { Chart } from "../../chart/chart.tsx";
import { Fold } from "../../parts/controls.tsx";
import { ago, dollars, pricesAligned, short } from "../../parts/figures.ts";
import { PlainText } from "../../parts/text.tsx";
import { MadeUp } from "../../session/demo-banner.tsx";
import { Section, useNow } from "../section.tsx";
import { type Column, type Columns, Table } from "../table.tsx";

interface CostProps {
	readonly cost: Data<"Cost">;
	readonly hasMadeUpPrices: boolean;
}

export function CostCharts({ cost, hasMadeUpPrices }: CostProps) {
	const bill = useMemo(() => billSeries(cost), [cost]);
	return (
		<div class="two-columns">
			<PromptChart cost={cost} />
			<Section
				title={bill.unit === "dollars" ? "Cumulative cost" : "Cumulative cost, in tokens"}
				isMadeUp={hasMadeUpPrices && bill.unit === "dollars"}
			>
				<Chart
					label="Cumulative cost of the prompts, compared with pi alone and with no cache"
					unit="Request"
					quantity={bill.unit === "dollars" ? "Dollars" : "Tokens"}
					link="requests"
					shape="lines"
					numbers={bill.numbers}
					rows={bill.rows}
					format={bill.unit === "dollars" ? dollars : short}
				/>
			</Section>
			<RequestTable cost={cost} hasMadeUpPrices={hasMadeUpPrices} />
		</div>
	);
}

export function PromptChart({ cost }: { cost: Bills }) {
	const prompts = useMemo(() => promptSeries(cost), [cost]);
	return (
		<Section title="Prompt tokens by request">
			<Chart
				label="Tokens read from the cache, written to it and uncached, by request"
				unit="Request"
				quantity="Tokens"
				link="requests"
				shape="columns"
				numbers={prompts.numbers}
				rows={prompts.rows}
				marks={prompts.missed}
				marksName="Cache miss"
				format={short}
			/>
		</Section>
	);
}

const MAX_LINES = 50;

type NumberedRequest = readonly [number: number, request: Data<"CostRequest">];

type Counted = Pick<Data<"CostRequest">, "model" | "read" | "write" | "input" | "output">;

export const TOKEN_COLUMNS: Columns<readonly [number: number, request: Counted]> = [
	{ title: "#", cell: ([number]) => number, align: "right", isRowHeader: true },
	{ title: "Model", cell: ([, { model }]) => <PlainText text={model} max={80} />, class: "roomy" },
	["Read", ([, { read }]) => short(read)],
	["Written", ([, { write }]) => short(write)],
	["Uncached", ([, { input }]) => short(input), "roomy"],
	["Answer", ([, { output }]) => short(output)],
];

function requestColumns(requests: readonly Data<"CostRequest">[]): Columns<NumberedRequest> {
	const format = pricesAligned(requests.map(({ noCacheCost }) => noCacheCost));
	return [
		...TOKEN_COLUMNS,
		["Prompt", ([, { cost }]) => format(cost)],
		["Pi alone", ([, { appendOnlyCost }]) => format(appendOnlyCost)],
		["No cache", ([, { noCacheCost }]) => format(noCacheCost)],
		{ title: "Thinking", cell: ([, { thinkingDropped: n }]) => n && `${n} dropped` },
		{
			title: "Miss",
			cell: ([, { miss }]) => miss && <PlainText text={causeName(miss.cause)} max={80} />,
		},
	];
}

function RequestTable({ cost: { requests, totals }, hasMadeUpPrices }: CostProps) {
	const [isOpen, setIsOpen] = useState(false);
	const latest = requests
		.slice(-MAX_LINES)
		.reverse()
		.map((request, at): NumberedRequest => [totals.requests - at, request]);
	return (
		<div class="card all-columns">
			<Fold
				summary={
					<>
						Requests as a table <MadeUp isShown={hasMadeUpPrices && isOpen} />
					</>
				}
				isOpen={isOpen}
				onToggle={setIsOpen}
			>
				<Table
					label="The latest requests"
					rows={latest}
					keyOf={([number]) => number}
					columns={requestColumns(requests)}
				/>
			</Fold>
		</div>
	);
}

interface MissTableProps {
	readonly cost: Bills;
	readonly hasMadeUpPrices?: boolean;
}

export function MissTable({ cost, hasMadeUpPrices = false }: MissTableProps) {
	const { requests, totals } = cost;
	const rows = useMemo(() => missRows(cost), [cost]);
	const format = pricesAligned(rows.map((row) => row.cost));
	const now = useNow();
	// In a long session the totals cover more requests than the list.
	const listed =
		requests.length < totals.requests ? ` in the latest ${requests.length} requests` : "";
	return (
		<Section
			title="Misses and their causes"
			isMadeUp={hasMadeUpPrices && rows.some((row) => row.cost.dollars !== undefined)}
		>
			{rows.length === 0 ? (
				<p class="soft">No cache misses{listed}.</p>
			) : (
				<Table
					label="Misses"
					rows={rows}
					maxRows={50}
					keyOf={({ number }) => number}
					columns={[
						{ title: "Request", cell: ({ number }) => number, align: "right", isRowHeader: true },
						CAUSE_COLUMN,
						["Tokens", ({ tokens }) => short(tokens), "roomy"],
						["Cost", (row) => format(row.cost)],
						...(rows.some(({ changed }) => changed !== undefined) ? [DIFFERENCE_COLUMN] : []),
						["When", ({ atMs }) => ago(atMs, now), "soft roomy"],
					]}
				/>
			)}
		</Section>
	);
}

/** Requests with their bills, the latest of `totals.requests`. */
interface Bills {
	readonly requests: readonly Pick<
		Data<"CostRequest">,
		"atMs" | "read" | "write" | "input" | "miss"
	>[];
	readonly totals: { readonly requests: number };
}

/** `missed` is the height of the column of each request with a cache miss, else null. */
export function promptSeries(cost: Bills) {
	const { requests } = cost;
	return {
		numbers: numbersOf(cost),
		rows: [
			{ name: "Read", values: requests.map(({ read }) => read), colour: "--series-3" },
			{ name: "Written", values: requests.map(({ write }) => write), colour: "--series-4" },
			{ name: "Uncached", values: requests.map(({ input }) => input), colour: "--series-2" },
		],
		missed: requests.map(({ miss, read, write, input }) => (miss ? read + write + input : null)),
	};
}

export function billSeries(cost: Data<"Cost">) {
	const { requests } = cost;
	const isPriced = requests.every((request) =>
		[request.cost, request.appendOnlyCost, request.noCacheCost].every(
			({ dollars }) => dollars !== undefined,
		),
	);
	const unit = isPriced ? "dollars" : "tokens";
	const cumulative = (price: "cost" | "appendOnlyCost" | "noCacheCost") => {
		let sum = 0;
		return requests.map((request) => {
			sum += request[price][unit] ?? 0;
			return sum;
		});
	};
	return {
		unit,
		numbers: numbersOf(cost),
		rows: [
			{ name: "No cache", values: cumulative("noCacheCost"), colour: "--series-7" },
			{ name: "Pi alone", values: cumulative("appendOnlyCost"), colour: "--series-4" },
			{ name: "Paid", values: cumulative("cost"), colour: "--series-1" },
		],
	};
}

/** The cache misses, latest first. */
export function missRows(cost: Bills) {
	const numbers = numbersOf(cost);
	return cost.requests
		.flatMap(({ miss, atMs }, at) => (miss ? [{ ...miss, number: numbers[at] ?? 0, atMs }] : []))
		.reverse();
}

/** The numbers of the requests. The session's first request is 1; the list may lack the oldest. */
export function numbersOf({ requests, totals }: Bills): number[] {
	const first = Math.max(0, totals.requests - requests.length) + 1;
	return requests.map((_, at) => first + at);
}

export const CAUSE_COLUMN: Column<{ cause: string }> = {
	title: "Cause",
	cell: ({ cause }) => {
		const description = causeDescription(cause);
		const advice = missAdvice(cause);
		return (
			<>
				<PlainText class="cause" text={causeName(cause)} max={80} />{" "}
				{description !== cause && <span class="soft">{description}</span>}
				{advice !== undefined && <span class="advice small soft">{advice}</span>}
			</>
		);
	},
	class: "wide",
};

export const DIFFERENCE_COLUMN: Column<{ changed?: string | undefined }> = {
	title: "First difference",
	cell: ({ changed }) => changed !== undefined && <PlainText text={changed} max={200} />,
	class: "wide roomy",
};

/** The short name of a cause. A replay reports pruning as `edit`. */
export function causeName(cause: string): string {
	return cause === "edit" ? "pruning" : cause;
}

export function causeDescription(cause: string): string {
	return new Map<string, string>(Object.entries(MISS_CAUSES)).get(cause) ?? cause;
}
