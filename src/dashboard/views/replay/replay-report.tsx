import { useMemo, useState } from "preact/hooks";
import type { Data } from "../../../protocol/index.ts";
import { Chart } from "../../chart/chart.tsx";
import { Button } from "../../parts/controls.tsx";
import {
	formatCount,
	formatNumberOf,
	formatShare,
	pricesAligned,
	short,
} from "../../parts/figures.ts";
import { PlainText } from "../../parts/text.tsx";
import { DEMO_PROVIDER } from "../../session/demo-banner.tsx";
import { CAUSE_COLUMN, DIFFERENCE_COLUMN } from "../cost/cost-charts.tsx";
import { Section } from "../section.tsx";
import { type Column, type Columns, FILE_COLUMN, Table } from "../table.tsx";

export function ReplayReportView({ report, file }: { report: Data<"ReplayReport">; file: string }) {
	const notes = useMemo(() => reportNotes(report), [report]);
	const lines = useMemo(() => policyLines(report), [report]);
	const savedAlready = savedAlreadyNote(report);
	const [isOpen, setOpen] = useState(false);
	const { misses, duplicateReads, sessions } = report;
	const missed = useMemo(() => missRows(report), [report]);
	const parts = useMemo(() => partRows(report), [report]);
	const isMadeUp = report.models.some(({ name }) => name.startsWith(`${DEMO_PROVIDER}/`));
	return (
		<>
			<Section title="Actual and simulated cost" isMadeUp={isMadeUp}>
				<p>
					<PlainText as="b" text={file} max={200} />{" "}
					<span class="soft">{formatNumberOf(report.requests, "request")}</span>
				</p>
				<Headline report={report} />
				{savedAlready !== undefined && <p class="notice">{savedAlready}</p>}
				<Table
					label="Policies"
					rows={isOpen ? lines : lines.filter(({ name }) => MAIN.has(name))}
					keyOf={({ name }) => name}
					columns={policyColumns(lines)}
				/>
				{lines.some(({ name }) => !MAIN.has(name)) && (
					<Button
						class="small"
						aria-expanded={isOpen}
						onClick={() => setOpen(!isOpen)}
						label={isOpen ? "Show only the main policies" : `Show all ${lines.length} policies`}
					/>
				)}
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
				<Section title={`Cache misses: ${formatCount(misses.length)}`}>
					<Table
						label="Misses of the replayed session"
						rows={missed}
						maxRows={100}
						keyOf={({ at }) => at}
						columns={[
							{
								title: "Request",
								cell: ({ request }) => request,
								align: "right",
								isRowHeader: true,
							},
							...(sessions ? [SESSION_COLUMN] : []),
							CAUSE_COLUMN,
							["Tokens", ({ tokens }) => short(tokens)],
							["Cost in tokens", ({ cost }) => short(cost), "roomy"],
							DIFFERENCE_COLUMN,
							...(misses.some(({ providerReason }) => providerReason) ? [PROVIDER_COLUMN] : []),
						]}
					/>
				</Section>
			)}
			{parts.length > 0 && (
				<Section title={`Sessions in this file: ${formatCount(parts.length)}`}>
					<Table
						label="Sessions in this file"
						rows={parts}
						maxRows={20}
						more={100}
						keyOf={({ at }) => at}
						columns={[
							{
								title: "Session",
								cell: ({ name }) => <PlainText text={name} max={120} />,
								isRowHeader: true,
								class: "wide plain",
							},
							["Requests", ({ requests }) => formatCount(requests), "roomy"],
							["Cost in tokens", ({ cost }) => short(cost)],
							["Misses", ({ misses }) => formatCount(misses)],
						]}
					/>
				</Section>
			)}
			{duplicateReads.length > 0 && (
				<Section title="Files read more than once">
					<Table
						label="Repeated reads"
						rows={duplicateReads}
						maxRows={20}
						keyOf={({ path }) => path}
						columns={[
							FILE_COLUMN,
							["Repeats", ({ times }) => formatCount(times)],
							["Tokens", ({ tokens }) => short(tokens), "roomy"],
							["Cost in tokens", ({ cost }) => short(cost)],
						]}
					/>
				</Section>
			)}
		</>
	);
}

/** The policies that answer the question most people have. The others are folded. */
const MAIN: ReadonlySet<string> = new Set(["billed", "append-only", "read-cache", "strata"]);

