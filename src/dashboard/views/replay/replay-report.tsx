import { useMemo } from "preact/hooks";
import type { Data } from "../../../protocol/index.ts";
import { Chart, SERIES } from "../../chart/chart.tsx";
import {
	formatCount,
	formatNumberOf,
	formatPrice,
	formatShare,
	short,
} from "../../parts/figures.ts";
import { PlainText } from "../../parts/text.tsx";
import { CAUSE_COLUMN, DIFFERENCE_COLUMN } from "../cost/cause.tsx";
import { Section } from "../section.tsx";
import { type Columns, FILE_COLUMN, Table } from "../table.tsx";
import {
	type PolicyLine,
	policyLines,
	promptCourse,
	reportNotes,
	savedAlreadyNote,
} from "./report.ts";

export function ReplayReportView({ report, file }: { report: Data<"ReplayReport">; file: string }) {
	const notes = useMemo(() => reportNotes(report), [report]);
	const lines = useMemo(() => policyLines(report), [report]);
	const savedAlready = savedAlreadyNote(report);
	const { misses, duplicateReads } = report;
	return (
		<>
			<Section title="What it cost, and would have cost">
				<p>
					<PlainText as="b" text={file} most={200} />{" "}
					<span class="soft">{formatNumberOf(report.requests, "request")}</span>
				</p>
				{savedAlready !== undefined && <p class="notice">{savedAlready}</p>}
				<Table
					label="Policies"
					rows={lines}
					keyOf={({ name }) => name}
					classOf={({ isBest }) => (isBest ? "is-best" : "")}
					columns={POLICY_COLUMNS}
				/>
				<PromptChart report={report} />
				<ul class="notes soft small">
					{notes.map((note) => (
						<li key={note}>
							<PlainText text={note} />
						</li>
					))}
				</ul>
			</Section>
			{misses.length > 0 && (
				<Section title={`Cache missed: ${formatNumberOf(misses.length, "time")}`}>
					<Table
						label="Misses of the replayed session"
						rows={misses}
						most={100}
						keyOf={({ request }) => request}
						columns={[
							{
								title: "Request",
								cell: ({ request }) => request,
								align: "right",
								isRowHeader: true,
							},
							CAUSE_COLUMN,
							["Tokens", ({ tokens }) => short(tokens)],
							["Cost in tokens", ({ cost }) => short(cost), "roomy"],
							DIFFERENCE_COLUMN,
						]}
					/>
				</Section>
			)}
			{duplicateReads.length > 0 && (
				<Section title="Files that were read again">
					<Table
						label="Repeated reads"
						rows={duplicateReads}
						most={20}
						keyOf={({ path }) => path}
						columns={[
							FILE_COLUMN,
							["Times", ({ times }) => formatCount(times)],
							["Tokens", ({ tokens }) => short(tokens)],
							["Cost in tokens", ({ cost }) => short(cost)],
						]}
					/>
				</Section>
			)}
		</>
	);
}

const POLICY_COLUMNS: Columns<PolicyLine> = [
	{
		title: "Policy",
		cell: ({ name, description, isBill, isBest }) => (
			<>
				<PlainText text={name} most={80} />
				{isBest && <span class="tag is-good">cheapest</span>}
				{isBill && <span class="tag">what was paid</span>}
				<PlainText class="soft small plain" text={description} most={300} />
			</>
		),
		isRowHeader: true,
		class: "policy-name",
	},
	["To append-only", ({ ratio }) => (ratio === undefined ? "–" : `${(ratio * 100).toFixed(1)} %`)],
	{
		title: "As a bar",
		hidesTitle: true,
		cell: ({ bar, isBest }) => (
			<svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
				<rect width={bar * 100} height="10" fill={`var(${isBest ? "--good" : "--series-7"})`} />
			</svg>
		),
		class: "policy-bar roomy",
	},
	["Cost", ({ cost, dollars }) => formatPrice({ tokens: cost, dollars })],
	["From the cache", ({ readShare }) => formatShare(readShare), "roomy"],
	["Largest prompt", ({ maxContext }) => short(maxContext), "roomy"],
];

function PromptChart({ report }: { report: Data<"ReplayReport"> }) {
	const { numbers, rows } = useMemo(() => {
		const course = promptCourse(report);
		const colour = (at: number) => SERIES[at] ?? "--series-8";
		return { ...course, rows: course.rows.map((row, at) => ({ ...row, colour: colour(at) })) };
	}, [report]);
	if (numbers.length < 2) return null;
	return (
		<Chart
			label="Tokens of each prompt, by policy"
			of="Prompt of request"
			shape="lines"
			numbers={numbers}
			rows={rows}
			format={short}
		/>
	);
}
