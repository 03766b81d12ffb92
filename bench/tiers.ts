/**
 * What the layouts of a working set cost: `npm run bench -- tiers [session.jsonl]`, or the session in STRATA_TRACE;
 * writes `bench/results/tiers.json`. The session is a real one that is not part of the project; without it, only the
 * generated workloads are measured. Ends with an error if `log` is dearer than another layout anywhere.
 */
import { type CacheRules, rulesFor } from "../src/economy/index.ts";
import {
	readSessionFile,
	rebuildRequests,
	replayPolicies,
	runPolicy,
} from "../src/economy/replay/index.ts";
import { logPolicy } from "../src/tiers/replay/log-policy.ts";
import { tiersPolicy } from "../src/tiers/replay/tiers-policy.ts";
import { type Line, printLines, rounded, saveLines } from "./support.ts";
import { costsOf, logToBest } from "./tiers/compare.ts";
import { WORKLOADS } from "./tiers/workload.ts";

const READ_RATIOS = [0.1, 0.05, 0.025];
const SEEDS = 20;

/** By how much `log` may be dearer than the cheapest other layout. */
const TOLERANCE = 1.005;

const trace = process.argv[2] ?? process.env.STRATA_TRACE;
const lines = [
	...READ_RATIOS.flatMap((readRatio) => workloadLines(readRatio)),
	...(trace ? await traceLines(trace) : []),
];
printLines(lines.map(({ from: _, ...line }) => line));
saveLines("tiers", lines);
const failed = lines.filter(({ value, target = Number.POSITIVE_INFINITY }) => value > target);
for (const { case: name, value } of failed) console.error(`too dear: ${name}, ${value}`);
if (failed.length > 0) process.exitCode = 1;

function workloadLines(readRatio: number): Line[] {
	const table: Record<string, Record<string, number>> = {};
	const found = WORKLOADS.map((workload): Line => {
		const costs = costsOf(workload, { readRatio, seeds: SEEDS });
		const { ratio, best } = logToBest(costs);
		const shares = Object.entries(costs).map(([name, cost]) => [name, rounded(cost, 3)]);
		table[workload.name] = Object.fromEntries(shares);
		return {
			case: `${workload.name}, reads at ${readRatio}`,
			unit: "× the best other layout",
			value: rounded(ratio, 4),
			target: TOLERANCE,
			from: { ...table[workload.name], best },
		};
	});
	console.log(`cost / no cache, reads at ${readRatio}, mean of ${SEEDS} sessions`);
	console.table(table);
	return found;
}

/** A session without a working set: `log` leaves pi's requests as they are, `tiers` lays all of them out anew. */
async function traceLines(file: string): Promise<Line[]> {
	const session = await readSessionFile(file);
	const appendOnly = replayPolicies.find(({ name }) => name === "append-only");
	if (!appendOnly) throw new Error('there is no policy "append-only"');
	return READ_RATIOS.flatMap((readRatio) => {
		const replayed = rebuildRequests(session, (name) => modelWith(name, { readRatio }));
		const pis = runPolicy(appendOnly, replayed).cost;
		return [tiersPolicy(), logPolicy].map((policy) => ({
			case: `trace: ${policy.name}, reads at ${readRatio}`,
			unit: "× append-only",
			value: rounded(runPolicy(policy, replayed).cost / pis, 3),
			...(policy === logPolicy && { target: 1 }),
		}));
	});
}

function modelWith(name: { provider: string; id: string }, overrides: Partial<CacheRules>) {
	return { name, rules: rulesFor(name, overrides), prices: undefined, contextWindow: 200_000 };
}
