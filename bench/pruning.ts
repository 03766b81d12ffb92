/** The claims of pruning. Without a trace, only the generated workloads are measured. */
import type { ReplayPolicy } from "../src/economy/replay/index.ts";
import { type PolicyOutcome, replayPolicies, runPolicy } from "../src/economy/replay/index.ts";
import { pruningPolicy } from "../src/pruning/index.ts";
import { generateSession } from "../test/economy/replay/workload.ts";
import {
	benchWorkloads,
	pruneSettings,
	READ_RATIOS,
	replayTrace,
	sessionFile,
} from "./economy/trace.ts";
import { type Line, report } from "./support.ts";

/** Pi compacts when fewer tokens than this are left in the window. */
const RESERVE = 16_384;

const pruning = pruningPolicy(pruneSettings);
const appendOnly = named("append-only");

const trace = sessionFile();
report([
	...(trace ? await traceLines(trace) : []),
	...READ_RATIOS.flatMap(workloadLines),
	...READ_RATIOS.map(compactionLine),
]);

/** On the trace: the session's cost with pruning at each read price, and with other ways to prune for comparison. */
async function traceLines(file: string): Promise<Line[]> {
	const found: Line[] = [];
	for (const readRatio of READ_RATIOS) {
		const session = await replayTrace(file, readRatio);
		const without = runPolicy(appendOnly, session);
		for (const policy of [pruning, named("prune-batch"), named("prune-each")]) {
			const outcome = runPolicy(policy, session);
			found.push({
				case: `trace: ${policy.name}, reads at ${readRatio}`,
				unit: "× without",
				value: outcome.cost / without.cost,
				digits: 3,
				...(policy === pruning && readRatio === 0.1 && { target: 0.65 }),
				from: { "mean request": meanOf(outcome), "without pruning": meanOf(without) },
			});
		}
	}
	return found;
}

/** On generated sessions: the savings of pruning in total, and its cost at worst. */
function workloadLines(readRatio: number): Line[] {
	const ratios = benchWorkloads(readRatio).map((workload) => {
		const session = generateSession(workload);
		return runPolicy(pruning, session).cost / runPolicy(appendOnly, session).cost;
	});
	const from = { workloads: ratios.length };
	const mean = ratios.reduce((sum, ratio) => sum + ratio, 0) / ratios.length;
	return [
		{
			case: `generated: mean, reads at ${readRatio}`,
			unit: "× without",
			value: mean,
			digits: 3,
			target: 1,
			from,
		},
		{
			case: `generated: worst, reads at ${readRatio}`,
			unit: "× without",
			value: Math.max(...ratios),
			digits: 4,
			target: 1.02,
			from,
		},
	];
}

/** The number of sessions that would need a compaction. They are generated without any. */
function compactionLine(readRatio: number): Line {
	const counts = { without: 0, with: 0, "with, but not without": 0 };
	for (const workload of benchWorkloads(readRatio)) {
		const { contextWindow = 0 } = workload;
		const session = generateSession({ ...workload, compactAt: Number.POSITIVE_INFINITY });
		const isFull = (policy: ReplayPolicy) =>
			runPolicy(policy, session).maxContext > contextWindow - RESERVE;
		const before = isFull(appendOnly);
		const after = isFull(pruning);
		if (before) counts.without++;
		if (after) counts.with++;
		if (after && !before) counts["with, but not without"]++;
	}
	return {
		case: `generated: sessions that are compacted, reads at ${readRatio}`,
		unit: "× without",
		value: counts.with / counts.without,
		digits: 2,
		target: 1,
		from: counts,
	};
}

function named(name: string): ReplayPolicy {
	const policy = replayPolicies.find((found) => found.name === name);
	if (!policy) throw new Error(`there is no policy "${name}"`);
	return policy;
}

function meanOf({ requests, input, read, write }: PolicyOutcome): number {
	return Math.round((input + read + write) / requests.length);
}
