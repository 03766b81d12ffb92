import "./server.css";
import { useState } from "preact/hooks";
import type { Data } from "../../../protocol/index.ts";
import { useAnswer } from "../../answer.ts";
import { Button } from "../../parts/controls.tsx";
import {
	ago,
	bytes,
	duration,
	formatCount,
	formatLatency,
	formatNumberOf,
} from "../../parts/figures.ts";
import { Answered, Empty, Problem } from "../../parts/notices.tsx";
import { PlainText } from "../../parts/text.tsx";
import { Section, useNow } from "../section.tsx";
import { type Columns, Table } from "../table.tsx";
import { commitMs, ratesOf, type Sample, sparkPoints, useSamples } from "./samples.ts";

export function ServerView() {
	const { samples, error } = useSamples();
	const latest = samples.at(-1)?.metrics;
	return (
		<div class="sheet view">
			<h1>Server</h1>
			{error !== undefined && <Problem text={error} />}
			<Answered asked={useAnswer("health_check", {})}>
				{({ problems }) => problems.map((problem) => <Problem key={problem} text={problem} />)}
			</Answered>
			{!latest && error === undefined && <Empty>Asking the server…</Empty>}
			{latest && <Now samples={samples} latest={latest} />}
			{latest && <Counts commands={latest.commands} />}
			<Recovery />
			<CommandHistory />
		</div>
	);
}

function Now({ samples, latest }: { samples: readonly Sample[]; latest: Data<"ServerMetrics"> }) {
	const over = (pick: (metrics: Data<"ServerMetrics">) => number) =>
		samples.map(({ metrics }) => pick(metrics));
	const rate = ratesOf(samples, ({ commands }) => commands.finished);
	const events = ratesOf(samples, ({ journal }) => journal.events);
	const { latencyMs, journal, memory, commands } = latest;
	const write = commitMs(latest);
	return (
		<Section
			title="Now"
			aside={<span class="soft small">running for {duration(latest.uptimeMs)}</span>}
		>
			<div class="tiles">
				<Tile
					name="Clients"
					value={formatCount(latest.clients)}
					note={formatNumberOf(latest.sessions, "open session")}
					values={over(({ clients }) => clients)}
				/>
				<Tile
					name="Commands a second"
					value={(rate.at(-1) ?? 0).toFixed(1)}
					note={`${formatCount(commands.pending)} under way`}
					values={rate}
				/>
				<Tile
					name="Latency, half of them below"
					value={latencyMs ? formatLatency(latencyMs.p50) : "–"}
					note={
						latencyMs
							? `90 % below ${formatLatency(latencyMs.p90)}, 99 % below ${formatLatency(latencyMs.p99)}`
							: "no command yet"
					}
					values={over(({ latencyMs: own }) => own?.p50 ?? 0)}
				/>
				<Tile
					name="Events a second"
					value={(events.at(-1) ?? 0).toFixed(1)}
					note={`${formatCount(journal.events)} kept`}
					values={events}
				/>
				<Tile
					name="Journal"
					value={bytes(journal.bytes)}
					note={`${formatNumberOf(journal.commits, "write")}${write === undefined ? "" : `, ${formatLatency(write)} each`}, ${formatCount(journal.pending)} waiting`}
					values={over((metrics) => metrics.journal.bytes)}
				/>
				<Tile
					name="Memory"
					value={bytes(memory.rssBytes)}
					note={`${bytes(memory.heapUsedBytes)} heap, ${bytes(memory.externalBytes)} outside it`}
					values={over((metrics) => metrics.memory.rssBytes)}
				/>
			</div>
		</Section>
	);
}

interface TileProps {
	name: string;
	value: string;
	note: string;
	values: readonly number[];
}

const SIZE = { width: 200, height: 36 };

function Tile({ name, value, note, values }: TileProps) {
	const { width, height } = SIZE;
	const points = sparkPoints(values, SIZE);
	const box = `0 -2 ${width} ${height + 4}`;
	return (
		<div class="tile">
			<p class="soft small">{name}</p>
			<p class="tile-value">{value}</p>
			<svg class="spark" viewBox={box} preserveAspectRatio="none" aria-hidden="true">
				{values.length > 1 && (
					<>
						<polygon points={`0,${height} ${points} ${width},${height}`} />
						<polyline points={points} />
					</>
				)}
			</svg>
			<p class="soft small">{note}</p>
		</div>
	);
}

