/** Shared by all benchmarks: options, fair timing, inputs that may be missing, and the report. */
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";

/** The arguments of a benchmark: `node bench/<name>.ts [--quick] [--write] [--traces <folder>]`. */
export interface BenchOptions {
	/** Run the smallest size, as a smoke test. The figures mean nothing. */
	readonly quick: boolean;
	/** The runner will write the figures: a benchmark refuses to run without one of its inputs. */
	readonly write: boolean;
	/** A folder with real sessions, which are not part of the project; also from STRATA_TRACES. */
	readonly traces: string | undefined;
}

export const options: BenchOptions = optionsFrom(process.argv.slice(2));

/** A size by the kind of run. */
export function sized<Size>(full: Size, quick: Size): Size {
	return options.quick ? quick : full;
}

/** Two ways to do the same thing. */
export interface Contest {
	baseline: (round: number) => Promise<unknown>;
	candidate: (round: number) => Promise<unknown>;
	/** Rounds that count; two in a quick run. */
	rounds: number;
	/** Rounds before those, to warm up the compiler. Default: a fifth of `rounds`, at least 3; one in a quick run. */
	warmup?: number;
	/** Runs before each round, untimed. */
	prepare?: (round: number) => unknown;
	/** Runs after each of the two, untimed: work that one leaves running must not slow the other. */
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
 * Times both in turn, in alternating order, so that other load on the machine affects them alike.
 * `round` keeps counting after the warm-up, so that every call can have a file of its own.
 */
export async function compare(contest: Contest): Promise<Comparison> {
	const rounds = sized(contest.rounds, 2);
	const warmup = sized(contest.warmup ?? Math.max(3, Math.ceil(rounds / 5)), 1);
	const { prepare, settle } = contest;
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
		ratio: median(ratios),
		rounds,
	};
}

/** How long a task takes, in milliseconds. */
export async function timed(task: () => unknown): Promise<number> {
	const start = performance.now();
	await task();
	return performance.now() - start;
}

export function median(values: readonly number[]): number {
	return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}

/** The value that this share of the values does not exceed. */
export function quantile(values: readonly number[], share: number): number {
	const sorted = values.toSorted((a, b) => a - b);
	return sorted[Math.ceil(sorted.length * share) - 1] ?? Number.NaN;
}

export function rounded(value: number, digits = 1): number {
	return Number(value.toFixed(digits));
}

/** One figure with its target. */
export interface Line {
	case: string;
	/** For example "× pi's read", "ms", "%". */
	unit: string;
	/** As measured; {@link digits} says how it is shown and stored. */
	value: number;
	/** Digits after the point. Default: 1. */
	digits?: number;
	/** Which way is better. Default: "lower", or "higher" with {@link atLeast}. */
	better?: "lower" | "higher";
	/** The largest value that is good enough, or `atLeast` the smallest; neither for figures that are only reported. */
	target?: number;
	atLeast?: number;
	/** A figure of the same unit from the same run: the ratio to it depends less on the machine. */
	baseline?: { name: string; value: number };
	/** The data behind the figure: medians, counts, sizes. */
	from?: Record<string, number | string>;
}

/** Ends a benchmark: prints the lines as a table and hands them to the runner, which stores them if it is asked to. */
export function report(lines: readonly Line[]): void {
	const names = lines.map((line) => line.case);
	const twice = names.find((name, index) => names.indexOf(name) < index);
	if (twice !== undefined) throw new Error(`two figures have the name "${twice}"`);
	console.table(
		lines.map((line) => ({
			case: line.case,
			value: rounded(line.value, line.digits),
			unit: line.unit,
			ratio: ratioText(line),
			target: targetText(line),
			met: targetText(line) === "" ? "" : isMet(line) ? "yes" : "NO",
			from: Object.entries(line.from ?? {})
				.map(([key, figure]) => `${key} ${figure}`)
				.join(", "),
		})),
	);
	process.send?.(lines);
}

/** A line as results hold it: rounded, and with whether it meets its target. */
export function storedLine({ digits = 1, ...line }: Line): object {
	const { baseline } = line;
	return {
		...line,
		value: rounded(line.value, digits),
		...(baseline && { baseline: { ...baseline, value: rounded(baseline.value, 3) } }),
		...(targetText(line) !== "" && { met: isMet({ ...line, digits }) }),
	};
}

function ratioText({ value, baseline }: Line): string {
	return baseline ? `${rounded(value / baseline.value, 2)} × ${baseline.name}` : "";
}

function targetText({ target, atLeast }: Line): string {
	if (atLeast !== undefined) return `≥ ${atLeast}`;
	return target === undefined ? "" : `≤ ${target}`;
}

/** Whether the value, rounded, is good enough. */
export function isMet(line: Line): boolean {
	const value = rounded(line.value, line.digits);
	const { target = Number.POSITIVE_INFINITY, atLeast = value } = line;
	return value <= target && value >= atLeast;
}

/** A folder that is removed when the process ends. */
export function tempFolder(): string {
	const folder = realpathSync(mkdtempSync(join(tmpdir(), "strata-bench-")));
	// A child process that is being stopped may still write: hence the retries.
	const removal = { recursive: true, force: true, maxRetries: 10, retryDelay: 100 };
	process.once("exit", () => rmSync(folder, removal));
	return folder;
}

/** The exit status of a benchmark that refuses to run; it has printed why. */
export const REFUSED = 3;

/**
 * Reports that some cases cannot be measured. A run whose figures are stored ends here, before anything is measured:
 * results without some of their cases must not replace complete ones.
 */
export function missing(cases: string, why: string): undefined {
	if (options.write) {
		console.error(`nothing is written: ${cases} cannot be measured: ${why}`);
		process.exit(REFUSED);
	}
	console.log(`skipped: ${cases}: ${why}`);
	return undefined;
}

function optionsFrom(args: string[]): BenchOptions {
	const { values } = parseArgs({
		args,
		// A test that imports a part of a benchmark has other arguments.
		strict: false,
		options: {
			quick: { type: "boolean" },
			write: { type: "boolean" },
			traces: { type: "string" },
		},
	});
	const { quick = false, write = false, traces } = values;
	return {
		quick: quick === true,
		write: write === true,
		traces: (typeof traces === "string" && traces) || process.env.STRATA_TRACES || undefined,
	};
}

// A benchmark that the runner stops still removes its folders and ends its servers.
if (process.send) process.once("SIGTERM", () => process.exit(143));
