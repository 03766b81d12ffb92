import "./cost.css";
import { useMemo } from "preact/hooks";
import type { Cost, Price, Tiers } from "../../../protocol/index.ts";
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
import { Empty, Problem } from "../../parts/notices.tsx";
import { stretchesOf } from "../../parts/text.tsx";
import type { SessionViewProps } from "../../session/open-session.ts";
import { Figure, Figures, Section, useNow } from "../section.tsx";
import { FILE_COLUMN, Table } from "../table.tsx";
import { Cause, FirstDifference } from "./cause.tsx";
import { CostCharts } from "./cost-charts.tsx";
import { SavingsTable } from "./savings-table.tsx";
import { missRows } from "./series.ts";

/** What the session has cost, why, and what our systems saved. */
export function CostView({ sessionId, changes }: SessionViewProps) {
	const version = changes.value;
	const cost = useAnswer("get_cost", { sessionId }, version);
	const savings = useAnswer("get_savings", { sessionId }, version);
	const tiers = useAnswer("get_tiers", { sessionId }, version);
	return (
		<div class="view">
			{cost.error !== undefined && <Problem text={cost.error} onRetry={cost.refresh} />}
			{!cost.data && cost.error === undefined && <Empty>Adding up…</Empty>}
			{cost.data?.totals.requests === 0 && (
				<Empty>No request has been answered yet: there is nothing to pay.</Empty>
			)}
			{cost.data && cost.data.totals.requests > 0 && (
				<>
					<CostTotals totals={cost.data.totals} />
					<CostCharts cost={cost.data} />
					<MissTable cost={cost.data} />
				</>
			)}
			{savings.error !== undefined && <Problem text={savings.error} onRetry={savings.refresh} />}
			{savings.data && <SavingsTable savings={savings.data} />}
			{tiers.error !== undefined && <Problem text={tiers.error} onRetry={tiers.refresh} />}
			{tiers.data && <WorkingSet tiers={tiers.data} />}
		</div>
	);
}

/** The bill in a few figures. */
function CostTotals({ totals }: { totals: Cost["totals"] }) {
	const { read, write, input, output, cost, outputDollars, misses, missedTokens } = totals;
	const prompt = read + write + input;
	return (
		<Section title="So far">
			<Figures>
				<Figure
					name="Prompts"
					value={formatPrice(cost)}
					note={formatNumberOf(totals.requests, "request")}
				/>
				<Compared name="Against pi alone" cost={cost} other={totals.appendOnlyCost} />
				<Compared name="Against no cache" cost={cost} other={totals.noCacheCost} />
				<Figure
					name="Read from the cache"
					value={formatShare(prompt > 0 ? read / prompt : 0)}
					note={`${short(read)} of ${short(prompt)} tokens`}
				/>
				<Figure
					name="Misses"
					value={misses}
					note={
						misses === 0
							? "none"
							: `${short(missedTokens)} tokens again, ${formatPrice(totals.missCost)}`
					}
					tone={misses > 0 ? "bad" : undefined}
				/>
				<Figure
					name="Answers"
					value={outputDollars === undefined ? short(output) : dollars(outputDollars)}
					note={outputDollars === undefined ? "tokens" : `${short(output)} tokens`}
				/>
			</Figures>
			<p class="soft small">{piAloneNote(totals)}</p>
		</Section>
	);
}

function Compared({ name, cost, other }: { name: string; cost: Price; other: Price }) {
	const unit = cost.dollars !== undefined && other.dollars !== undefined ? "dollars" : "tokens";
	const ours = cost[unit] ?? 0;
	const theirs = other[unit] ?? 0;
	const tone = ours < theirs * 0.9995 ? "good" : ours > theirs * 1.0005 ? "bad" : undefined;
	return (
		<Figure
			name={name}
			value={formatDifference(ours, theirs)}
			note={`instead of ${formatPrice(other)}`}
			tone={tone}
		/>
	);
}

/** What the bill of pi alone stands for, in words; it is imagined, so it says where it goes too far. */
export function piAloneNote(
	totals: Pick<Cost["totals"], "requests" | "appendOnlyOverLimit">,
): string {
	const meaning =
		"Pi alone: the same requests, append-only, with what markers, diffs and stubs stand for still in them.";
	const { requests, appendOnlyOverLimit: over = 0 } = totals;
	if (over === 0) return meaning;
	return `${meaning} ${over} of the ${requests} would have been past the point where pi compacts; that is not counted.`;
}

/** Where cached tokens had to be paid for again, and why. */
function MissTable({ cost }: { cost: Cost }) {
	const rows = useMemo(() => missRows(cost), [cost]);
	const now = useNow();
	return (
		<Section title="Misses and their causes">
			{rows.length === 0 ? (
				<p class="soft">The cache was never missed{listed(cost)}.</p>
			) : (
				<Table
					label="Misses"
					rows={rows}
					most={50}
					keyOf={({ number }) => number}
					columns={[
						{ title: "Request", cell: (row) => row.number, align: "right", isRowHeader: true },
						{ title: "Cause", cell: (row) => <Cause cause={row.cause} />, class: "wide" },
						{ title: "Tokens", cell: (row) => short(row.tokens), align: "right" },
						{ title: "Cost", cell: (row) => formatPrice(row.cost), align: "right" },
						{
							title: "First difference",
							cell: ({ changed }) => <FirstDifference changed={changed} />,
							class: "wide",
						},
						{ title: "When", cell: (row) => ago(row.atMs, now), align: "right", class: "soft" },
					]}
				/>
			)}
		</Section>
	);
}

/** Totals cover more than the list when a session is long. */
function listed({ requests, totals }: Cost): string {
	return requests.length < totals.requests ? ` in the latest ${requests.length} requests` : "";
}

const LAYOUTS: Readonly<Record<Tiers["layout"], string>> = {
	log: "Files lie in the conversation, and what changes is added at its end.",
	tiers: "Files lie before the conversation, the most stable first.",
	off: "The working set is empty or switched off.",
};

/** The files that are kept before the model's eyes, and where they lie in the prompt. */
function WorkingSet({ tiers }: { tiers: Tiers }) {
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
						{
							title: "Tier",
							cell: ({ tier }) => <span class={`tier is-${tier}`}>{tier}</span>,
						},
						{
							title: "Answers unchanged",
							cell: ({ n }) => formatCount(n),
							align: "right",
							class: "roomy",
						},
						{ title: "Tokens", cell: ({ tokens }) => short(tokens), align: "right" },
						{
							title: "Cache hits",
							cell: ({ hits }) => formatCount(hits),
							align: "right",
							class: "roomy",
						},
						{
							title: "Changed",
							cell: ({ lastChangeMs }) => (lastChangeMs > 0 ? ago(lastChangeMs, now) : "–"),
							align: "right",
							class: "soft",
						},
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
