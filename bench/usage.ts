/**
 * What `strata usage` takes: processor time to read session files, and the time once they are cached. The folder of
 * traces holds transcripts (`.jsonl`, also `.jsonl.gz`), at any depth; files of unknown agents are left out.
 */
import { join } from "node:path";
import { scanUsage, UsageAccount, UsageCache } from "../src/usage/index.ts";
import {
	bytesIn,
	claudeSession,
	type Group,
	realSessions,
	repeated,
} from "./importers/sessions.ts";
import { type Line, median, report, rounded, sized, tempFolder, timed } from "./support.ts";

const RUNS = sized(5, 2);
/** What the target is about. Smaller inputs are read repeatedly, so that starting workers counts as it does there. */
const BYTES = sized(4e8, 1);
const FILES = sized(50, 2);
const TURNS = sized(130, 20);

const folder = tempFolder();
const real = [...(await realSessions()).values()].flat();
const groups = [generated(), { name: "real", files: real }].filter(({ files }) => files.length > 0);
const lines: Line[] = [];
for (const group of groups) lines.push(...(await linesOf(group)));
report(lines);

async function linesOf({ name, files: once }: Group): Promise<Line[]> {
	const files = repeated(once, BYTES);
	const bytes = bytesIn(files);
	const times = files.length / once.length;
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
	const megabytes = rounded(bytes / times / 1e6);
	const from = { files: once.length, megabytes, times, requests, runs: RUNS };
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

/** Transcripts of 1 to 2 MB. */
function generated(): Group {
	const at = tempFolder();
	const files = Array.from({ length: FILES }, (_, number) =>
		claudeSession(String(number), TURNS).save(`${number}.jsonl`, at),
	);
	return { name: "generated", files };
}
