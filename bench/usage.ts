/**
 * What `strata usage` takes: processor time to read session files, and the time once they are cached. The folder of
 * traces holds transcripts (`.jsonl`, also `.jsonl.gz`), at any depth; files of unknown agents are left out.
 */
import { globSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { gunzipSync } from "node:zlib";
import { scanUsage, UsageAccount, UsageCache } from "../src/usage/index.ts";
import { ClaudeWriter } from "../test/importers/claude-writer.ts";
import {
	type Line,
	median,
	missing,
	options,
	report,
	rounded,
	sized,
	tempFolder,
	timed,
} from "./support.ts";

interface Group {
	readonly name: string;
	readonly files: readonly string[];
}

const RUNS = sized(5, 2);
/** What the target is about. Smaller inputs are read repeatedly, so that starting workers counts as it does there. */
const BYTES = sized(4e8, 1);
const FILES = sized(50, 2);
const TURNS = sized(130, 20);
const OUTPUT = "const line = of(some, file); // a comment on it\n".repeat(150);

const folder = tempFolder();
const groups = [generated(), real()].filter((group) => group !== undefined);
const lines: Line[] = [];
for (const group of groups) lines.push(...(await linesOf(group)));
report(lines);

async function linesOf({ name, files: once }: Group): Promise<Line[]> {
	const size = once.reduce((sum, file) => sum + statSync(file).size, 0);
	const times = Math.ceil(BYTES / size);
	const files = Array.from({ length: times }, () => once).flat();
	const bytes = times * size;
	const cpuMs: number[] = [];
	for (let run = 0; run <= RUNS; run++) {
		const before = process.cpuUsage();
		await count(files);
		const { user, system } = process.cpuUsage(before);
		cpuMs.push((user + system) / 1000);
	}
	const cache = await UsageCache.open(join(folder, name));
	if (typeof cache === "string") throw new Error(cache);
	const requests = await count(files, cache);
	const cachedMs: number[] = [];
	for (let run = 0; run < RUNS; run++) cachedMs.push(await timed(() => count(files, cache)));
	cache.close();
	const from = { files: once.length, megabytes: rounded(size / 1e6), times, requests, runs: RUNS };
	return [
		{
			case: `${name}: processor time of 400 MB`,
			unit: "s",
			value: median(cpuMs.slice(1)) / 1000 / (bytes / 4e8),
			digits: 2,
			target: 6,
			from,
		},
		{ case: `${name}: all files cached`, unit: "ms", value: median(cachedMs), target: 1000, from },
	];
}

/** As the command does it: workers start with each run. */
async function count(files: readonly string[], cache?: UsageCache): Promise<number> {
	const account = new UsageAccount();
	await scanUsage(files, { cache, onUsage: (file, usage) => account.add(file, usage) });
	return account.report().total.requests;
}

/** Transcripts of 2 MB: a large result after every answer. */
function generated(): Group {
	const at = join(folder, "sessions");
	mkdirSync(at);
	const files = Array.from({ length: FILES }, (_, number) => {
		const writer = new ClaudeWriter();
		writer.user("Find the fault");
		for (let turn = 0; turn < TURNS; turn++) {
			const [id, call] = [`m${number}-${turn}`, `t${turn}`];
			writer.call(id, call, { file_path: `/w/${turn}.ts` }, { read: turn * 3000, write: 3000 });
			writer.result(call, OUTPUT);
			writer.line("progress", { data: { type: "hook_progress", text: OUTPUT.slice(0, 2000) } });
		}
		return writer.save(`${number}.jsonl`, at);
	});
	return { name: "generated", files };
}

function real(): Group | undefined {
	const { traces } = options;
	if (!traces) return missing("real sessions", "give --traces <folder>");
	const at = join(folder, "traces");
	mkdirSync(at);
	const plain = globSync("**/*.jsonl", { cwd: traces }).map((file) => join(traces, file));
	const packed = globSync("**/*.jsonl.gz", { cwd: traces }).map((file) => {
		const copy = join(at, basename(file, ".gz"));
		writeFileSync(copy, gunzipSync(readFileSync(join(traces, file))));
		return copy;
	});
	const files = [...plain, ...packed];
	return files.length > 0
		? { name: "real", files }
		: missing("real sessions", `${traces} has no .jsonl files`);
}
