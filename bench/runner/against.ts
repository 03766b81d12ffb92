/** Compares the working tree with another commit: the same benchmarks on both, alternately. */
import { cpSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type BenchOptions, type Line, median } from "../support.ts";
import { runBench } from "./child.ts";
import { git } from "./git.ts";

export interface AgainstOptions extends BenchOptions {
	readonly root: string;
	readonly names: readonly string[];
	/** How often each side runs. */
	readonly rounds: number;
	print(line: string): void;
	readonly signal: AbortSignal;
}

/** A case is worse if it lost more than this share of its old value. */
const LIMIT = 0.05;

/**
 * Both sides take these from the working tree, so that they measure the same thing in the same way. A script that does
 * not run on the old code is replaced by the commit's own; then only cases of the same name are compared.
 */
const COMMON = ["bench", "test"];

type Side = "old" | "new";
type Values = Record<Side, number[]>;

/** A case on both sides. */
export interface CaseComparison {
	readonly case: string;
	readonly unit: string;
	/** Medians over the rounds. */
	readonly old: number;
	readonly new: number;
	/** New to old. */
	readonly ratio: number;
	readonly isWorse: boolean;
	/** Whether the rounds of the two sides overlap: then the difference may be noise. */
	readonly overlaps: boolean;
}

/** Runs the benchmarks on both and prints each case. Returns 1 if one is worse or does not run on the working tree. */
export async function compareWith(revision: string, options: AgainstOptions): Promise<number> {
	const { root, names, print, signal } = options;
	let commit: string;
	try {
		commit = git(root, "rev-parse", "--verify", "--short", `${revision}^{commit}`);
	} catch {
		print(`git knows no commit "${revision}"`);
		return 2;
	}
	const folder = realpathSync(mkdtempSync(join(tmpdir(), "strata-against-")));
	const oldRoot = join(folder, "tree");
	const compared: CaseComparison[] = [];
	const failures: Record<Side, number> = { old: 0, new: 0 };
	try {
		git(root, "worktree", "add", "--quiet", "--detach", oldRoot, commit);
		takeScripts(oldRoot, () => copyScripts(root, oldRoot));
		symlinkSync(join(root, "node_modules"), join(oldRoot, "node_modules"), "junction");
		if (lockFile(root) !== lockFile(oldRoot)) {
			print("the two have different package-lock.json: both run with the packages of the new one");
		}
		for (const name of names) {
			let sides = await runSides(name, { old: oldRoot, new: root }, options);
			const hasOwn = () => git(root, "ls-tree", "--name-only", commit, `bench/${name}.ts`) !== "";
			if (sides.failed === "old" && !signal.aborted && hasOwn()) {
				print(`${name}: needs code that ${commit} does not have: its own script runs there`);
				takeScripts(oldRoot, () => git(oldRoot, "reset", "--hard", "--quiet"));
				sides = await runSides(name, { old: oldRoot, new: root }, options);
				takeScripts(oldRoot, () => copyScripts(root, oldRoot));
			}
			if (signal.aborted) break;
			if (sides.failed) {
				failures[sides.failed]++;
				const where = sides.failed === "old" ? commit : "the working tree";
				print(`${name}: not compared, it does not run on ${where}: ${sides.why}`);
				continue;
			}
			const cases = compareCases(sides.runs);
			for (const one of cases) print(caseText(one));
			compared.push(...cases);
		}
	} finally {
		rmSync(oldRoot, { recursive: true, force: true });
		git(root, "worktree", "prune");
		rmSync(folder, { recursive: true, force: true });
	}
	if (signal.aborted) {
		print("interrupted");
		return 1;
	}
	const worse = compared.filter(({ isWorse }) => isWorse);
	for (const one of worse) {
		print(`worse: ${one.case}, ${one.ratio.toFixed(2)} × ${commit}${overlapText(one)}`);
	}
	const notCompared = failures.old + failures.new;
	print(
		`${compared.length} cases compared with ${commit}: ${worse.length} worse by more than 5 %, ${notCompared} of ${names.length} benchmarks not compared`,
	);
	return worse.length > 0 || failures.new > 0 ? 1 : 0;
}

function takeScripts(oldRoot: string, take: () => void): void {
	for (const name of COMMON) rmSync(join(oldRoot, name), { recursive: true, force: true });
	take();
}

function copyScripts(from: string, to: string): void {
	for (const name of COMMON) cpSync(join(from, name), join(to, name), { recursive: true });
}

type Runs = Record<Side, (readonly Line[])[]>;
type SidesOutcome =
	| { readonly failed?: undefined; readonly runs: Runs }
	| { readonly failed: Side; readonly why: string };

async function runSides(
	name: string,
	roots: Record<Side, string>,
	{ quick, traces, rounds, print, signal }: AgainstOptions,
): Promise<SidesOutcome> {
	const runs: Runs = { old: [], new: [] };
	for (let round = 0; round < rounds; round++) {
		print(`${name}: round ${round + 1} of ${rounds}`);
		const order = ["old", "new"] as const;
		for (const side of round % 2 === 0 ? order : order.toReversed()) {
			const script = join(roots[side], "bench", `${name}.ts`);
			const options = { quick, write: false, traces, show: false, signal };
			const outcome = await runBench(script, options);
			if (outcome.kind === "done") runs[side].push(outcome.lines);
			else return { failed: side, why: outcome.kind === "failed" ? outcome.why : "it refuses" };
		}
	}
	return { runs };
}

/** The cases that both sides have, in the order of the new side. */
export function compareCases(runs: Runs): CaseComparison[] {
	const [newest = []] = runs.new;
	return newest.flatMap((line) => {
		const values = { old: valuesOf(runs.old, line.case), new: valuesOf(runs.new, line.case) };
		return values.old.length === 0 ? [] : [compareCase(line, values)];
	});
}

function compareCase(line: Line, values: Values): CaseComparison {
	const [before, after] = [median(values.old), median(values.new)];
	const isHigherBetter = line.better === "higher" || line.atLeast !== undefined;
	const ratio = before === after ? 1 : after / before;
	const loss = isHigherBetter ? before - after : after - before;
	return {
		case: line.case,
		unit: line.unit,
		old: before,
		new: after,
		ratio,
		isWorse: loss > LIMIT * Math.abs(before),
		overlaps:
			Math.min(...values.new) <= Math.max(...values.old) &&
			Math.min(...values.old) <= Math.max(...values.new),
	};
}

function valuesOf(runs: Runs[Side], name: string): number[] {
	return runs.flatMap((lines) =>
		lines.filter((line) => line.case === name).map(({ value }) => value),
	);
}

function caseText(one: CaseComparison): string {
	const values = `${shown(one.old)} → ${shown(one.new)} ${one.unit}`;
	const mark = one.isWorse ? `  WORSE${overlapText(one)}` : "";
	return `  ${one.ratio.toFixed(2).padStart(6)}  ${one.case}: ${values}${mark}`;
}

/** If the rounds of the two sides overlap, more rounds may show that nothing has changed. */
function overlapText({ overlaps }: CaseComparison): string {
	return overlaps ? ", but rounds of the two overlap" : "";
}

/** Four significant digits; large numbers keep all of theirs. */
function shown(value: number): number {
	return Math.abs(value) >= 1000 ? Math.round(value) : Number(value.toPrecision(4));
}

function lockFile(root: string): string | undefined {
	try {
		return readFileSync(join(root, "package-lock.json"), "utf8");
	} catch {
		return undefined; // a tree without one has nothing to compare
	}
}
