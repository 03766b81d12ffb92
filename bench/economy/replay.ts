/** The results of replays and their time. Without a trace, only the generated workloads are measured. */
import { readFileSync } from "node:fs";
import type { ReplayPolicy } from "../../src/economy/replay/index.ts";
import {
	buildReport,
	type ReplaySession,
	rebuildRequests,
	replayPolicies,
	runPolicy,
	strataPolicy,
} from "../../src/economy/replay/index.ts";
import { appendOnly } from "../../src/economy/replay/policies.ts";
import { pruningPolicy } from "../../src/pruning/index.ts";
import { randomSession } from "../../test/economy/replay/random-session.ts";
import { testModel } from "../../test/economy/replay/session-writer.ts";
import { generateSession } from "../../test/economy/replay/workload.ts";
import { readSessionFile } from "../../test/support/read-session-file.ts";
import { type Line, median, sized, timed } from "../support.ts";
import { benchWorkloads, pruneSettings, READ_RATIOS, replayTrace } from "./trace.ts";

const strata = strataPolicy(pruningPolicy(pruneSettings));
/** The same, if results of every tool could be pruned as soon as the model has answered them. */
const strataAtOnce = strataPolicy(
	pruningPolicy({ ...pruneSettings, keepRecentTurns: 0, maxToolChars: 0 }),
);
const policies = [...replayPolicies, strata];

export async function replayLines(trace: string | undefined): Promise<Line[]> {
	return [
		...(trace ? await traceLines(trace) : []),
		...READ_RATIOS.flatMap(workloadLines),
		...(await sizeLines()),
	];
}

/** On generated files of several sizes: the time of a whole replay, per entry of the session. */
async function sizeLines(): Promise<Line[]> {
	const lines: Line[] = [];
	for (const entries of sized([1000, 2000, 4000, 8000, 16_000], [1000, 2000])) {
		const file = randomSession(1, entries, { rearranged: 0, misbilled: 0 }).save();
		let requests = 0;
		const ms = await timed(async () => {
			const session = rebuildRequests(await readSessionFile(file), testModel);
			requests = buildReport(session, { policies }).requests;
		});
		lines.push({
			case: `generated: read, rebuild, all policies, report on ${entries} entries`,
			unit: "µs per entry",
			value: (ms * 1000) / entries,
			from: { requests },
		});
	}
	return lines;
}

/** On the trace: the total time, the accuracy of the bill, and each policy at each read price. */
async function traceLines(trace: string): Promise<Line[]> {
	const times: number[] = [];
	for (let round = 0; round < sized(5, 1); round++) {
		times.push(
			await timed(async () => {
				buildReport(await replayTrace(trace), { policies });
			}),
		);
	}
	const { check, requests } = buildReport(await replayTrace(trace), { policies });
	const lines: Line[] = [
		{
			case: "trace: read, rebuild, all policies, report",
			unit: "ms",
			value: median(times),
			target: 3000,
			baseline: { name: "parsing the file", value: await parsingMs(trace) },
			from: { requests, rounds: times.length },
		},
		{
			case: "trace: simulated against billed, losses fed in",
			unit: "% off",
			value: Math.abs(check.deviation) * 100,
			digits: 3,
			target: 2,
		},
	];
	for (const readRatio of READ_RATIOS) {
		const session = await replayTrace(trace, readRatio);
		const report = buildReport(session, { policies });
		for (const { name, ratio, maxContext } of report.policies) {
			lines.push({
				case: `trace: ${name}, reads at ${readRatio}`,
				unit: "× append-only",
				value: ratio,
				digits: 3,
				from: { "largest request": maxContext },
			});
		}
		lines.push({
			case: `trace: strata, all answered tool results prunable, reads at ${readRatio}`,
			unit: "× append-only",
			value: costOf(strataAtOnce, session) / costOf(appendOnly, session),
			digits: 3,
			...(readRatio === 0.1 && { target: 0.65 }),
		});
	}
	return lines;
}

/** The least that any reader of the file does. */
async function parsingMs(file: string): Promise<number> {
	const parse = () => {
		for (const line of readFileSync(file, "utf8").trim().split("\n")) JSON.parse(line);
	};
	return median([await timed(parse), await timed(parse), await timed(parse)]);
}

/** On generated sessions: the savings of `strata` in total, and its cost at worst. */
function workloadLines(readRatio: number): Line[] {
	const ratios = benchWorkloads(readRatio).map((workload) => {
		const session = generateSession(workload);
		return costOf(strata, session) / costOf(appendOnly, session);
	});
	const from = { workloads: ratios.length };
	const mean = ratios.reduce((sum, ratio) => sum + ratio, 0) / ratios.length;
	return [
		{
			case: `generated: strata, mean, reads at ${readRatio}`,
			unit: "× append-only",
			value: mean,
			digits: 3,
			target: 1,
			from,
		},
		{
			case: `generated: strata, worst, reads at ${readRatio}`,
			unit: "× append-only",
			value: Math.max(...ratios),
			digits: 3,
			target: 1.02,
			from,
		},
	];
}

function costOf(policy: ReplayPolicy, session: ReplaySession): number {
	return runPolicy(policy, session).cost;
}
