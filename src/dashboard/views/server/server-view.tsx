import "./server.css";
import { useEffect, useState } from "preact/hooks";
import type { Data } from "../../../protocol/index.ts";
import { useAnswer } from "../../answer.ts";
import { createAsking } from "../../asking.ts";
import { client } from "../../connection/connection.ts";
import { Button } from "../../parts/controls.tsx";
import {
	ago,
	bytes,
	duration,
	formatCount,
	formatLatency,
	formatNumberOf,
	textOf,
} from "../../parts/figures.ts";
import { Answered, Empty, Problem } from "../../parts/notices.tsx";
import { PlainText } from "../../parts/text.tsx";
import { Section, useNow } from "../section.tsx";
import { type Columns, Table } from "../table.tsx";

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

function Now({ samples, latest }: { samples: readonly Sample[]; latest: Metrics }) {
	const over = (pick: (metrics: Metrics) => number) => samples.map(({ metrics }) => pick(metrics));
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
] as const satisfies readonly (readonly [keyof Metrics["commands"], string])[];

function Counts({ commands }: Pick<Metrics, "commands">) {
	return (
		<Section title="Commands since the start">
			<dl class="counts">
				{COUNTS.map(([key, name]) => (
					<div key={key}>
						<dt class="soft">{name}</dt>
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
export function startWords(recovery: Pick<Data<"StartupRecovery">, "crashed" | "sessions">) {
	const { crashed, sessions } = recovery;
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

type Metrics = Data<"ServerMetrics">;

export interface Sample {
	readonly atMs: number;
	readonly metrics: Metrics;
}

const EVERY_MS = 2_000;
/** Five minutes. */
export const MOST_SAMPLES = 150;

/** A server that has restarted counts from zero, so older samples are dropped. */
export function withSample(samples: readonly Sample[], sample: Sample): Sample[] {
	const last = samples.at(-1);
	const isAnother = last !== undefined && sample.metrics.uptimeMs < last.metrics.uptimeMs;
	return [...(isAnother ? [] : samples.slice(1 - MOST_SAMPLES)), sample];
}

/** Per second between one sample and the next; one value fewer than there are samples. */
export function ratesOf(samples: readonly Sample[], count: (metrics: Metrics) => number) {
	return samples.slice(1).map((sample, at) => {
		const before = samples[at] as Sample;
		const seconds = (sample.atMs - before.atMs) / 1000;
		const grown = count(sample.metrics) - count(before.metrics);
		return seconds > 0 ? Math.max(0, grown / seconds) : 0;
	});
}

export function commitMs({ journal }: Metrics): number | undefined {
	return journal.commits > 0 ? journal.commitMsTotal / journal.commits : undefined;
}

/** The points of an SVG `polyline`, the largest value at the top. */
export function sparkPoints(values: readonly number[], { width, height }: typeof SIZE) {
	const top = Math.max(...values, 0);
	const step = values.length > 1 ? width / (values.length - 1) : 0;
	const round = (value: number) => Math.round(value * 100) / 100;
	return values
		.map((value, at) => {
			const y = top === 0 ? height : height - (Math.max(0, value) / top) * height;
			return `${round(at * step)},${round(y)}`;
		})
		.join(" ");
}

function useSamples(): { samples: readonly Sample[]; error: string | undefined } {
	const [samples, setSamples] = useState<readonly Sample[]>([]);
	const [error, setError] = useState<string>();
	useEffect(() => {
		let timer: ReturnType<typeof setTimeout> | undefined;
		const asking = createAsking({
			ask: (signal) => client().request("get_metrics", {}, { signal }),
			onAnswer({ data }) {
				setSamples((before) => withSample(before, { atMs: Date.now(), metrics: data }));
				setError(undefined);
				timer = setTimeout(look, EVERY_MS);
			},
			onError(problem) {
				setError(textOf(problem));
				timer = setTimeout(look, EVERY_MS);
			},
		});
		function look(): void {
			clearTimeout(timer);
			if (document.visibilityState === "visible") asking.again();
		}
		document.addEventListener("visibilitychange", look);
		look();
		return () => {
			document.removeEventListener("visibilitychange", look);
			clearTimeout(timer);
			asking.stop();
		};
	}, []);
	return { samples, error };
}
