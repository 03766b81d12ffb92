/** The code index at the command line: first indexing, first answers and questions, from a clone and from the package. */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { grammarPath } from "../../src/codeindex/extract/tree-sitter/grammars.ts";
import { LANGUAGES } from "../../src/codeindex/languages.ts";
import { buildPackage } from "../startup/build-package.ts";
import {
	compare,
	type Line,
	median,
	missing,
	options,
	rounded,
	sized,
	tempFolder,
	timed,
} from "../support.ts";
import { StrataCommand } from "./command.ts";
import { peakMemory } from "./memory.ts";
import { type Monorepo, writeMonorepo } from "./monorepo.ts";
import { oldTree } from "./old-tree.ts";

const project = fileURLToPath(new URL("../..", import.meta.url));
const MB = 1024 * 1024;
const base = tempFolder();
let folders = 0;

function newFolder(): string {
	return join(base, String(++folders));
}

interface SampleProject extends Monorepo {
	readonly root: string;
}

function sampleProject(files: number): SampleProject {
	const root = newFolder();
	const monorepo = writeMonorepo(root, { files, filesPerPackage: sized(100, 20) });
	spawnSync("git", ["init", "-q"], { cwd: root });
	return { root, ...monorepo };
}

function strata(tree: string, { root: cwd }: SampleProject): StrataCommand {
	return new StrataCommand(tree, { cwd, folder: newFolder() });
}

export async function commandLines(): Promise<Line[]> {
	const small = sampleProject(sized(500, 40));
	return [
		...(await againstOld(small)),
		...(await questions(small, { clone: 220, package: 150 })),
		...(await questions(sampleProject(sized(7_000, 60)), { clone: 400, package: 400 })),
		...(await manyFiles()),
		grammars(),
	];
}

/** The same commands of this tree and of an old commit, in turn. Both are clones. */
async function againstOld(sample: SampleProject): Promise<Line[]> {
	const tree = oldTree(newFolder());
	if (tree === undefined) return [];
	const old = strata(tree, sample);
	const now = strata(project, sample);
	const cases = [
		{ what: "whole index", asked: ["index"], until: "end", target: 0.75 },
		{
			what: "first answer of a project that is not indexed",
			asked: ["search", sample.sampleSymbol],
			until: "answered",
			target: 0.45,
		},
	] as const;
	const lines: Line[] = [];
	// The second case also does what the first does.
	for (const { what, asked, until, target } of cases.slice(sized(0, 1))) {
		let end: Promise<unknown> = Promise.resolve();
		const time = (command: StrataCommand) => async () => {
			const running = command.start(...asked);
			end = running.end;
			await running[until];
		};
		const { ratio, baselineMs, candidateMs, rounds } = await compare({
			baseline: time(old),
			candidate: time(now),
			rounds: 5,
			warmup: 1,
			prepare() {
				old.forgetIndexes();
				now.forgetIndexes();
			},
			settle: () => end,
		});
		lines.push({
			case: `${sample.files} files, from a clone: ${what}`,
			unit: "× the old commit",
			value: ratio,
			digits: 2,
			target,
			from: { "old ms": rounded(baselineMs), "new ms": rounded(candidateMs), rounds },
		});
	}
	return lines;
}

/** From the start of Node to its end. The code has been compiled, and the files are in the system's cache. */
async function questions(
	sample: SampleProject,
	targets: { readonly clone: number; readonly package: number },
): Promise<Line[]> {
	const { files, sampleSymbol } = sample;
	const commands: [keyof typeof targets, StrataCommand][] = [["clone", strata(project, sample)]];
	if (options.quick) missing("questions to the package", "compiling takes longer than a quick run");
	else commands.push(["package", strata(installed(), sample)]);
	for (const [, command] of commands) await command.run("index");
	const rounds = sized(15, 1);
	const times = { clone: [] as number[], package: [] as number[] };
	for (let round = -2; round < rounds; round++) {
		for (const [name, command] of commands) {
			const ms = await timed(() => command.run("usages", sampleSymbol));
			if (round >= 0) times[name].push(ms);
		}
	}
	return commands.map(([name]) => ({
		case: `question on the command line, ${files} files, from ${name === "clone" ? "a clone" : "the package"}`,
		unit: "ms",
		value: median(times[name]),
		target: targets[name],
		from: { rounds, "fastest, ms": rounded(Math.min(...times[name])) },
	}));
}

let packageFolder: string | undefined;

function installed(): string {
	packageFolder ??= buildPackage(newFolder());
	return packageFolder;
}

/** A first indexing that no other work of this process adds memory to. */
async function manyFiles(): Promise<Line[]> {
	const sample = sampleProject(sized(20_000, 60));
	const { files } = sample;
	const running = strata(project, sample).start("index", "--json");
	const peak = await peakMemory(running.pid, () => running.end);
	const { seconds } = JSON.parse(await running.end);
	return [
		{
			case: `${files} files: first indexing`,
			unit: "ms a file",
			value: (1000 * seconds) / files,
			digits: 2,
			target: rounded(1000 / 550, 2),
			from: { "files/s": Math.round(files / seconds), seconds: rounded(seconds) },
		},
		{
			case: `${files} files: memory at most`,
			unit: "MB",
			value: peak / MB,
			digits: 0,
			target: 800,
		},
	];
}

/** What languages besides TypeScript add to the package. */
function grammars(): Line {
	const files = LANGUAGES.flatMap(({ grammar }) => grammar ?? []);
	const paths = files.map(grammarPath).filter(existsSync);
	const bytes = paths.reduce((sum, path) => sum + gzipSync(readFileSync(path)).length, 0);
	return {
		case: "grammars in the package, compressed",
		unit: "MB",
		value: bytes / MB,
		digits: 2,
		target: 2,
		from: { grammars: paths.length },
	};
}
