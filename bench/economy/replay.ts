/**
 * What replay finds and how long it takes. The trace is a real session that is not part of the project: its path is
 * the first argument or in STRATA_TRACE; without one, only the generated workloads are measured.
 */
import { type CacheRules, type ReplayPolicy, rulesFor } from "../../src/economy/index.ts";
import {
	buildReport,
	type ReplaySession,
	readSessionFile,
	rebuildRequests,
	replayPolicies,
	runPolicy,
} from "../../src/economy/replay/index.ts";
import { appendOnly } from "../../src/economy/replay/policies/append-only.ts";
import { strata, strataWith } from "../../src/economy/replay/policies/strata.ts";
import { generateSession, workloads } from "../../test/economy/replay/workload.ts";
import { type Line, median, rounded, timed } from "../support.ts";

const READ_RATIOS = [0.1, 0.05, 0.025];

export async function replayLines(
	trace = process.argv[2] ?? process.env.STRATA_TRACE,
): Promise<Line[]> {
	return [...(trace ? await traceLines(trace) : []), ...READ_RATIOS.flatMap(workloadLines)];
}

/** On the trace: the time of it all, how well the bill is reproduced, and each policy at each read price. */
async function traceLines(trace: string): Promise<Line[]> {
	const times: number[] = [];
	for (let round = 0; round < 5; round++) {
		times.push(
			await timed(async () => {
				buildReport(await replayed(trace, {}), { policies: replayPolicies });
			}),
		);
	}
	const { check, requests } = buildReport(await replayed(trace, {}), { policies: replayPolicies });
	const lines: Line[] = [
		{
			case: "trace: read, rebuild, all policies, report",
			unit: "ms",
			value: rounded(median(times)),
			target: 3000,
			from: { requests, rounds: times.length },
		},
		{
			case: "trace: simulated against billed, losses fed in",
			unit: "% off",
			value: rounded(Math.abs(check.deviation) * 100, 3),
			target: 2,
		},
	];
	for (const readRatio of READ_RATIOS) {
		const session = await replayed(trace, { readRatio });
		const { policies } = buildReport(session, { policies: replayPolicies });
		for (const { name, ratio, maxContext } of policies) {
			lines.push({
				case: `trace: ${name}, reads at ${readRatio}`,
				unit: "× append-only",
				value: rounded(ratio, 3),
				from: { "largest request": maxContext },
			});
		}
		lines.push({
			case: `trace: strata, all answered tool results prunable, reads at ${readRatio}`,
			unit: "× append-only",
			value: rounded(costOf(strataWith(0), session) / costOf(appendOnly, session), 3),
			...(readRatio === 0.1 && { target: 0.65 }),
		});
	}
	return lines;
}

/** On generated sessions: what `strata` saves on the whole and what it costs at worst. */
function workloadLines(readRatio: number): Line[] {
	const ratios = workloads(readRatio).map((workload) => {
		const session = generateSession(workload);
		return costOf(strata, session) / costOf(appendOnly, session);
	});
	const from = { workloads: ratios.length };
	const mean = ratios.reduce((sum, ratio) => sum + ratio, 0) / ratios.length;
	return [
		{
			case: `generated: strata, mean, reads at ${readRatio}`,
			unit: "× append-only",
			value: rounded(mean, 3),
			target: 1,
			from,
		},
		{
			case: `generated: strata, worst, reads at ${readRatio}`,
			unit: "× append-only",
			value: rounded(Math.max(...ratios), 3),
			target: 1.02,
			from,
		},
	];
}

async function replayed(trace: string, overrides: Partial<CacheRules>): Promise<ReplaySession> {
	const file = await readSessionFile(trace);
	return rebuildRequests(file, (name) => ({
		name,
		rules: rulesFor(name, overrides),
		prices: undefined,
		contextWindow: 200_000,
	}));
}

function costOf(policy: ReplayPolicy, session: ReplaySession): number {
	return runPolicy(policy, session).cost;
}
