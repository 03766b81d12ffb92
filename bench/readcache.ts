/**
 * What the read cache costs and saves, next to pi's own `read` of the same file in the same run.
 * Run with `npm run bench:readcache`, or a part of it with `npx node bench/readcache.ts <part>…`;
 * a complete run writes `bench/results/readcache.json`.
 */
import { measureAbort } from "./readcache/abort.ts";
import { measureLargeFiles } from "./readcache/large-files.ts";
import { measureLongSession } from "./readcache/long-session.ts";
import { measureMemory } from "./readcache/memory.ts";
import { measureReplay } from "./readcache/replay.ts";
import { measureSingleReads } from "./readcache/single-reads.ts";
import { type Line, printLines, saveLines } from "./support.ts";

const parts: Record<string, () => Promise<Line[]>> = {
	reads: measureSingleReads,
	large: measureLargeFiles,
	session: measureLongSession,
	abort: measureAbort,
	memory: measureMemory,
	replay: measureReplay,
};

const wanted = process.argv.slice(2);
const chosen = Object.keys(parts).filter((name) => wanted.length === 0 || wanted.includes(name));
if (chosen.length < wanted.length) {
	throw new Error(`Parts are ${Object.keys(parts).join(", ")}; got ${wanted.join(", ")}`);
}

const lines: Line[] = [];
for (const name of chosen) {
	const measured = await parts[name]?.();
	lines.push(...(measured ?? []));
	printLines(measured ?? []);
}
if (wanted.length === 0) saveLines("readcache", lines);
