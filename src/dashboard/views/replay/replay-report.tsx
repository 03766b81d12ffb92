import { useMemo } from "preact/hooks";
import type { Data } from "../../../protocol/index.ts";
import { Chart } from "../../chart/chart.tsx";
import {
	formatCount,
	formatNumberOf,
	formatPrice,
	formatShare,
	short,
} from "../../parts/figures.ts";
import { PlainText } from "../../parts/text.tsx";
import { CAUSE_COLUMN, DIFFERENCE_COLUMN } from "../cost/cost-charts.tsx";
import { Section } from "../section.tsx";
import { type Columns, FILE_COLUMN, Table } from "../table.tsx";

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
				<Table label="Policies" rows={lines} keyOf={({ name }) => name} columns={POLICY_COLUMNS} />
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
		const coloured = course.rows.map((row, at) => ({ ...row, colour: `--series-${at + 1}` }));
		return { ...course, rows: coloured };
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

type PolicyLine = ReturnType<typeof policyLines>[number];

export function policyLines({ policies }: Pick<Data<"ReplayReport">, "policies">) {
	const dearest = Math.max(...policies.map(({ cost }) => cost), 0);
	// The bill is no policy, and one that costs as much as append-only is no gain.
	const best = policies
		.filter(({ name, ratio }) => name !== BILL && ratio < 0.9995)
		.sort((one, other) => one.cost - other.cost)[0];
	return policies.map((policy) => {
		const { name, cost, ratio, read, write, input } = policy;
		const prompt = read + write + input;
		return {
			...policy,
			/** To append-only. A division by nothing arrives as null. */
			ratio: Number.isFinite(ratio) ? ratio : undefined,
			bar: dearest > 0 ? cost / dearest : 0,
			readShare: prompt > 0 ? read / prompt : 0,
			isBill: name === BILL,
			isBest: name === best?.name,
		};
	});
}

const BILL = "billed";

export function promptCourse(report: Pick<Data<"ReplayReport">, "chart" | "requests">) {
	const { chart, requests } = report;
	const shown = chart.filter(({ name }) => COMPARED.includes(name));
	const length = shown.length && Math.min(...shown.map(({ points }) => points.length));
	return {
		// Long sessions are thinned out evenly.
		numbers: Array.from({ length }, (_, at) => Math.round(((at + 1) * requests) / length)),
		rows: shown.map(({ name, points }) => ({
			name,
			values: points.slice(0, length).map(({ input, read, write }) => input + read + write),
		})),
	};
}

const COMPARED = ["append-only", "read-cache", "strata"];

/** A note where part of the savings is in every figure already. */
export function savedAlreadyNote({ savedAlready }: Pick<Data<"ReplayReport">, "savedAlready">) {
	const { shortReads, edits } = savedAlready;
	if (shortReads + edits === 0) return undefined;
	const reads = `${shortReads} ${shortReads === 1 ? "read was" : "reads were"} answered short`;
	const contents = `${edits} ${edits === 1 ? "content was" : "contents were"} replaced`;
	return `The session was made smaller while it ran: ${reads}, ${contents}. Its bill and all policies, append-only included, start from there; what it saved against pi alone is in its Cost view.`;
}

export function reportNotes({ check, skipped, models, requests }: Data<"ReplayReport">): string[] {
	const notes: string[] = [];
	if (requests === 0)
		notes.push("The file holds no answered request, so there is nothing to compare.");
	if (check.billed > 0) {
		const off = Math.abs(check.deviation * 100).toFixed(1);
		notes.push(
			`Told when the provider lost its cache, the replay comes within ${off} % of the bill.`,
		);
	}
	if (skipped > 0) {
		notes.push(`${skipped} ${skipped === 1 ? "line" : "lines"} of the file could not be used.`);
	}
	for (const { name, because, readRatio, writeRatio } of models) {
		notes.push(
			`${name}: reading from the cache costs ${readRatio}, writing ${writeRatio} of plain input. ${because}`,
		);
	}
	return notes;
}