const COUNTS = [
	["accepted", "accepted"],
	["finished", "finished"],
	["failed", "failed"],
	["replayed", "answered from the journal"],
	["timedOut", "timed out"],
	["rateLimited", "came too fast"],
	["rejected", "rejected"],
] as const satisfies readonly (readonly [keyof Data<"ServerMetrics">["commands"], string])[];

function Counts({ commands }: Pick<Data<"ServerMetrics">, "commands">) {
	return (
		<Section title="Commands since the start">
			<dl class="counts">
				{COUNTS.map(([key, name]) => (
					<div key={key}>
						<dt>{name}</dt>
						<dd>{formatCount(commands[key])}</dd>
					</div>
				))}
			</dl>
		</Section>
	);
}

const MOST_LISTED = 20;

function Recovery() {
	const asked = useAnswer("get_startup_recovery", {});
	const now = useNow();
	return (
		<Section title="Last start">
			<Answered asked={asked}>
				{(data) => (
					<>
						<p>
							Started {ago(data.startedAtMs, now)}. {startWords(data)}
						</p>
						{data.interrupted.length > 0 && (
							<>
								<p class="notice">
									{formatNumberOf(data.interrupted.length, "command was", "commands were")} under
									way and may or may not have had an effect:
								</p>
								<ul class="usages plain-list">
									{data.interrupted.slice(0, MOST_LISTED).map((command) => (
										<li key={command.commandId}>
											<code>{command.commandType}</code>
											{command.sessionId !== undefined && (
												<PlainText class="soft" text={command.sessionId} most={100} />
											)}
										</li>
									))}
								</ul>
							</>
						)}
					</>
				)}
			</Answered>
		</Section>
	);
}

/** A server that found nothing does not know whether there was another before it. */
export function startWords({
	crashed,
	sessions,
}: Pick<Data<"StartupRecovery">, "crashed" | "sessions">): string {
	if (!crashed && sessions === 0) return "It began without sessions.";
	const ended = crashed ? "did not shut down in order" : "had shut down in order";
	const left = formatNumberOf(sessions, "session was", "sessions were");
	return `The process before it ${ended}; ${left} there.`;
}

const FIRST = 25;
const MOST = 500;

function CommandHistory() {
	const [limit, setLimit] = useState(FIRST);
	const asked = useAnswer("get_command_history", { limit });
	const { isAsking, refresh } = asked;
	const now = useNow();
	const more = () => setLimit(Math.min(MOST, limit * 4));
	return (
		<Section
			title="Commands"
			aside={<Button class="small" disabled={isAsking} onClick={refresh} words="Refresh" />}
		>
			<Answered asked={asked}>
				{({ entries, truncated }) => (
					<>
						{entries.length === 0 ? (
							<p class="soft">The journal holds no command yet.</p>
						) : (
							<Table
								label="The latest commands"
								rows={entries}
								keyOf={({ commandId, atMs }) => `${commandId} ${atMs}`}
								columns={[...COLUMNS, ["When", ({ atMs }) => ago(atMs, now), "soft"]]}
							/>
						)}
						{truncated && limit < MOST && (
							<Button class="small" disabled={isAsking} onClick={more} words="Show more" />
						)}
					</>
				)}
			</Answered>
		</Section>
	);
}

const COLUMNS: Columns<Data<"CommandHistoryEntry">> = [
	{
		title: "Command",
		cell: ({ commandType }) => <PlainText class="mono" text={commandType} most={80} />,
		isRowHeader: true,
		class: "plain",
	},
	{
		title: "Session",
		cell: ({ sessionId = "" }) => <PlainText text={sessionId} most={60} />,
		class: "soft roomy",
	},
	{ title: "Outcome", cell: (entry) => <Outcome entry={entry} />, class: "wide" },
	[
		"Took",
		({ atMs, finishedAtMs: end }) => (end === undefined ? "" : formatLatency(end - atMs)),
		"roomy",
	],
];

function Outcome({ entry }: { entry: Data<"CommandHistoryEntry"> }) {
	if (entry.finishedAtMs === undefined) return <span class="soft">under way</span>;
	if (entry.success !== false) return <span class="good">done</span>;
	return (
		<span class="bad">
			{entry.code ?? "failed"}{" "}
			{entry.error !== undefined && <PlainText text={entry.error} most={200} />}
		</span>
	);
}
