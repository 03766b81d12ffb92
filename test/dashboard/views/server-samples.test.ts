import { describe, expect, test } from "vitest";
import {
	commitMs,
	MAX_SAMPLES,
	ratesOf,
	type Sample,
	sparkPoints,
	withSample,
} from "../../../src/dashboard/views/server/server-view.tsx";

function sample(atMs: number, finished: number, uptimeMs = atMs): Sample {
	return {
		atMs,
		metrics: {
			uptimeMs,
			clients: 1,
			sessions: 1,
			commands: {
				...{ pending: 0, lanes: 0, accepted: 0, finished, failed: 0, replayed: 0 },
				...{ timedOut: 0, rateLimited: 0, rejected: 0 },
			},
			journal: {
				...{ bytes: 0, commands: 0, events: 0, sessions: 0, commits: 0, commitMsTotal: 0 },
				pending: 0,
			},
			memory: { rssBytes: 1, heapUsedBytes: 1, externalBytes: 1 },
		},
	};
}

describe("the samples", () => {
	test("are bounded and the latest stay", () => {
		let samples: Sample[] = [];
		for (let at = 1; at <= MAX_SAMPLES + 20; at++) samples = withSample(samples, sample(at, at));
		expect(samples).toHaveLength(MAX_SAMPLES);
		expect(samples.at(-1)?.atMs).toBe(MAX_SAMPLES + 20);
		expect(samples[0]?.atMs).toBe(21);
	});

	test("begin again when the server does", () => {
		const samples = withSample([sample(1000, 50), sample(2000, 60)], sample(3000, 2, 10));
		expect(samples.map(({ atMs }) => atMs)).toEqual([3000]);
	});
});

describe("rates", () => {
	const finished = (metrics: Sample["metrics"]) => metrics.commands.finished;

	test("are what was counted between two samples, by the second", () => {
		const samples = [sample(0, 10), sample(2000, 30), sample(3000, 30)];
		expect(ratesOf(samples, finished)).toEqual([10, 0]);
	});

	test("are none with one sample, zero without time, and never below zero", () => {
		expect(ratesOf([sample(0, 1)], finished)).toEqual([]);
		expect(ratesOf([sample(5, 1), sample(5, 9)], finished)).toEqual([0]);
		expect(ratesOf([sample(0, 9), sample(1000, 1)], finished)).toEqual([0]);
	});
});

test("the journal's average time of a write is unknown before the first", () => {
	const { metrics } = sample(0, 0);
	expect(commitMs(metrics)).toBeUndefined();
	const written = { ...metrics.journal, commits: 4, commitMsTotal: 10 };
	expect(commitMs({ ...metrics, journal: written })).toBe(2.5);
});

test("a line runs from left to right with the largest value at the top", () => {
	const size = { width: 100, height: 20 };
	expect(sparkPoints([0, 5, 10], size)).toBe("0,20 50,10 100,0");
	expect(sparkPoints([0, 0], size)).toBe("0,20 100,20");
	expect(sparkPoints([7], size)).toBe("0,0");
	expect(sparkPoints([], size)).toBe("");
});
