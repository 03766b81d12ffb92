/** How long a contributor waits: `npm test` with its slowest files, and format, lint and types alone. */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import {
	type Line,
	median,
	missing,
	options,
	report,
	rounded,
	sized,
	tempFolder,
} from "./support.ts";

const ROUNDS = sized(3, 1);
const SLOWEST = 20;

const project = fileURLToPath(new URL("..", import.meta.url));
const { scripts } = JSON.parse(readFileSync(join(project, "package.json"), "utf8"));
const folder = tempFolder();
const runs = Array.from({ length: ROUNDS }, (_, round) => testRun(join(folder, `${round}.json`)));

const lines: Line[] = [];
if (options.quick) missing("format, lint and types", "they take longer than a quick run");
else {
	const checks = Array.from({ length: ROUNDS }, () => seconds("npm", ["run", "-s", "check"]));
	lines.push({
		case: "npm test: format, lint, types and tests",
		unit: "s",
		value: median(runs.map(({ took }, round) => took + (checks[round] ?? 0))),
		target: 120,
		from: { files: runs[0]?.files.length ?? 0, tests: runs[0]?.tests ?? 0, rounds: ROUNDS },
	});
	lines.push({ case: "format, lint and types", unit: "s", value: median(checks), target: 40 });
}
lines.push({ case: "tests", unit: "s", value: median(runs.map(({ took }) => took)) });
for (const path of slowest()) {
	lines.push({ case: path, unit: "s", value: medianOf(path), digits: 2 });
}
report(lines);

interface TestFile {
	readonly path: string;
	readonly seconds: number;
}

/** The tests of `npm test` without its checks; in a quick run, of one folder. */
function testRun(output: string): { took: number; tests: number; files: TestFile[] } {
	const [, words = ""] = /vitest (run .*)$/.exec(scripts.test) ?? [];
	const reporter = ["--reporter=json", `--outputFile=${output}`];
	const vitest = [join(project, "node_modules", "vitest", "vitest.mjs"), ...words.split(" ")];
	const took = seconds(process.execPath, [...vitest, ...reporter, ...sized([], ["test/text"])]);
	const { numPassedTests, testResults } = JSON.parse(readFileSync(output, "utf8"));
	// A file may run in several projects of vitest: on SQLite and on PostgreSQL.
	const byPath = new Map<string, number>();
	for (const { name, startTime, endTime } of testResults) {
		const path = relative(project, name);
		byPath.set(path, (byPath.get(path) ?? 0) + (endTime - startTime) / 1000);
	}
	const files = Array.from(byPath, ([path, time]): TestFile => ({ path, seconds: time }));
	return { took, tests: numPassedTests, files };
}

function slowest(): string[] {
	const paths = (runs[0]?.files ?? []).map(({ path }) => path);
	return paths.toSorted((a, b) => medianOf(b) - medianOf(a)).slice(0, SLOWEST);
}

function medianOf(path: string): number {
	return median(
		runs.map(({ files }) => files.find((file) => file.path === path)?.seconds ?? Number.NaN),
	);
}

/** Throws if the command fails: a run that stops early is no measurement. */
function seconds(command: string, words: string[]): number {
	const start = performance.now();
	const { status, stdout, stderr } = spawnSync(command, words, { cwd: project, encoding: "utf8" });
	if (status !== 0) throw new Error(`${command} ${words.join(" ")} failed:\n${stdout}${stderr}`);
	return rounded((performance.now() - start) / 1000, 2);
}
