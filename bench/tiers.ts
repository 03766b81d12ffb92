/**
 * The cost of the layouts of a working set. Without a trace, only the generated workloads are measured. Ends with an
 * error if `log` is dearer than another layout anywhere.
 */
import { replayPolicies, runPolicy } from "../src/economy/replay/index.ts";
import { tiersPolicy } from "../src/tiers/replay-policy.ts";
import { logPolicy } from "../src/workset/index.ts";
import { READ_RATIOS, replayTrace, sessionFile } from "./economy/trace.ts";
import { isMet, type Line, report, rounded, sized } from "./support.ts";
import { costsOf, logToBest } from "./tiers/compare.ts";
import { WORKLOADS } from "./tiers/workload.ts";

const SEEDS = sized(20, 1);

/** The tolerance for `log` above the cheapest other layout. */
const TOLERANCE = 1.005;

const trace = sessionFile();
const lines = [
	...READ_RATIOS.flatMap((readRatio) => workloadLines(readRatio)),
	...(trace ? await traceLines(trace) : []),
];
report(lines);
const failed = lines.filter((line) => !isMet(line));
for (const { case: name, value } of failed) console.error(`too dear: ${name}, ${value}`);
if (failed.length > 0) process.exitCode = 1;

function workloadLines(readRatio: number): Line[] {
	const table: Record<string, Record<string, number>> = {};
	const found = WORKLOADS.slice(0, sized(undefined, 2)).map((workload): Line => {
		const costs = costsOf(workload, { readRatio, seeds: SEEDS });
		const { ratio, best } = logToBest(costs);
		const shares = Object.entries(costs).map(([name, cost]) => [name, rounded(cost, 3)]);
		table[workload.name] = Object.fromEntries(shares);
		return {
			case: `${workload.name}, reads at ${readRatio}`,
			unit: "× the best other layout",
			value: ratio,
			digits: 4,
			target: TOLERANCE,
			from: { ...table[workload.name], best },
		};
	});
	console.log(`cost / no cache, reads at ${readRatio}, mean of ${SEEDS} sessions`);
	console.table(table);
	return found;
}

/** A session without a working set: `log` leaves pi's requests as they are, `tiers` lays out all of them. */
async function traceLines(file: string): Promise<Line[]> {
	const appendOnly = replayPolicies.find(({ name }) => name === "append-only");
	if (!appendOnly) throw new Error('there is no policy "append-only"');
	const lines: Line[] = [];
	for (const readRatio of READ_RATIOS) {
		const replayed = await replayTrace(file, readRatio);
		const pis = runPolicy(appendOnly, replayed).cost;
		for (const policy of [tiersPolicy(), logPolicy]) {
			lines.push({
				case: `trace: ${policy.name}, reads at ${readRatio}`,
				unit: "× append-only",
				value: runPolicy(policy, replayed).cost / pis,
				digits: 3,
				...(policy === logPolicy && { target: 1 }),
			});
		}
	}
	return lines;
}
