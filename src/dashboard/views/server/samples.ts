import { useEffect, useState } from "preact/hooks";
import type { Data } from "../../../protocol/index.ts";
import { createAsking } from "../../asking.ts";
import { client } from "../../connection/connection.ts";
import { textOf } from "../../parts/figures.ts";

export interface Sample {
	readonly atMs: number;
	readonly metrics: Data<"ServerMetrics">;
}

const EVERY_MS = 2_000;
/** Five minutes. */
export const MOST_SAMPLES = 150;

/** A server that has restarted counts from zero, so older samples are dropped. */
export function withSample(samples: readonly Sample[], sample: Sample): Sample[] {
	const last = samples.at(-1);
	const isAnother = last !== undefined && sample.metrics.uptimeMs < last.metrics.uptimeMs;
	return [...(isAnother ? [] : samples.slice(1 - MOST_SAMPLES)), sample];
}

/** Per second between one sample and the next; one value fewer than there are samples. */
export function ratesOf(
	samples: readonly Sample[],
	count: (metrics: Data<"ServerMetrics">) => number,
): number[] {
	return samples.slice(1).map((sample, at) => {
		const before = samples[at] as Sample;
		const seconds = (sample.atMs - before.atMs) / 1000;
		const grown = count(sample.metrics) - count(before.metrics);
		return seconds > 0 ? Math.max(0, grown / seconds) : 0;
	});
}

/** The mean since the start of the server. */
export function commitMs({ journal }: Data<"ServerMetrics">): number | undefined {
	return journal.commits > 0 ? journal.commitMsTotal / journal.commits : undefined;
}

/** The points of an SVG `polyline`, the largest value at the top. */
export function sparkPoints(
	values: readonly number[],
	{ width, height }: { width: number; height: number },
): string {
	const top = Math.max(...values, 0);
	const step = values.length > 1 ? width / (values.length - 1) : 0;
	const round = (value: number) => Math.round(value * 100) / 100;
	return values
		.map((value, at) => {
			const y = top === 0 ? height : height - (Math.max(0, value) / top) * height;
			return `${round(at * step)},${round(y)}`;
		})
		.join(" ");
}

/** Polls every two seconds while the page is visible, one request at a time. */
export function useSamples(): { samples: readonly Sample[]; error: string | undefined } {
	const [samples, setSamples] = useState<readonly Sample[]>([]);
	const [error, setError] = useState<string>();
	useEffect(() => {
		let timer: ReturnType<typeof setTimeout> | undefined;
		const asking = createAsking({
			ask: (signal) => client().request("get_metrics", {}, { signal }),
			onAnswer({ data }) {
				setSamples((before) => withSample(before, { atMs: Date.now(), metrics: data }));
				setError(undefined);
				timer = setTimeout(look, EVERY_MS);
			},
			onError(problem) {
				setError(textOf(problem));
				timer = setTimeout(look, EVERY_MS);
			},
		});
		function look(): void {
			clearTimeout(timer);
			if (document.visibilityState === "visible") asking.again();
		}
		document.addEventListener("visibilitychange", look);
		look();
		return () => {
			document.removeEventListener("visibilitychange", look);
			clearTimeout(timer);
			asking.stop();
		};
	}, []);
	return { samples, error };
}
