import { useMemo, useState } from "preact/hooks";
import type { Data } from "../../../protocol/index.ts";
import { useAnswer } from "../../answer.ts";
import { Chart } from "../../chart/chart.tsx";
import { Fold } from "../../parts/controls.tsx";
import { bytes, formatCount, formatLatency } from "../../parts/figures.ts";
import { Answered, Empty, Problem } from "../../parts/notices.tsx";
import { Choice, Section, useNow } from "../section.tsx";
import { type Columns, Table } from "../table.tsx";
import { historySeries, minuteName, TIME_STEPS } from "./history-series.ts";

type Range = "hour" | "day" | "week";
const RANGES: Record<Range, string> = { hour: "Hour", day: "Day", week: "Week" };
const MINUTES: Record<Range, number> = { hour: 60, day: 24 * 60, week: 7 * 24 * 60 };

/** What the server did before, also before its last start. */
export function History() {
	const [range, setRange] = useState<Range>("hour");
	const minutes = MINUTES[range];
	// A new point is there once a minute.
	const version = Math.floor(useNow() / 60_000);
	const answer = useAnswer("get_metrics_history", { minutes }, version);
	return (
		<Section
			title="History"
			aside={<Choice label="Period" values={RANGES} chosen={range} onChoose={setRange} />}
		>
			<Answered answer={answer} waiting="Loading…">
				{(history) => <Charts history={history} minutes={minutes} />}
			</Answered>
		</Section>
	);
}

function Charts({ history, minutes }: { history: Data<"MetricsHistory">; minutes: number }) {
	const series = useMemo(() => seriesOf(history, minutes), [history, minutes]);
	const { points, problem } = history;
	if (problem !== undefined) return <Problem text={`No history is kept: ${problem}`} />;
	if (points.length === 0) {
		return (
			<Empty>
				The first minute is not over yet. Here you will see commands, latency, clients and memory
				over time, also from before a restart.
			</Empty>
		);
	}
	const nameOf = (minute: number) => minuteName(minute, minutes > MINUTES.day);
	const per = history.minutes === 1 ? "a minute" : `in ${history.minutes} min`;
	const shared = { unit: "Time", link: "server", height: 160, steps: TIME_STEPS, nameOf } as const;
	return (
		<>
			<div class="two-columns">
				<Chart
					{...shared}
					{...series.commands}
					label={`Commands ${per}, and starts of the server`}
					quantity={`Commands ${per}`}
					shape="columns"
					marksName="Server start"
					marksColour="--warn"
					format={formatCount}
				/>
				<Chart
					{...shared}
					{...series.latency}
					label="Time from acceptance to response: median and 99 %"
					quantity="Latency"
					shape="lines"
					format={formatLatency}
				/>
				<Chart
					{...shared}
					{...series.clients}
					label="Clients and sessions"
					quantity="Count"
					shape="lines"
					format={formatCount}
				/>
				<Chart
					{...shared}
					{...series.memory}
					label="Memory and journal, in bytes"
					quantity="Bytes"
					shape="lines"
					format={bytes}
				/>
			</div>
			<HistoryTable history={history} nameOf={nameOf} />
		</>
	);
}

function seriesOf(history: Data<"MetricsHistory">, minutes: number) {
	const { numbers, values, starts } = historySeries(history, minutes, new Date());
	return {
		commands: {
			numbers,
			rows: [
				{
					name: "Done",
					values: values(({ finished, failed }) => Math.max(0, finished - failed)),
					colour: "--series-1",
				},
				{ name: "Failed", values: values(({ failed }) => failed), colour: "--series-5" },
			],
			marks: starts(({ finished }) => finished),
		},
		latency: {
			numbers,
			rows: [
				{ name: "Median", values: values(({ latencyMs }) => latencyMs?.p50), colour: "--series-1" },
				{ name: "99 %", values: values(({ latencyMs }) => latencyMs?.p99), colour: "--series-4" },
			],
		},
		clients: {
			numbers,
			rows: [
				{ name: "Clients", values: values(({ clients }) => clients), colour: "--series-1" },
				{ name: "Sessions", values: values(({ sessions }) => sessions), colour: "--series-3" },
			],
		},
		memory: {
			numbers,
			rows: [
				{ name: "Memory", values: values(({ rssBytes }) => rssBytes), colour: "--series-1" },
				{
					name: "Heap",
					values: values(({ heapUsedBytes }) => heapUsedBytes),
					colour: "--series-2",
				},
				{
					name: "Journal",
					values: values(({ journalBytes }) => journalBytes),
					colour: "--series-4",
				},
			],
		},
	};
}

interface HistoryTableProps {
	readonly history: Data<"MetricsHistory">;
	nameOf(localMinute: number): string;
}

function HistoryTable({ history, nameOf }: HistoryTableProps) {
	const [isOpen, setIsOpen] = useState(false);
	const offset = new Date().getTimezoneOffset();
	const columns: Columns<Data<"MetricsHistory">["points"][number]> = [
		{
			title: "Time",
			cell: ({ atMs, started }) => `${nameOf(atMs / 60_000 - offset)}${started ? ", start" : ""}`,
			isRowHeader: true,
			class: "plain",
		},
		["Done", ({ finished, failed }) => formatCount(Math.max(0, finished - failed))],
		["Failed", ({ failed }) => formatCount(failed)],
		["Median", ({ latencyMs }) => (latencyMs ? formatLatency(latencyMs.p50) : "–"), "roomy"],
		["99 %", ({ latencyMs }) => (latencyMs ? formatLatency(latencyMs.p99) : "–"), "roomy"],
		["Events", ({ events }) => formatCount(events), "roomy"],
		["Clients", ({ clients }) => formatCount(clients)],
		["Sessions", ({ sessions }) => formatCount(sessions)],
		["Memory", ({ rssBytes }) => bytes(rssBytes)],
	];
	return (
		<Fold summary="As a table" isOpen={isOpen} onToggle={setIsOpen}>
			<Table
				label="History of the server"
				rows={history.points.toReversed()}
				maxRows={60}
				more={240}
				keyOf={({ atMs }) => atMs}
				columns={columns}
			/>
		</Fold>
	);
}
