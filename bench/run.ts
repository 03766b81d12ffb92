/** `npm run bench -- …`: runs benchmarks, each in a process of its own, and stores their figures only with `--write`. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { compareWith } from "./runner/against.ts";
import { type Outcome, type RunOptions, runBench } from "./runner/child.ts";
import { busyReason, type Load, measureLoad } from "./runner/load.ts";
import { treeReason, writeResults } from "./runner/results.ts";

/** The environment of the command. */
export interface RunEnvironment {
	/** The project: its `bench/` has the scripts and the results. */
	readonly root: string;
	load(): Promise<Load>;
	print(line: string): void;
	/** Whether the tables of the benchmarks go to the terminal. */
	readonly show: boolean;
	/** Stops the running benchmark, and ends. */
	readonly signal: AbortSignal;
}

/** A script directly in `bench/` is a benchmark, except for these two. */
const OTHERS = new Set(["run", "support"]);

/** Their figures are costs and counts, the same on a busy machine. */
const UNTIMED = new Set(["real", "real-reads"]);

/** The benchmarks of a project, in the order of their names. */
export function benchNames(root: string): string[] {
	return readdirSync(join(root, "bench"))
		.filter((file) => file.endsWith(".ts"))
		.map((file) => file.slice(0, -".ts".length))
		.filter((name) => !OTHERS.has(name))
		.sort();
}

/** Runs the command and returns its status: 0, 1 if something failed, is worse or was not written, 2 for wrong arguments. */
export async function main(args: readonly string[], environment: RunEnvironment): Promise<number> {
	const { root, print } = environment;
	const all = benchNames(root);
	const wrong = (why: string) => {
		print(`${why}\n\n${usage(all)}`);
		return 2;
	};
	let parsed: ReturnType<typeof parseArguments>;
	try {
		parsed = parseArguments(args);
	} catch (error) {
		return wrong((error as Error).message);
	}
	const { positionals, values } = parsed;
	const { quick, write, against, traces, help } = values;
	if (help || positionals.length === 0) {
		print(usage(all));
		return 0;
	}
	const unknown = positionals.filter((name) => name !== "all" && !all.includes(name));
	if (unknown.length > 0) return wrong(`there is no benchmark "${unknown.join('", "')}"`);
	if (write && quick) return wrong("--quick measures nothing that is worth writing");
	if (write && against !== undefined) return wrong("--against compares and writes nothing");
	const rounds = Number(values.rounds);
	if (!Number.isInteger(rounds) || rounds < 1) return wrong("--rounds takes a number from 1");

	const names = positionals.includes("all") ? all : [...new Set(positionals)];
	const options = { quick, write, traces, signal: environment.signal };
	if (against !== undefined) {
		const busy = busyReason(await environment.load(), true);
		if (busy !== undefined) print(`${busy}: differences may be noise`);
		return compareWith(against, { ...options, root, names, rounds, print });
	}
	return runAll(names, { ...options, show: environment.show }, environment);
}

function parseArguments(args: readonly string[]) {
	return parseArgs({
		args: [...args],
		allowPositionals: true,
		options: {
			write: { type: "boolean", default: false },
			quick: { type: "boolean", default: false },
			traces: { type: "string" },
			against: { type: "string" },
			rounds: { type: "string", default: "3" },
			help: { type: "boolean", short: "h", default: false },
		},
	});
}

function usage(names: readonly string[]): string {
	return `usage: npm run bench -- <name>…|all [options]

  --write             store the figures in bench/results/; refused on a busy machine, without an input
                      (--traces, pdftotext, git), and for sources that are not committed
  --quick             the smallest sizes, to see that everything runs
  --traces <folder>   real sessions: one .jsonl file of pi in the folder itself, others anywhere in it;
                      also from STRATA_TRACES; pages for page-quality are named by STRATA_PAGES
  --against <commit>  compare with another commit, alternately; status 1 if a case is worse by more than 5 %
  --rounds <number>   how often --against runs each side (3)

benchmarks: ${names.join(", ")}`;
}

async function runAll(
	names: readonly string[],
	options: RunOptions,
	{ root, load, print, signal }: RunEnvironment,
): Promise<number> {
	const failures: string[] = [];
	for (const [index, name] of names.entries()) {
		if (signal.aborted) break;
		const busy = async (isFirst: boolean) =>
			UNTIMED.has(name) ? undefined : busyReason(await load(), isFirst);
		const refusal = options.write ? (treeReason(root) ?? (await busy(index === 0))) : undefined;
		if (refusal !== undefined) {
			failures.push(`${names.slice(index).join(", ")}: ${refusal}`);
			break;
		}
		print(`\n${name}`);
		const outcome = await runBench(join(root, "bench", `${name}.ts`), options);
		const failure = failureOf(outcome) ?? (options.write ? await busy(false) : undefined);
		if (failure !== undefined) failures.push(`${name}: ${failure}`);
		else if (options.write && outcome.kind === "done") writeResults(root, name, outcome.lines);
	}
	for (const failure of failures) print(options.write ? `not written: ${failure}` : failure);
	return failures.length > 0 || signal.aborted ? 1 : 0;
}

function failureOf(outcome: Outcome): string | undefined {
	if (outcome.kind === "done") return undefined;
	return outcome.kind === "failed" ? outcome.why : "an input is missing";
}

if (import.meta.main) {
	const stop = new AbortController();
	for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => stop.abort());
	process.exitCode = await main(process.argv.slice(2), {
		root: fileURLToPath(new URL("..", import.meta.url)),
		load: measureLoad,
		print: console.log,
		show: true,
		signal: stop.signal,
	});
}