function Headline({ report }: { report: Data<"ReplayReport"> }) {
	const text = headlineOf(report);
	if (!text) return null;
	return (
		<p class="headline number">
			<span class={`headline-value ${text.tone}`}>{text.value}</span> {text.words}
		</p>
	);
}

/** What the session would have cost with strata, compared with append-only. Undefined without both. */
export function headlineOf({ policies }: Pick<Data<"ReplayReport">, "policies">) {
	const named = (name: string) => policies.find((policy) => policy.name === name);
	const [ours, plain] = [named("strata"), named("append-only")];
	if (!ours || !plain || !(plain.cost > 0)) return undefined;
	const isPriced = ours.dollars !== undefined && plain.dollars !== undefined;
	const difference = isPriced ? (plain.dollars ?? 0) - (ours.dollars ?? 0) : plain.cost - ours.cost;
	const prices = [ours, plain].map(({ cost, dollars }) => ({ tokens: cost, dollars }));
	const format = pricesAligned(prices);
	const [withStrata, without] = prices.map(format);
	const amount = isPriced
		? format({ tokens: 0, dollars: Math.abs(difference) })
		: `${short(Math.abs(difference))} input tokens`;
	const compared = `${withStrata} with strata, ${without} without`;
	if (Math.abs(difference) < 0.0005 * (isPriced ? (plain.dollars ?? 0) : plain.cost)) {
		return { value: isPriced ? "$0" : "0 tokens", words: `to save: ${compared}`, tone: "" };
	}
	return difference > 0
		? { value: amount, words: `less with strata: ${compared}`, tone: "good" }
		: { value: amount, words: `more with strata: ${compared}`, tone: "bad" };
}

const SESSION_COLUMN: Column<{ sessionName: string }> = {
	title: "Session",
	cell: ({ sessionName }) => <PlainText text={sessionName} max={120} />,
	class: "wide plain",
};

const PROVIDER_COLUMN: Column<{ providerReason?: string | undefined }> = {
	title: "The provider says",
	cell: ({ providerReason }) =>
		providerReason !== undefined && <PlainText text={providerReason} max={80} />,
	class: "wide",
};

const POLICY_COLUMNS: Columns<PolicyLine> = [
	{
		title: "Policy",
		cell: ({ name, description, isBill, isBest }) => (
			<>
				<PlainText text={name} max={80} />
				{isBest && <span class="tag is-good">cheapest</span>}
				{isBill && <span class="tag">actual bill</span>}
				<PlainText class="soft small plain" text={description} max={300} />
			</>
		),
		isRowHeader: true,
		class: "policy-name",
	},
	["vs. append-only", ({ ratio }) => (ratio === undefined ? "–" : `${(ratio * 100).toFixed(1)} %`)],
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
];

function policyColumns(lines: readonly PolicyLine[]): Columns<PolicyLine> {
	const priceOf = ({ cost, dollars }: PolicyLine) => ({ tokens: cost, dollars });
	// The decimals of what most people compare with: other policies may be far dearer.
	const plain = lines.filter(({ name }) => name === "append-only");
	const format = pricesAligned((plain.length > 0 ? plain : lines).map(priceOf));
	return [
		...POLICY_COLUMNS,
		["Cost", (line) => format(priceOf(line))],
		["Cached", ({ readShare }) => formatShare(readShare), "roomy"],
		["Largest prompt", ({ maxContext }) => short(maxContext), "roomy"],
	];
}

function PromptChart({ report }: { report: Data<"ReplayReport"> }) {
	const { numbers, rows } = useMemo(() => {
		const sizes = promptSizes(report);
		const coloured = sizes.rows.map((row, at) => ({ ...row, colour: `--series-${at + 1}` }));
		return { ...sizes, rows: coloured };
	}, [report]);
	if (numbers.length < 2) return null;
	return (
		<Chart
			label={chartLabel(report)}
			unit="Request"
			quantity="Tokens"
			shape="lines"
			numbers={numbers}
			rows={rows}
			format={short}
		/>
	);
}

type PolicyLine = ReturnType<typeof policyLines>[number];

