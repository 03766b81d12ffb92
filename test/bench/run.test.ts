import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeEach, describe, expect, test } from "vitest";
import { main } from "../../bench/run.ts";
import { runBench } from "../../bench/runner/child.ts";
import { tempDir } from "../support/temp.ts";

const QUIET = { average: 0.1, now: 0.05 };
const BUSY = { average: 0.1, now: 0.8 };

/** A project with one benchmark, whose figures are in its source. */
let root: string;
let printed: string[];

beforeEach(() => {
	root = tempDir();
	printed = [];
	mkdirSync(join(root, "bench", "results"), { recursive: true });
	mkdirSync(join(root, "test"));
	mkdirSync(join(root, "src"));
	mkdirSync(join(root, "node_modules"));
	const support = fileURLToPath(new URL("../../bench/support.ts", import.meta.url));
	cpSync(support, join(root, "bench", "support.ts"));
	write(".gitignore", "node_modules\n");
	write("bench/results/toy.json", "good figures\n");
	write("src/speed.ts", "export const speed = { ms: 10, rate: 100, same: 1 };\n");
	write("bench/toy.ts", TOY);
	git("init", "-q");
	commit("first");
});

const TOY = `
import { existsSync } from "node:fs";
import { speed } from "../src/speed.ts";
import { missing, options, report } from "./support.ts";
if (options.traces === undefined || !existsSync(options.traces)) missing("a case", "there is no trace");
report([
	{ case: "time", unit: "ms", value: speed.ms, digits: 2, target: 20 },
	{ case: "rate", unit: "per second", value: speed.rate, digits: 0, better: "higher" },
	{ case: "same", unit: "ms", value: speed.same },
]);
`;

describe("the words of the command", () => {
	test.each([
		[["tpy"], 'there is no benchmark "tpy"'],
		[["toy", "--wirte"], "Unknown option '--wirte'"],
		[["toy", "--quick", "--write"], "--quick measures nothing that is worth writing"],
		[["toy", "--write", "--against", "HEAD"], "--against compares and writes nothing"],
		[["toy", "--against", "HEAD", "--rounds", "0"], "--rounds takes a number from 1"],
		[["toy", "--against", "nonsense"], 'git knows no commit "nonsense"'],
	])("%j is refused with a reason", async (words, why) => {
		expect(await run(words)).toBe(2);
		expect(printed.join("\n")).toContain(why);
	});

	test("without a name, or asked for help, the command lists the benchmarks", async () => {
		for (const words of [[], ["--help"]]) {
			printed = [];
			expect(await run(words)).toBe(0);
			expect(printed.join("\n")).toContain("benchmarks: toy");
		}
	});
});

describe("results", () => {
	test("nothing is written without --write", { tags: "slow" }, async () => {
		expect(await run(["toy", "--traces", root])).toBe(0);
		expect(results()).toEqual({ "toy.json": "good figures\n" });
	});

	test("with --write they are replaced as a whole, and name their commit", {
		tags: "slow",
	}, async () => {
		expect(await run(["all", "--write", "--traces", root])).toBe(0);
		const { "toy.json": text = "", ...others } = results();
		expect(others).toEqual({});
		expect(JSON.parse(text)).toMatchObject({
			commit: git("rev-parse", "--short", "HEAD"),
			results: [
				{ case: "time", unit: "ms", value: 10, target: 20, met: true },
				{ case: "rate", unit: "per second", value: 100, better: "higher" },
				{ case: "same", unit: "ms", value: 1 },
			],
		});
		// Its own results are no change of the sources.
		expect(await run(["toy", "--write", "--traces", root])).toBe(0);
	});

	test("a busy machine is refused before anything runs, with its load", {
		tags: "slow",
	}, async () => {
		write("bench/toy.ts", "process.abort();");
		commit("a benchmark that must not start");
		expect(await run(["toy", "--write"], BUSY)).toBe(1);
		expect(printed).toEqual([
			"not written: toy: the machine is busy: 80 % of its processors are in use, more than 25 %",
		]);
		expect(results()).toEqual({ "toy.json": "good figures\n" });
	});

	test("figures that are no times are written on a busy machine too", {
		tags: "slow",
	}, async () => {
		write("bench/real.ts", readFileSync(join(root, "bench", "toy.ts"), "utf8"));
		commit("a benchmark of costs");
		expect(await run(["real", "--write", "--traces", root], BUSY, BUSY)).toBe(0);
		expect(Object.keys(results())).toContain("real.json");
	});

	test("figures of a machine that became busy meanwhile are not written", {
		tags: "slow",
	}, async () => {
		expect(await run(["toy", "--write", "--traces", root], QUIET, BUSY)).toBe(1);
		expect(printed.at(-1)).toContain("not written: toy: the machine is busy");
		expect(results()).toEqual({ "toy.json": "good figures\n" });
	});

	test("a missing input is refused with --write, and else skips its cases", {
		tags: "slow",
	}, async () => {
		expect(await run(["toy", "--write", "--traces", join(root, "none")])).toBe(1);
		expect(printed.at(-1)).toBe("not written: toy: an input is missing");
		expect(results()).toEqual({ "toy.json": "good figures\n" });
		expect(await run(["toy"])).toBe(0);
	});

	test("sources that are not committed are refused", { tags: "slow" }, async () => {
		write("src/speed.ts", "export const speed = { ms: 9, rate: 100, same: 1 };\n");
		expect(await run(["toy", "--write", "--traces", root])).toBe(1);
		expect(printed).toEqual([
			"not written: toy: src/speed.ts is not committed, and a result names its commit",
		]);
	});

	test.each([
		["throws", 'throw new Error("no luck");', "Error: no luck"],
		["reports nothing", "", "it reported no figures"],
		["reports what is no number", report("Number.NaN"), '"time" is NaN'],
		["reports and fails then", `${report("1")} process.exitCode = 7;`, "it ended with 7"],
	])("a benchmark that %s changes no result", { tags: "slow" }, async (_, source, why) => {
		write("bench/toy.ts", source);
		commit("broken");
		expect(await run(["toy", "--write"])).toBe(1);
		expect(printed.at(-1)).toBe(`not written: toy: ${why}`);
		expect(results()).toEqual({ "toy.json": "good figures\n" });
	});

	function report(value: string): string {
		return `import { report } from "./support.ts"; report([{ case: "time", unit: "ms", value: ${value} }]);`;
	}
});

