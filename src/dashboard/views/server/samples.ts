import type { ServerMetrics } from "../../../protocol/index.ts";

/** The server's figures at a moment. */
export interface Sample {
	readonly atMs: number;
	readonly metrics: ServerMetrics;
}

/** How many samples are kept: five minutes of one every two seconds. */
export const MOST_SAMPLES = 150;

/** Adds a sample. A server that has started anew counts from zero, so what it said before is dropped. */
export function withSample(samples: readonly Sample[], sample: Sample): Sample[] {
	const last = samples.at(-1);
	const isAnother = last !== undefined && sample.metrics.uptimeMs < last.metrics.uptimeMs;
	return [...(isAnother ? [] : samples.slice(1 - MOST_SAMPLES)), sample];
}

/** What happened per second between one sample and the next; one value fewer than there are samples. */
export function ratesOf(
	samples: readonly Sample[],
	count: (metrics: ServerMetrics) => number,
): number[] {
	return samples.slice(1).map((sample, at) => {
		const before = samples[at] as Sample;
		const seconds = (sample.atMs - before.atMs) / 1000;
		const grown = count(sample.metrics) - count(before.metrics);
		return seconds > 0 ? Math.max(0, grown / seconds) : 0;
	});
}

/** How long a write of the journal took on average since it was started. */
export function commitMs({ journal }: ServerMetrics): number | undefined {
	return journal.commits > 0 ? journal.commitMsTotal / journal.commits : undefined;
}

/** A line through values as the points of an SVG `polyline`, from left to right, the largest at the top. */
export function sparkPoints(
	values: readonly number[],
	{ width, height }: { width: number; height: number },
): string {
	const top = Math.max(...values, 0);
	const step = values.length > 1 ? width / (values.length - 1) : 0;
	return values
		.map((value, at) => {
			const y = top === 0 ? height : height - (Math.max(0, value) / top) * height;
			return `${round(at * step)},${round(y)}`;
		})
		.join(" ");
}

function round(value: number): number {
	return Math.round(value * 100) / 100;
}
