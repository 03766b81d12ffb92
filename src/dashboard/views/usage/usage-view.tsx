import "./usage.css";
import { useMemo, useState } from "preact/hooks";
import type { Data } from "../../../protocol/index.ts";
import { USAGE_COLUMNS } from "../../../text/csv.ts";
import { useAnswer } from "../../answer.ts";
import { Chart } from "../../chart/chart.tsx";
import { Button } from "../../parts/controls.tsx";
import { downloadCsv } from "../../parts/download.ts";
import {
	dollars,
	dollarsAligned,
	formatCount,
	formatNumberOf,
	formatShare,
	short,
	shortPath,
} from "../../parts/figures.ts";
import { Answered, Empty, Problem } from "../../parts/notices.tsx";
import { PlainText } from "../../parts/text.tsx";
import { Choice, Figures, Section } from "../section.tsx";
import { type Columns, Table } from "../table.tsx";
import { amountOf, Budget, bookPeriod, SavedTable } from "./saved-sums.tsx";
import {
	csvRows,
	dayName,
	daySeries,
	type Grouping,
	groupUsage,
	type UsageGroup,
	usageTotal,
} from "./usage-rows.ts";

type PeriodName = "7" | "30" | "90" | "all";
const PERIODS: Record<PeriodName, string> = {
	"7": "7 days",
	"30": "30 days",
	"90": "90 days",
	all: "All",
};
/** The days of savings for which all are asked. */
const MOST_DAYS = 3_660;

/** What all agents on this machine cost, and what pi-strata saved in pi. */
export function UsageView() {
	const [period, setPeriod] = useState<PeriodName>("30");
	const days = period === "all" ? undefined : Number(period);
	const saved = useAnswer("get_saved", { days: days ?? MOST_DAYS });
	const usage = useAnswer("get_usage", days === undefined ? {} : { days });
	return (
		<div class="sheet view">
			<h1>Usage</h1>
			<Section title="What pi-strata saved in pi">
				<Answered answer={saved} waiting="Loading…">
					{(data) => <Savings saved={data} />}
				</Answered>
			</Section>
			<Section
				title="What all agents cost"
				aside={<Choice label="Period" values={PERIODS} chosen={period} onChoose={setPeriod} />}
			>
				<Answered answer={usage} waiting="Reading the session files of this machine…">
					{(data) => <Costs usage={data} saved={saved.data} period={period} />}
				</Answered>
			</Section>
		</div>
	);
}

function Savings({ saved }: { saved: Data<"Saved"> }) {
	const { today, all, budget, problem } = saved;
	if (problem !== undefined) return <Problem text={problem} />;
	return (
		<>
			{all.requests === 0 ? (
				<Empty>
					No run of pi with a real model has been counted yet. Here you will see what pi-strata
					saved against pi alone, today and in all, by system.
				</Empty>
			) : (
				<>
					<SavedTable periods={[bookPeriod("Today", today), bookPeriod("In all", all)]} />
					<p class="soft small">
						Estimated for {formatNumberOf(all.requests, "request")} of pi, compared with pi alone.
						Runs of the demo are left out: their prices are made up.
					</p>
				</>
			)}
			<Budget saved={saved} />
			{budget === undefined && (
				<p class="soft small">
					There is no daily budget. Set <code>economy.dailyBudget</code> in <code>strata.json</code>{" "}
					to be warned at 80 % and at 100 % of it.
				</p>
			)}
		</>
	);
}

interface CostsProps {
	readonly usage: Data<"UsageReport">;
	readonly saved: Data<"Saved"> | undefined;
	readonly period: PeriodName;
}

/** No project has this name: it has no slash. */
const TOTAL = "total";
const GROUPINGS = { day: "Day", project: "Project", model: "Model", agent: "Agent" } as const;

function Costs({ usage, saved, period }: CostsProps) {
	const [by, setBy] = useState<Grouping>("day");
	const { rows } = usage;
	const groups = useMemo(() => groupUsage(rows, by), [rows, by]);
	const total = useMemo(() => usageTotal(rows, TOTAL), [rows]);
	if (rows.length === 0) {
		return (
			<Empty>
				{usage.files === 0
					? "No session files of this period were found. Here you will see what pi, Claude Code, Codex, opencode and Gemini CLI cost, by day, project, model and agent."
					: "The session files of this period have no requests with token counts from a provider. Those of the demo are left out: their prices are made up."}
			</Empty>
		);
	}
	const download = () =>
		downloadCsv(
			`strata-usage-${period === "all" ? "all" : `${period}d`}`,
			USAGE_COLUMNS,
			csvRows(rows),
		);
	return (
		<>
			<Totals total={total} />
			<DollarsByDay rows={rows} />
			<div class="row usage-choices">
				<Choice label="Group by" values={GROUPINGS} chosen={by} onChoose={setBy} />
				<Button class="small" onClick={download} label="Download CSV" />
			</div>
			<Table
				label={`Cost by ${by}`}
				rows={groups}
				maxRows={31}
				more={100}
				keyOf={({ name }) => name}
				columns={columnsOf(by, { groups, total, saved })}
				foot={total}
			/>
			<Notes usage={usage} total={total} />
		</>
	);
}