export function policyLines({ policies }: Pick<Data<"ReplayReport">, "policies">) {
	const maxCost = Math.max(...policies.map(({ cost }) => cost), 0);
	// The actual bill is not a policy. The best policy must be cheaper than append-only.
	const best = policies
		.filter(({ name, ratio }) => name !== BILL && ratio < 0.9995)
		.sort((one, other) => one.cost - other.cost)[0];
	return policies.map((policy) => {
		const { name, cost, ratio, read, write, input } = policy;
		const prompt = read + write + input;
		return {
			...policy,
			/** Cost relative to append-only. The server sends a division by zero as null. */
			ratio: Number.isFinite(ratio) ? ratio : undefined,
			bar: maxCost > 0 ? cost / maxCost : 0,
			readShare: prompt > 0 ? read / prompt : 0,
			isBill: name === BILL,
			isBest: name === best?.name,
		};
	});
}

const BILL = "billed";

export function chartLabel({ sessions }: Pick<Data<"ReplayReport">, "sessions">): string {
	return `Tokens of each prompt${sessions ? " of the first session" : ""}, by policy`;
}

/** The chart of a file with several sessions is that of the first. */
export function promptSizes(report: Pick<Data<"ReplayReport">, "chart" | "requests" | "sessions">) {
	const { chart, sessions } = report;
	const { requests } = sessions?.[0] ?? report;
	const shown = chart.filter(({ name }) => COMPARED.includes(name));
	const length = shown.length && Math.min(...shown.map(({ points }) => points.length));
	return {
		// The points of long sessions are downsampled evenly.
		numbers: Array.from({ length }, (_, at) => Math.round(((at + 1) * requests) / length)),
		rows: shown.map(({ name, points }) => ({
			name,
			values: points.slice(0, length).map(({ input, read, write }) => input + read + write),
		})),
	};
}

const COMPARED = ["append-only", "read-cache", "strata"];

/** Every figure already includes the savings made while the session ran. */
export function savedAlreadyNote({ savedAlready }: Pick<Data<"ReplayReport">, "savedAlready">) {
	const { shortReads, edits } = savedAlready;
	if (shortReads + edits === 0) return undefined;
	const reads = `${formatNumberOf(shortReads, "read was", "reads were")} shortened`;
	const texts = `${formatNumberOf(edits, "text was", "texts were")} replaced`;
	return `This session was already reduced while it ran: ${reads}, ${texts}. Its bill and all policies, including append-only, are based on the reduced session. Its Cost view shows the savings compared with pi alone.`;
}

/** Sessions of one file count their requests separately, so a number may occur twice. */
export function missRows({ misses }: Pick<Data<"ReplayReport">, "misses">) {
	return misses.map((miss, at) => ({ ...miss, at, sessionName: partName(miss) }));
}

/** The sessions of a file with more than one, the most expensive first. */
export function partRows({ sessions = [] }: Pick<Data<"ReplayReport">, "sessions">) {
	return sessions
		.toSorted((one, other) => other.cost - one.cost)
		.map((part, at) => ({ ...part, at, name: partName(part) }));
}

function partName({ session, subagent }: { session?: string; subagent?: string }): string {
	if (subagent !== undefined) return `Sub-agent ${subagent}`;
	return session ?? "The session itself";
}

export function reportNotes({
	check,
	skipped,
	models,
	requests,
	copies = 0,
	unpriced = 0,
}: Data<"ReplayReport">): string[] {
	const notes: string[] = [];
	if (requests === 0)
		notes.push("The file has no answered request, so there is nothing to compare.");
	if (check.billed > 0) {
		const off = Math.abs(check.deviation * 100).toFixed(1);
		notes.push(
			`Given the provider's cache losses, the replayed cost is within ${off} % of the bill.`,
			...(check.reasons ?? []),
		);
	}
	if (unpriced > 0) {
		const have = formatNumberOf(unpriced, "request has", "requests have");
		notes.push(`Unpriced: ${have} no known price. No sum of dollars includes that.`);
	}
	if (copies > 0) {
		const are = formatNumberOf(copies, "request is a copy", "requests are copies");
		notes.push(`${are} from another session, and not counted again.`);
	}
	if (skipped > 0) {
		notes.push(`${formatNumberOf(skipped, "line")} of the file could not be used.`);
	}
	for (const { name, because, readRatio, writeRatio } of models) {
		notes.push(
			`${name}: cache reads cost ${readRatio} times the input price, cache writes ${writeRatio} times. ${because}`,
		);
	}
	return notes;
}