test("a benchmark that leaves something open is stopped at its deadline and has failed", {
	tags: "slow",
}, async () => {
	write("bench/toy.ts", `${TOY}\nsetInterval(() => {}, 1000);`);
	const options = { quick: false, write: false, traces: undefined, show: false };
	const signal = new AbortController().signal;
	const script = join(root, "bench", "toy.ts");
	// Long enough for the figures on a busy machine: the reason says whether they came.
	const outcome = await runBench(script, { ...options, signal, deadlineMs: 5_000 });
	expect(outcome).toMatchObject({ kind: "failed", why: expect.stringContaining("still running") });
});

describe("--against", () => {
	test("a case that is worse by more than 5 % is named, by its own direction", {
		tags: "slow",
	}, async () => {
		write("src/speed.ts", "export const speed = { ms: 10.6, rate: 94, same: 1 };\n");
		expect(await run(["toy", "--against", "HEAD", "--rounds", "2"])).toBe(1);
		expect(printed.slice(-3)).toEqual([
			expect.stringMatching(/^worse: time, 1\.06 × \w+$/),
			expect.stringMatching(/^worse: rate, 0\.94 × \w+$/),
			expect.stringMatching(/^3 cases compared with \w+: 2 worse by more than 5 %, 0 of 1 /),
		]);
	});

	test("what is better, or worse by less, is no fault", { tags: "slow" }, async () => {
		write("src/speed.ts", "export const speed = { ms: 5, rate: 96, same: 1 };\n");
		expect(await run(["toy", "--against", "HEAD", "--rounds", "1"])).toBe(0);
		expect(printed.at(-1)).toContain("3 cases compared");
	});

	test("the old commit runs with the benchmarks of the working tree, and its tree is removed", {
		tags: "slow",
	}, async () => {
		write("bench/toy.ts", TOY.replaceAll('"time"', '"time, by another name"'));
		expect(await run(["toy", "--against", "HEAD", "--rounds", "1"])).toBe(0);
		expect(printed.at(-1)).toContain("3 cases compared");
		expect(git("worktree", "list").split("\n")).toHaveLength(1);
		expect(results()).toEqual({ "toy.json": "good figures\n" });
	});

	test("a benchmark that needs what the old commit lacks is named, and the others go on", {
		tags: "slow",
	}, async () => {
		write("src/newer.ts", "export const newer = 1;\n");
		write("bench/newer.ts", `import "../src/newer.ts";\n${TOY}`);
		expect(await run(["all", "--against", "HEAD", "--rounds", "1"])).toBe(0);
		expect(printed[1]).toMatch(/^newer: not compared, it does not run on \w+: .*newer\.ts/);
		expect(printed.at(-1)).toContain("3 cases compared");
		expect(printed.at(-1)).toContain("1 of 2 benchmarks not compared");
	});

	test("a script that needs newer code is replaced by the old commit's own", {
		tags: "slow",
	}, async () => {
		write("src/newer.ts", "export const newer = 1;\n");
		write("bench/toy.ts", `import "../src/newer.ts";\n${TOY.replace('"rate"', '"rate, renamed"')}`);
		expect(await run(["toy", "--against", "HEAD", "--rounds", "1"])).toBe(0);
		expect(printed[1]).toMatch(/^toy: needs code that \w+ does not have/);
		expect(printed.at(-1)).toMatch(/^2 cases compared with .* 0 of 1 benchmarks not compared$/);
	});

	test("an interrupted comparison removes its tree", { tags: "slow" }, async () => {
		const stop = new AbortController();
		write("bench/toy.ts", "setInterval(() => {}, 1000);");
		const ended = run(["toy", "--against", "HEAD"], QUIET, QUIET, stop.signal);
		setTimeout(() => stop.abort(), 300);
		expect(await ended).toBe(1);
		expect(printed.at(-1)).toBe("interrupted");
		expect(git("worktree", "list").split("\n")).toHaveLength(1);
	});
});

function run(
	words: string[],
	before = QUIET,
	after = before,
	signal = new AbortController().signal,
): Promise<number> {
	const loads = [before];
	return main(words, {
		root,
		load: async () => loads.shift() ?? after,
		print: (line) => printed.push(line),
		show: false,
		signal,
	});
}

function write(path: string, text: string): void {
	writeFileSync(join(root, path), text);
}

function results(): Record<string, string> {
	const folder = join(root, "bench", "results");
	if (!existsSync(folder)) return {};
	return Object.fromEntries(
		readdirSync(folder).map((file) => [file, readFileSync(join(folder, file), "utf8")]),
	);
}

function commit(message: string): void {
	git("add", "-A");
	git("-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-qm", message);
}

function git(...args: string[]): string {
	return execFileSync("git", args, { cwd: root, encoding: "utf8" }).trim();
}
