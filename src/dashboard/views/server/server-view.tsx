import "./server.css";
import { useEffect, useMemo, useState } from "preact/hooks";
import type { Data } from "../../../protocol/index.ts";
import { useAnswer } from "../../answer.ts";
import { client } from "../../connection/connection.ts";
import {
	ago,
	bytes,
	duration,
	errorMessage,
	formatCount,
	formatLatency,
	formatNumberOf,
} from "../../parts/figures.ts";
import { Answered, Empty, Problem } from "../../parts/notices.tsx";
import { createRefresher } from "../../refresher.ts";
import { Section, useNow } from "../section.tsx";
import { History } from "./history.tsx";
import {
	RecentCommands,
	SessionName,
	type SessionNames,
	sessionNames,
} from "./recent-commands.tsx";
import { Servers } from "./servers.tsx";

export function ServerView() {
	const { samples, error } = useSamples();
	const latest = samples.at(-1)?.metrics;
	const sessions = useAnswer("list_sessions", {}).data?.sessions;
	const names = useMemo(() => sessionNames(sessions ?? []), [sessions]);
	return (
		<div class="sheet view">
			<h1>Server</h1>
			{error !== undefined && <Problem text={error} />}
			<Answered answer={useAnswer("health_check", {})}>
				{({ problems }) => problems.map((problem) => <Problem key={problem} text={problem} />)}
			</Answered>
			{!latest && error === undefined && <Empty>Loading…</Empty>}
			{latest && <Now samples={samples} latest={latest} />}
			{latest?.servers && <Servers servers={latest.servers} />}
			<History />
			{latest && <Counts commands={latest.commands} />}
			<Recovery names={names} />
			<RecentCommands names={names} />
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
		<Section title="Now" aside={<span class="soft small">up for {duration(latest.uptimeMs)}</span>}>
			<div class="tiles">
				<Tile
					name="Clients"
					value={formatCount(latest.clients)}
					note={formatNumberOf(latest.sessions, "open session")}
					values={over(({ clients }) => clients)}
				/>
				<Tile
					name="Commands per second"
					value={(rate.at(-1) ?? 0).toFixed(1)}
					note={`${formatCount(commands.pending)} in flight`}
					values={rate}
				/>
				<Tile
					name="Median latency"
					value={latencyMs ? formatLatency(latencyMs.p50) : "–"}
					note={
						latencyMs
							? `90 % below ${formatLatency(latencyMs.p90)}, 99 % below ${formatLatency(latencyMs.p99)}`
							: "no commands yet"
					}
					values={over(({ latencyMs: own }) => own?.p50 ?? 0)}
				/>
				<Tile
					name="Events per second"
					value={(events.at(-1) ?? 0).toFixed(1)}
					note={`${formatCount(journal.events)} stored`}
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
					note={`${bytes(memory.heapUsedBytes)} heap, ${bytes(memory.externalBytes)} external`}
					values={over((metrics) => metrics.memory.rssBytes)}
				/>
			</div>
		</Section>
	);
}

interface TileProps {
	readonly name: string;
	readonly value: string;
	readonly note: string;
	readonly values: readonly number[];
}

const SPARK_SIZE = { width: 200, height: 36 };

function Tile({ name, value, note, values }: TileProps) {
	const { width, height } = SPARK_SIZE;
	const points = sparkPoints(values, SPARK_SIZE);
	const box = `0 -2 ${width} ${height + 4}`;
	return (
		<div class="tile">
			<p class="soft small">{name}</p>
			<p class="tile-value number">{value}</p>
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
	["rateLimited", "rate limited"],
	["rejected", "rejected"],
] as const satisfies readonly (readonly [keyof Metrics["commands"], string])[];

function Counts({ commands }: Pick<Metrics, "commands">) {
	return (
		<Section title="Commands since the server started">
			<dl class="counts row">
				{COUNTS.map(([key, name]) => (
					<div key={key}>
						<dt class="soft">{name}</dt>
						<dd class="number">{formatCount(commands[key])}</dd>
					</div>
				))}
			</dl>
		</Section>
	);
}

const MAX_LISTED = 20;

function Recovery({ names }: SessionNames) {
	const answer = useAnswer("get_startup_recovery", {});
	const now = useNow();
	return (
		<Section title="Last start">
			<Answered answer={answer}>
				{(data) => (
					<>
						<p>
							Started {ago(data.startedAtMs, now)}. {startupSummary(data)}
						</p>
						{data.interrupted.length > 0 && (
							<>
								<p class="notice">
									{formatNumberOf(data.interrupted.length, "command was", "commands were")} in
									flight and may or may not have taken effect:
								</p>
								<ul class="usages plain-list">
									{data.interrupted.slice(0, MAX_LISTED).map((command) => (
										<li key={command.commandId} class="row">
											<code>{command.commandType}</code>
											{command.sessionId !== undefined && (
												<SessionName id={command.sessionId} name={names.get(command.sessionId)} />
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

/** A server that finds no sessions cannot know whether a process ran before it. */
export function startupSummary(recovery: Pick<Data<"StartupRecovery">, "crashed" | "sessions">) {
	const { crashed, sessions } = recovery;
	if (!crashed && sessions === 0) return "No sessions were found.";
	const ended = crashed ? "did not shut down cleanly" : "shut down cleanly";
	const left = formatNumberOf(sessions, "session was", "sessions were");
	return `The previous process ${ended}; ${left} found.`;
}

type Metrics = Data<"ServerMetrics">;

export interface Sample {
	readonly atMs: number;
	readonly metrics: Metrics;
}

const POLL_MS = 2_000;
/** Five minutes of samples. */
export const MAX_SAMPLES = 150;

/** Appends a sample. Drops older samples if the server has restarted, because it counts from zero again. */
export function withSample(samples: readonly Sample[], sample: Sample): Sample[] {
	const last = samples.at(-1);
	const isRestart = last !== undefined && sample.metrics.uptimeMs < last.metrics.uptimeMs;
	return [...(isRestart ? [] : samples.slice(1 - MAX_SAMPLES)), sample];
}

/** The increase per second from each sample to the next: one value fewer than there are samples. */
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

/** The points of an SVG `polyline`. The largest value is at the top. */
export function sparkPoints(values: readonly number[], { width, height }: typeof SPARK_SIZE) {
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
		const refresher = createRefresher({
			fetch: (signal) => client().request("get_metrics", {}, { signal }),
			onAnswer({ data }) {
				setSamples((before) => withSample(before, { atMs: Date.now(), metrics: data }));
				setError(undefined);
				timer = setTimeout(poll, POLL_MS);
			},
			onError(problem) {
				setError(errorMessage(problem));
				timer = setTimeout(poll, POLL_MS);
			},
		});
		function poll(): void {
			clearTimeout(timer);
			if (document.visibilityState === "visible") refresher.refresh();
		}
		document.addEventListener("visibilitychange", poll);
		poll();
		return () => {
			document.removeEventListener("visibilitychange", poll);
			clearTimeout(timer);
			refresher.stop();
		};
	}, []);
	return { samples, error };
}
