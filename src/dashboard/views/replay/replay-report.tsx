import { useMemo } from "preact/hooks";
import type { ReplayReport } from "../../../protocol/index.ts";
import { Chart } from "../../chart/chart.tsx";
import { SERIES } from "../../chart/colours.ts";
import { dollars, short } from "../../parts/figures.ts";
import { PlainText } from "../../parts/text.tsx";
import { causeInWords } from "../cost/series.ts";
import { formatCount, formatNumberOf, formatShare } from "../format.ts";
import { Section, TableBox } from "../section.tsx";
import { type PolicyLine, policyLines, promptCourse, reportNotes } from "./report.ts";

/** The report of a replay. */
export function ReplayReportView({ report, file }: { report: ReplayReport; file: string }) {
	const notes = useMemo(() => reportNotes(report), [report]);
	return (
		<>
			<Section title="What it cost, and would have cost">
				<p>
					<b>
						<PlainText text={file} most={200} />
					</b>{" "}
					<span class="soft">{formatNumberOf(report.requests, "request")}</span>
				</p>
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
		<TableBox label="Policies">
			<thead>
				<tr>
					<th scope="col">Policy</th>
					<th scope="col" class="right">
						To append-only
					</th>
					<th scope="col" class="roomy">
						<span class="hidden-text">As a bar</span>
					</th>
					<th scope="col" class="right">
						Cost
					</th>
					<th scope="col" class="right roomy">
						From the cache
					</th>
					<th scope="col" class="right roomy">
						Largest prompt
					</th>
				</tr>
			</thead>
			<tbody>
				{lines.map((line) => (
					<PolicyRow key={line.name} line={line} />
				))}
			</tbody>
		</TableBox>
	);
}

function PolicyRow({ line }: { line: PolicyLine }) {
	const { name, description, ratio, bar, cost, readShare, maxContext, isBill, isBest } = line;
	return (
		<tr class={isBest ? "is-best" : ""}>
			<th scope="row" class="policy-name">
				{name}
				{isBest && <span class="tag is-good">cheapest</span>}
				{isBill && <span class="tag">what was paid</span>}
				<span class="soft small plain">{description}</span>
			</th>
			<td class="right">{ratio === undefined ? "–" : `${(ratio * 100).toFixed(1)} %`}</td>
			<td class="policy-bar roomy">
				<svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
					<rect class={isBest ? "bar is-best" : "bar"} width={bar * 100} height="10" />
				</svg>
			</td>
			<td class="right">
				{line.dollars === undefined ? `${short(cost)} tokens` : dollars(line.dollars)}
			</td>
			<td class="right roomy">{formatShare(readShare)}</td>
			<td class="right roomy">{short(maxContext)}</td>
		</tr>
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

const MOST_LINES = 100;

function Misses({ report }: { report: ReplayReport }) {
	const { misses } = report;
	if (misses.length === 0) return null;
	return (
		<Section title={`Cache missed: ${formatNumberOf(misses.length, "time")}`}>
			<TableBox label="Misses of the replayed session">
				<thead>
					<tr>
						<th scope="col" class="right">
							Request
						</th>
						<th scope="col">Cause</th>
						<th scope="col" class="right">
							Tokens
						</th>
						<th scope="col" class="right roomy">
							Cost in tokens
						</th>
						<th scope="col">First difference</th>
					</tr>
				</thead>
				<tbody>
					{misses.slice(0, MOST_LINES).map((miss) => (
						<tr key={miss.request}>
							<th scope="row" class="right">
								{miss.request}
							</th>
							<td class="wide">
								<span class="cause">
									<PlainText text={miss.cause} most={80} />
								</span>{" "}
								<span class="soft">
									{causeInWords(miss.cause) !== miss.cause && causeInWords(miss.cause)}
								</span>
							</td>
							<td class="right">{short(miss.tokens)}</td>
							<td class="right roomy">{short(miss.cost)}</td>
							<td>{miss.changed !== undefined && <PlainText text={miss.changed} most={200} />}</td>
						</tr>
					))}
				</tbody>
			</TableBox>
			{misses.length > MOST_LINES && (
				<p class="soft">And {formatCount(misses.length - MOST_LINES)} more.</p>
			)}
		</Section>
	);
}

const MOST_FILES = 20;

function DuplicateReads({ report }: { report: ReplayReport }) {
	const { duplicateReads } = report;
	if (duplicateReads.length === 0) return null;
	return (
		<Section title="Files that were read again">
			<TableBox label="Repeated reads">
				<thead>
					<tr>
						<th scope="col">File</th>
						<th scope="col" class="right">
							Times
						</th>
						<th scope="col" class="right">
							Tokens
						</th>
						<th scope="col" class="right">
							Cost in tokens
						</th>
					</tr>
				</thead>
				<tbody>
					{duplicateReads.slice(0, MOST_FILES).map(({ path, times, tokens, cost }) => (
						<tr key={path}>
							<th scope="row" class="wide plain">
								<PlainText text={path} most={300} />
							</th>
							<td class="right">{formatCount(times)}</td>
							<td class="right">{short(tokens)}</td>
							<td class="right">{short(cost)}</td>
						</tr>
					))}
				</tbody>
			</TableBox>
			{duplicateReads.length > MOST_FILES && (
				<p class="soft">And {formatCount(duplicateReads.length - MOST_FILES)} more.</p>
			)}
		</Section>
	);
}
