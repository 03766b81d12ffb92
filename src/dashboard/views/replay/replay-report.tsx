import { useMemo } from "preact/hooks";
import type { ReplayReport } from "../../../protocol/index.ts";
import { Chart, SERIES } from "../../chart/chart.tsx";
import {
	formatCount,
	formatNumberOf,
	formatPrice,
	formatShare,
	short,
} from "../../parts/figures.ts";
import { PlainText } from "../../parts/text.tsx";
import { Cause, FirstDifference } from "../cost/cause.tsx";
import { Section } from "../section.tsx";
import { type Column, FILE_COLUMN, Table } from "../table.tsx";
import {
	type PolicyLine,
	policyLines,
	promptCourse,
	reportNotes,
	savedAlreadyNote,
} from "./report.ts";

/** The report of a replay. */
export function ReplayReportView({ report, file }: { report: ReplayReport; file: string }) {
	const notes = useMemo(() => reportNotes(report), [report]);
	const savedAlready = savedAlreadyNote(report);
	return (
		<>
			<Section title="What it cost, and would have cost">
				<p>
					<PlainText as="b" text={file} most={200} />{" "}
					<span class="soft">{formatNumberOf(report.requests, "request")}</span>
				</p>
				{savedAlready !== undefined && <p class="notice">{savedAlready}</p>}
				<PolicyTable report={report} />
				<PromptChart report={report} />
				<ul class="notes soft small">
					{notes.map((note) => (
						<li key={note}>
							<PlainText text={note} />
						</li>
					))}
				</ul>
			</Section>
			<Misses report={report} />
			<DuplicateReads report={report} />
		</>
	);
}

function PolicyTable({ report }: { report: ReplayReport }) {
	const lines = useMemo(() => policyLines(report), [report]);
	return (
		<Table
			label="Policies"
			rows={lines}
			keyOf={({ name }) => name}
			classOf={({ isBest }) => (isBest ? "is-best" : "")}
			columns={POLICY_COLUMNS}
		/>
	);
}

const POLICY_COLUMNS: readonly Column<PolicyLine>[] = [
	{
		title: "Policy",
		cell: (line) => <PolicyName line={line} />,
		isRowHeader: true,
		class: "policy-name",
	},
	{
		title: "To append-only",
		cell: ({ ratio }) => (ratio === undefined ? "–" : `${(ratio * 100).toFixed(1)} %`),
		align: "right",
	},
	{
		title: "As a bar",
		hidesTitle: true,
		cell: ({ bar, isBest }) => (
			<svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
				<rect class={isBest ? "bar is-best" : "bar"} width={bar * 100} height="10" />
			</svg>
		),
		class: "policy-bar roomy",
	},
	{
		title: "Cost",
		cell: (line) => formatPrice({ tokens: line.cost, dollars: line.dollars }),
		align: "right",
	},
	{
		title: "From the cache",
		cell: ({ readShare }) => formatShare(readShare),
		align: "right",
		class: "roomy",
	},
	{
		title: "Largest prompt",
		cell: ({ maxContext }) => short(maxContext),
		align: "right",
		class: "roomy",
	},
];

function PolicyName({ line }: { line: PolicyLine }) {
	const { name, description, isBill, isBest } = line;
	return (
		<>
			<PlainText text={name} most={80} />
			{isBest && <span class="tag is-good">cheapest</span>}
			{isBill && <span class="tag">what was paid</span>}
			<PlainText class="soft small plain" text={description} most={300} />
		</>
	);
}

/** How large the prompts were under the policies that people compare. */
function PromptChart({ report }: { report: ReplayReport }) {
	const { numbers, rows } = useMemo(() => promptCourse(report), [report]);
	const coloured = useMemo(
		() => rows.map((row, at) => ({ ...row, colour: SERIES[at] ?? "--series-8" })),
		[rows],
	);
	if (numbers.length < 2) return null;
	return (
		<Chart
			label="Tokens of each prompt, by policy"
			of="Prompt of request"
			shape="lines"
			numbers={numbers}
			rows={coloured}
			format={short}
		/>
	);
}

function Misses({ report }: { report: ReplayReport }) {
	const { misses } = report;
	if (misses.length === 0) return null;
	return (
		<Section title={`Cache missed: ${formatNumberOf(misses.length, "time")}`}>
			<Table
				label="Misses of the replayed session"
				rows={misses}
				most={100}
				keyOf={({ request }) => request}
				columns={[
					{ title: "Request", cell: (miss) => miss.request, align: "right", isRowHeader: true },
					{ title: "Cause", cell: ({ cause }) => <Cause cause={cause} />, class: "wide" },
					{ title: "Tokens", cell: ({ tokens }) => short(tokens), align: "right" },
					{
						title: "Cost in tokens",
						cell: ({ cost }) => short(cost),
						align: "right",
						class: "roomy",
					},
					{
						title: "First difference",
						cell: ({ changed }) => <FirstDifference changed={changed} />,
						class: "wide",
					},
				]}
			/>
		</Section>
	);
}

function DuplicateReads({ report }: { report: ReplayReport }) {
	const { duplicateReads } = report;
	if (duplicateReads.length === 0) return null;
	return (
		<Section title="Files that were read again">
			<Table
				label="Repeated reads"
				rows={duplicateReads}
				most={20}
				keyOf={({ path }) => path}
				columns={[
					FILE_COLUMN,
					{ title: "Times", cell: ({ times }) => formatCount(times), align: "right" },
					{ title: "Tokens", cell: ({ tokens }) => short(tokens), align: "right" },
					{ title: "Cost in tokens", cell: ({ cost }) => short(cost), align: "right" },
				]}
			/>
		</Section>
	);
}
