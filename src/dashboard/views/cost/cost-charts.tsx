import { useMemo, useState } from "preact/hooks";
import type { Cost } from "../../../protocol/index.ts";
import { Chart } from "../../chart/chart.tsx";
import { dollars, short } from "../../parts/figures.ts";
import { Fold } from "../../parts/fold.tsx";
import { PlainText } from "../../parts/text.tsx";
import { formatPrice } from "../format.ts";
import { Section, TableBox } from "../section.tsx";
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
			{ name: "Append-only", values: bill.appendOnly, colour: "--series-4" },
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
					label="What the prompts cost together, beside append-only and no cache"
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

function RequestTable({ cost }: { cost: Cost }) {
	const [isOpen, setIsOpen] = useState(false);
	const { requests, totals } = cost;
	const latest = requests.slice(-MOST_LINES).reverse();
	return (
		<div class="card all-columns">
			<Fold summary="Requests as a table" isOpen={isOpen} onToggle={setIsOpen}>
				<TableBox label="The latest requests">
					<thead>
						<tr>
							<th scope="col" class="right">
								#
							</th>
							<th scope="col">Model</th>
							{["Read", "Written", "Uncached", "Answer", "Cost", "Append-only", "No cache"].map(
								(name) => (
									<th scope="col" class="right" key={name}>
										{name}
									</th>
								),
							)}
							<th scope="col">Miss</th>
						</tr>
					</thead>
					<tbody>
						{latest.map((request, at) => (
							<tr key={totals.requests - at}>
								<th scope="row" class="right">
									{totals.requests - at}
								</th>
								<td>
									<PlainText text={request.model} most={80} />
								</td>
								<td class="right">{short(request.read)}</td>
								<td class="right">{short(request.write)}</td>
								<td class="right">{short(request.input)}</td>
								<td class="right">{short(request.output)}</td>
								<td class="right">{formatPrice(request.cost)}</td>
								<td class="right">{formatPrice(request.appendOnlyCost)}</td>
								<td class="right">{formatPrice(request.noCacheCost)}</td>
								<td>{request.miss && <PlainText text={request.miss.cause} most={80} />}</td>
							</tr>
						))}
					</tbody>
				</TableBox>
			</Fold>
		</div>
	);
}
