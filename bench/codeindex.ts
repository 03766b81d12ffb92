/**
 * How fast code is indexed and asked: a made-up monorepo of 10,000 files, and real sources if a folder is given.
 * Run with `npm run bench -- codeindex [folder of real sources]`; writes `bench/results/codeindex.json`.
 */
import { execFileSync } from "node:child_process";
import { appendFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { type CodeIndex, openCodeIndex } from "../src/codeindex/index.ts";
import { writeMonorepo } from "./codeindex/monorepo.ts";
import { type Line, median, printLines, rounded, saveLines, timed } from "./support.ts";

const FILES = 10_000;
const MB = 1024 * 1024;
const folder = mkdtempSync(join(tmpdir(), "bench-codeindex-"));
const root = join(folder, "monorepo");
const monorepo = writeMonorepo(root, { files: FILES });
execFileSync("git", ["init", "-q"], { cwd: root });

const figures: Line[] = [];
const index = openCodeIndex({ root, folder: join(folder, "cache") });
figures.push(...(await building(index, "made-up monorepo", monorepo.bytes)));
figures.push(...(await asking(index)));
await index.close();
const real = process.argv[2];
if (real !== undefined) {
	const sources = openCodeIndex({ root: real, folder: join(folder, "cache") });
	figures.push(...(await building(sources, "real sources")));
	await sources.close();
}
rmSync(folder, { recursive: true });
printLines(figures);
saveLines("codeindex", figures);

/** The first indexing: files a second, memory, how long the calling thread was held up, and the database. */
async function building(code: CodeIndex, what: string, sourceBytes?: number): Promise<Line[]> {
	const delay = monitorEventLoopDelay({ resolution: 5 });
	let peak = 0;
	const watch = setInterval(() => {
		peak = Math.max(peak, process.memoryUsage.rss());
	}, 50);
	delay.enable();
	const report = await code.build();
	delay.disable();
	clearInterval(watch);
	const { bytes, files, symbols } = await code.status();
	const from = { files, symbols, seconds: rounded(report.seconds, 2) };
	return [
		// A lower bound as an upper one: milliseconds a file, 600 files a second at most 1.67.
		{
			case: `${what}: first indexing`,
			unit: "ms a file",
			value: rounded((1000 * report.seconds) / files, 2),
			target: rounded(1000 / 600, 2),
			from: { ...from, "files/s": Math.round(files / report.seconds) },
		},
		{ case: `${what}: memory at most`, unit: "MB", value: Math.round(peak / MB), target: 800 },
		{
			case: `${what}: calling thread held up, at most`,
			unit: "ms",
			value: rounded(delay.max / 1e6),
			target: 50,
		},
		...(sourceBytes === undefined
			? []
			: [
					{
						case: `${what}: database`,
						unit: "× the source",
						value: rounded(bytes / sourceBytes, 2),
						target: 0.75,
						from: { "source MB": rounded(sourceBytes / MB), "database MB": rounded(bytes / MB) },
					},
				]),
	];
}

/** Questions among all files: right after an edit, freshness check included, and the answer alone. */
async function asking(code: CodeIndex): Promise<Line[]> {
	const { hub, hubSymbol, sample } = monorepo;
	const questions: Record<string, () => Promise<unknown>> = {
		search: () => code.search({ query: "handle part service", contextLines: 1 }),
		"dependents of the most used file, depth 3": () =>
			code.dependencies({ path: hub, direction: "dependents", depth: 3 }),
		"usages of the most used symbol": () => code.usages({ symbol: hubSymbol, file: hub }),
		"impact of the most used file": () => code.impact({ modify: [hub] }),
		"task context": () => code.taskContext({ files: [sample], includeSymbols: true }),
		"symbol map of 2,000 tokens": () => code.symbolMap({ budgetTokens: 2000 }),
	};
	const lines: Line[] = [];
	for (const [name, ask] of Object.entries(questions)) {
		await ask();
		const edited: number[] = [];
		for (let round = 0; round < 15; round++) {
			appendFileSync(join(root, sample), `export const added${name.length}_${round} = ${round};\n`);
			edited.push(await timed(ask));
		}
		lines.push({
			case: `${name}: whole call, one file just edited`,
			unit: "ms",
			value: rounded(median(edited)),
			target: 150,
			from: { "slowest, ms": rounded(Math.max(...edited)) },
		});
	}
	return lines;
}
