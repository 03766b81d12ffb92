/** What all benchmarks share: fair timing, facts about the machine, and a committed result file. */
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { findPackageJSON } from "node:module";
import { cpus } from "node:os";

/** Two ways to do the same thing. */
export interface Contest {
	baseline: (round: number) => Promise<unknown>;
	candidate: (round: number) => Promise<unknown>;
	/** Rounds that count. */
	rounds: number;
	/** Rounds before those, for the compiler. Default: a fifth of `rounds`, at least 3. */
	warmup?: number;
	/** Runs before each round, untimed. */
	prepare?: (round: number) => unknown;
	/** Runs after each of the two, untimed: what it leaves running must not burden the other. */
	settle?: (who: "baseline" | "candidate", round: number) => unknown;
}

/** The outcome of {@link compare}; times in milliseconds. */
export interface Comparison {
	baselineMs: number;
	candidateMs: number;
	/** Candidate to baseline: the median over the rounds, whose two halves met the same machine. */
	ratio: number;
	rounds: number;
}

/**
 * Times both in turn, in alternating order, so that whatever else the machine does hits them alike.
 * `round` counts on from the warm-up, so that every call can have a file of its own.
 */
export async function compare(contest: Contest): Promise<Comparison> {
	const { rounds, warmup = Math.max(3, Math.ceil(rounds / 5)), prepare, settle } = contest;
	const times = { baseline: [] as number[], candidate: [] as number[] };
	for (let round = 0; round < warmup + rounds; round++) {
		await prepare?.(round);
		const order = ["baseline", "candidate"] as const;
		for (const who of round % 2 === 0 ? order : order.toReversed()) {
			const ms = await timed(() => contest[who](round));
			if (round >= warmup) times[who].push(ms);
			await settle?.(who, round);
		}
	}
	const ratios = times.candidate.map((ms, round) => ms / (times.baseline[round] as number));
	return {
		baselineMs: rounded(median(times.baseline), 3),
		candidateMs: rounded(median(times.candidate), 3),
		ratio: rounded(median(ratios), 2),
		rounds,
	};
}

/** How long a task takes, in milliseconds. */
export async function timed(task: () => Promise<unknown>): Promise<number> {
	const start = performance.now();
	await task();
	return performance.now() - start;
}

export function median(values: readonly number[]): number {
	return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}

export function rounded(value: number, digits = 1): number {
	return Number(value.toFixed(digits));
}

/** One figure with what was asked of it. */
export interface Line {
	case: string;
	/** What the figure is: "× pi's read", "ms", "%". */
	unit: string;
	value: number;
	/** The largest value that is good enough, or `atLeast` the smallest; neither for figures that are only reported. */
	target?: number;
	atLeast?: number;
	/** What the figure comes from: medians, counts, sizes. */
	from?: Record<string, number | string>;
}

/** Prints the lines as a table. */
export function printLines(lines: readonly Line[]): void {
	const rows = lines.map((line) => ({
		case: line.case,
		value: line.value,
		unit: line.unit,
		target: targetText(line),
		met: targetText(line) === "" ? "" : isMet(line) ? "yes" : "NO",
		from: Object.entries(line.from ?? {})
			.map(([key, figure]) => `${key} ${figure}`)
			.join(", "),
	}));
	console.table(rows);
}

/** Writes the lines, and whether each meets its target, to `bench/results/<name>.json`. */
export function saveLines(name: string, lines: readonly Line[]): void {
	const judged = lines.map((line) =>
		targetText(line) === "" ? line : { ...line, met: isMet(line) },
	);
	saveResults(name, { results: judged });
}

function targetText({ target, atLeast }: Line): string {
	if (atLeast !== undefined) return `≥ ${atLeast}`;
	return target === undefined ? "" : `≤ ${target}`;
}

function isMet({ value, target = Number.POSITIVE_INFINITY, atLeast = value }: Line): boolean {
	return value <= target && value >= atLeast;
}

/** Writes a benchmark's figures to `bench/results/<name>.json`. */
export function saveResults(name: string, figures: object): void {
	const folder = new URL("./results/", import.meta.url);
	mkdirSync(folder, { recursive: true });
	const content = { date: new Date().toISOString().slice(0, 10), ...environment(), ...figures };
	writeFileSync(new URL(`${name}.json`, folder), `${JSON.stringify(content, null, "\t")}\n`);
}

/** What a figure depends on, without anything that names the machine or its owner. */
export function environment() {
	return {
		node: process.version,
		pi: piVersion(),
		cpu: cpus()[0]?.model ?? "unknown",
		cores: cpus().length,
		...commit(),
	};
}

function piVersion(): string {
	const manifest = findPackageJSON("@earendil-works/pi-coding-agent", import.meta.url);
	return manifest ? JSON.parse(readFileSync(manifest, "utf8")).version : "unknown";
}

function commit(): { commit?: string } {
	const cwd = new URL("..", import.meta.url);
	const git = (...args: string[]) =>
		execFileSync("git", args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
	try {
		const changed = git("status", "--porcelain", "--", "src").trim() !== "";
		return {
			commit: git("rev-parse", "--short", "HEAD").trim() + (changed ? " with changes" : ""),
		};
	} catch {
		return {}; // no git, or not a repository: the figures are of use all the same
	}
}