function Totals({ total }: { total: UsageGroup }) {
	const prompt = total.read + total.write + total.input;
	return (
		<Figures
			figures={[
				["Cost", <Cost key="cost" group={total} />, formatNumberOf(total.requests, "request")],
				[
					"Read from caches",
					formatShare(prompt > 0 ? total.read / prompt : 0),
					`of ${short(prompt)} prompt tokens`,
				],
				["Answers", short(total.output), "tokens"],
				[
					"Cache misses",
					formatCount(total.misses),
					total.missDollars === undefined ? "" : `${dollars(total.missDollars)} paid again`,
				],
			]}
		/>
	);
}

function DollarsByDay({ rows }: { rows: readonly Data<"UsageRow">[] }) {
	const series = useMemo(() => daySeries(rows), [rows]);
	if (series.rows.length === 0 || series.numbers.length < 2) return null;
	return (
		<Chart
			label="Dollars by day and model"
			unit="Day"
			quantity="Dollars"
			shape="columns"
			numbers={series.numbers}
			rows={series.rows}
			nameOf={(day, isBelowAxis) => (isBelowAxis ? dayName(day).slice(5) : dayName(day))}
			format={dollars}
			height={180}
		/>
	);
}

interface CostProps {
	readonly group: Pick<UsageGroup, "dollars" | "unpriced">;
	format?(amount: number): string;
}

/** `$1.20+` if some prices are unknown. The sign stands beside the column, so that figures line up. */
function Cost({ group: { dollars: known, unpriced }, format = dollars }: CostProps) {
	if (known === undefined) return <>{unpriced > 0 ? "unknown" : "–"}</>;
	return (
		<span class="cost">
			{format(known)}
			{unpriced > 0 && <span class="plus">+</span>}
		</span>
	);
}

interface UsageTable {
	readonly groups: readonly UsageGroup[];
	readonly total: UsageGroup;
	readonly saved: Data<"Saved"> | undefined;
}

function columnsOf(by: Grouping, { groups, total, saved }: UsageTable): Columns<UsageGroup> {
	const format = dollarsAligned([...groups, total].map((group) => group.dollars));
	const savedOn = new Map(saved?.days.map((day) => [day.day, amountOf(day, "")?.dollars]));
	const savedText = (name: string) => {
		const own = savedOn.get(name);
		return own === undefined ? "–" : format(own);
	};
	const hasSavings = by === "day" && savedOn.size > 0;
	const savedColumn: Columns<UsageGroup> = [
		["Saved in pi", ({ name }) => (name === TOTAL ? format(savedInAll) : savedText(name))],
	];
	const savedInAll = [...savedOn.values()].reduce<number>((sum, own) => sum + (own ?? 0), 0);
	return [
		{
			title: GROUPINGS[by],
			cell: ({ name }) => <GroupName by={by} name={name} />,
			isRowHeader: true,
			class: by === "day" ? "plain one-line" : "plain wide",
		},
		["Cost", (group) => <Cost group={group} format={format} />],
		...(hasSavings ? savedColumn : []),
		["Requests", ({ requests }) => formatCount(requests), "roomy"],
		[
			"From caches",
			({ read, write, input }) => formatShare(read / Math.max(1, read + write + input)),
			"roomy",
		],
		["New", ({ write, input }) => short(write + input), "roomy"],
		["Answers", ({ output }) => short(output), "roomy"],
		["Misses", ({ misses }) => formatCount(misses)],
		[
			"Their cost",
			({ missDollars, misses }) =>
				misses === 0 || missDollars === undefined ? "–" : format(missDollars),
			"roomy",
		],
	];
}

function GroupName({ by, name }: { by: Grouping; name: string }) {
	if (name === TOTAL || name === "") return name === TOTAL ? "Total" : "Unknown";
	if (by !== "project") return <PlainText text={name} max={80} />;
	return (
		<span title={name}>
			<PlainText text={shortPath(name)} max={80} />
		</span>
	);
}

function Notes({ usage, total }: { usage: Data<"UsageReport">; total: UsageGroup }) {
	const { failed, unpricedModels, truncated } = usage;
	return (
		<p class="soft small">
			By list prices, from the session files of all agents: this is not your invoice.
			{total.unpriced > 0 && (
				<>
					{" "}
					{formatNumberOf(total.unpriced, "request")} of unknown price count in no sum of dollars:{" "}
					<PlainText text={unpricedModels.slice(0, 5).join(", ")} max={300} />
					{unpricedModels.length > 5 && ` and ${unpricedModels.length - 5} more models`}.
				</>
			)}
			{failed > 0 && ` ${formatNumberOf(failed, "file")} could not be read.`}
			{truncated && " The oldest days are left out."}
		</p>
	);
}
