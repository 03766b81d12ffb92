/** Whether the machine is quiet enough for figures that are kept. */
import { cpus, loadavg } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";

/** How busy the machine is; 1 is all of its processors. */
export interface Load {
	/** The load average of the last minute, per processor. */
	readonly average: number;
	/** The share of processor time that was in use during the last second. */
	readonly now: number;
}

const MAX_AVERAGE = 0.5;
const MAX_NOW = 0.25;
const SAMPLE_MS = 1_000;

export async function measureLoad(): Promise<Load> {
	const before = processorTimes();
	await sleep(SAMPLE_MS);
	const after = processorTimes();
	const total = after.total - before.total;
	return {
		average: (loadavg()[0] ?? 0) / cpus().length,
		now: total === 0 ? 0 : 1 - (after.idle - before.idle) / total,
	};
}

/**
 * The reason why figures of this machine would be worthless; `undefined` if it is quiet. The average counts only before
 * the first benchmark: later, the benchmarks themselves dominate it.
 */
export function busyReason({ average, now }: Load, isFirst: boolean): string | undefined {
	if (isFirst && average > MAX_AVERAGE) {
		return `the machine is busy: its load average is ${average.toFixed(2)} per processor, more than ${MAX_AVERAGE}`;
	}
	if (now <= MAX_NOW) return undefined;
	return `the machine is busy: ${Math.round(100 * now)} % of its processors are in use, more than ${100 * MAX_NOW} %`;
}

function processorTimes(): { idle: number; total: number } {
	const sums = { idle: 0, total: 0 };
	for (const { times } of cpus()) {
		sums.idle += times.idle;
		for (const ms of Object.values(times)) sums.total += ms;
	}
	return sums;
}
