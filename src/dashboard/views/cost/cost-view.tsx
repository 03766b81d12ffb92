import "./cost.css";
import { useMemo } from "preact/hooks";
import type { Data } from "../../../protocol/index.ts";
import { useAnswer } from "../../answer.ts";
import {
	ago,
	dollars,
	formatCount,
	formatDifference,
	formatNumberOf,
	formatPrice,
	formatShare,
	short,
} from "../../parts/figures.ts";
import { Answered, Empty } from "../../parts/notices.tsx";
import { stretchesOf } from "../../parts/text.tsx";
import type { SessionViewProps } from "../../session/open-session.ts";
import { type Figure, Figures, Section, useNow } from "../section.tsx";
import { FILE_COLUMN, Table } from "../table.tsx";
import { CAUSE_COLUMN, DIFFERENCE_COLUMN } from "./cause.tsx";
import { CostCharts, missRows } from "./cost-charts.tsx";
import { SavingsTable } from "./savings-table.tsx";

export function CostView({ sessionId, changes }: SessionViewProps) {
	const version = changes.value;
	const savings = useAnswer("get_savings", { sessionId }, version);
	const tiers = useAnswer("get_tiers", { sessionId }, version);
	return (
		<div class="view">
			<Answered asked={useAnswer("get_cost", { sessionId }, version)} waiting="Adding up…">
				{(cost) =>
					cost.totals.requests === 0 ? (
						<Empty>No request has been answered yet: there is nothing to pay.</Empty>
					) : (
						<>
							<CostTotals totals={cost.totals} />
							<CostCharts cost={cost} />
							<MissTable cost={cost} />
						</>
					)
				}
			</Answered>
			<Answered asked={savings}>{(data) => <SavingsTable savings={data} />}</Answered>
			<Answered asked={tiers}>{(data) => <WorkingSet tiers={data} />}</Answered>
		</div>
	);
}

function CostTotals({ totals }: { totals: Data<"Cost">["totals"] }) {
	const { read, write, input, output, cost, outputDollars, misses, missedTokens } = totals;
	const prompt = read + write + input;
	const again = `${short(missedTokens)} tokens again, ${formatPrice(totals.missCost)}`;
	return (
		<Section title="So far">
			<Figures
				of={[
					["Prompts", formatPrice(cost), formatNumberOf(totals.requests, "request")],
					compared("Against pi alone", cost, totals.appendOnlyCost),
					compared("Against no cache", cost, totals.noCacheCost),
					[
						"Read from the cache",
						formatShare(prompt > 0 ? read / prompt : 0),
						`${short(read)} of ${short(prompt)} tokens`,
					],
					["Misses", misses, misses === 0 ? "none" : again, misses > 0 ? "bad" : undefined],
					outputDollars === undefined
						? ["Answers", short(output), "tokens"]
						: ["Answers", dollars(outputDollars), `${short(output)} tokens`],
				]}
			/>
			<p class="soft small">{piAloneNote(totals)}</p>
		</Section>
	);
}

function compared(name: string, cost: Data<"Price">, other: Data<"Price">): Figure {
	const unit = cost.dollars !== undefined && other.dollars !== undefined ? "dollars" : "tokens";
	const ours = cost[unit] ?? 0;
	const theirs = other[unit] ?? 0;
	const tone = ours < theirs * 0.9995 ? "good" : ours > theirs * 1.0005 ? "bad" : undefined;
	return [name, formatDifference(ours, theirs), `instead of ${formatPrice(other)}`, tone];
}

/** The bill of pi alone is imagined, so the note says where it goes too far. */
export function piAloneNote(
	totals: Pick<Data<"Cost">["totals"], "requests" | "appendOnlyOverLimit">,
): string {
	const meaning =
		"Pi alone: the same requests, append-only, with what markers, diffs and stubs stand for still in them.";
	const { requests, appendOnlyOverLimit: over = 0 } = totals;
	if (over === 0) return meaning;
	return `${meaning} ${over} of the ${requests} would have been past the point where pi compacts; that is not counted.`;
}

function MissTable({ cost }: { cost: Data<"Cost"> }) {
	const { requests, totals } = cost;
	const rows = useMemo(() => missRows(cost), [cost]);
	const now = useNow();
	// Totals cover more than the list when a session is long.
	const listed =
		requests.length < totals.requests ? ` in the latest ${requests.length} requests` : "";
	return (
		<Section title="Misses and their causes">
			{rows.length === 0 ? (
				<p class="soft">The cache was never missed{listed}.</p>
			) : (
				<Table
					label="Misses"
					rows={rows}
					most={50}
					keyOf={({ number }) => number}
					columns={[
						{ title: "Request", cell: ({ number }) => number, align: "right", isRowHeader: true },
						CAUSE_COLUMN,
						["Tokens", ({ tokens }) => short(tokens)],
						["Cost", (row) => formatPrice(row.cost)],
						DIFFERENCE_COLUMN,
						["When", ({ atMs }) => ago(atMs, now), "soft"],
					]}
				/>
			)}
		</Section>
	);
}

const LAYOUTS: Readonly<Record<Data<"Tiers">["layout"], string>> = {
	log: "Files lie in the conversation, and what changes is added at its end.",
	tiers: "Files lie before the conversation, the most stable first.",
	off: "The working set is empty or switched off.",
};

function WorkingSet({ tiers }: { tiers: Data<"Tiers"> }) {
	const now = useNow();
	const { layout, files, picture } = tiers;
	return (
		<Section title="Working set">
			<p class="soft">{LAYOUTS[layout]}</p>
			{files.length > 0 && (
				<Table
					label="Files of the working set"
					rows={files}
					most={200}
					keyOf={({ path }) => path}
					columns={[
						FILE_COLUMN,
						{ title: "Tier", cell: ({ tier }) => <span class={`tier is-${tier}`}>{tier}</span> },
						["Answers unchanged", ({ n }) => formatCount(n), "roomy"],
						["Tokens", ({ tokens }) => short(tokens)],
						["Cache hits", ({ hits }) => formatCount(hits), "roomy"],
						["Changed", ({ lastChangeMs: at }) => (at > 0 ? ago(at, now) : "–"), "soft"],
					]}
				/>
			)}
			{picture !== "" && (
				// biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
				<section class="prompt-picture" aria-label="The prompt from first to last" tabIndex={0}>
					<pre>{stretchesOf(picture)}</pre>
				</section>
			)}
		</Section>
	);
}
