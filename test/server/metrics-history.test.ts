import { statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Check } from "typebox/value";
import { describe, expect, test } from "vitest";
import type { ResponseData } from "../../src/protocol/index.ts";
import { serverCommands } from "../../src/protocol/server-commands.ts";
import { METRICS_FILE, MetricsHistory } from "../../src/server/metrics-history.ts";
import { atEnd, tempDir } from "../support/temp.ts";

const MINUTE = 60_000;
const START = 1_000_000 * 240 * MINUTE;

/** A server whose clock and counters the test sets. */
async function startIn(dataDir: string, startMs = START) {
	let nowMs = startMs;
	const counted = { finished: 0, failed: 0, events: 10, rssBytes: 100 };
	const history = await MetricsHistory.open({
		...{ dataDir, now: () => nowMs, everyMs: 2 ** 30 },
		metrics: () =>
			({
				...{ clients: 2, sessions: 1, latencyMs: { p50: 1, p90: 2, p99: 3 } },
				commands: { finished: counted.finished, failed: counted.failed },
				journal: { events: counted.events, bytes: 50 },
				memory: { rssBytes: counted.rssBytes, heapUsedBytes: 10 },
			}) as unknown as ResponseData["get_metrics"],
	});
	const later = (ms: number, more: Partial<typeof counted> = {}) => {
		nowMs += ms;
		for (const [name, count] of Object.entries(more)) {
			counted[name as keyof typeof counted] += count;
		}
	};
	let isOpen = true;
	const close = () => {
		if (isOpen) history.close();
		isOpen = false;
	};
	atEnd(close);
	return {
		close,
		read: (minutes?: number) => history.read(minutes),
		later,
		/** Some minutes later, with more counted, and recorded. */
		after(minutes: number, more?: Partial<typeof counted>) {
			later(minutes * MINUTE, more);
			history.record();
		},
	};
}

describe("the history of metrics", () => {
	test("has a point a minute, with what happened in it", async () => {
		const server = await startIn(tempDir());
		server.after(0);
		server.after(1, { finished: 5, failed: 1, events: 7 });
		server.after(1, { finished: 2 });
		const { minutes, points } = server.read();
		expect(minutes).toBe(1);
		expect(points.map(({ finished, failed, events }) => [finished, failed, events])).toEqual([
			[0, 0, 0],
			[5, 1, 7],
			[2, 0, 0],
		]);
		expect(points[1]).toMatchObject({ atMs: START + MINUTE, clients: 2, rssBytes: 100 });
		expect(points.map(({ started }) => started)).toEqual([true, undefined, undefined]);
		expect(Check(serverCommands.get_metrics_history.data, server.read())).toBe(true);
	});

	test("is there after a restart, which counts from zero again", async () => {
		const dataDir = tempDir();
		const first = await startIn(dataDir);
		first.after(0, { finished: 40 });
		first.after(1, { finished: 3 });
		first.close();
		const second = await startIn(dataDir, START + 5 * MINUTE);
		second.after(0, { finished: 6 });
		const { points } = second.read();
		expect(points.map(({ atMs, finished }) => [(atMs - START) / MINUTE, finished])).toEqual([
			[0, 40],
			[1, 3],
			[5, 6],
		]);
		expect(points.map(({ started = false }) => started)).toEqual([true, false, true]);
	});

	test("an answer has the minute that has begun", async () => {
		const server = await startIn(tempDir());
		server.later(10_000, { finished: 4 });
		expect(server.read().points).toMatchObject([{ finished: 4, clients: 2 }]);
	});

	test("a stop keeps the minute that has begun", async () => {
		const dataDir = tempDir();
		const first = await startIn(dataDir);
		first.after(0, { finished: 1 });
		first.after(0, { finished: 2 });
		first.close();
		const second = await startIn(dataDir, START);
		expect(second.read().points).toMatchObject([{ finished: 3 }]);
	});

	test("is bounded: a week on disk, and 240 points in an answer", async () => {
		const dataDir = tempDir();
		const server = await startIn(dataDir);
		for (let at = 0; at < 300; at++) server.after(1, { finished: 1, rssBytes: 1 });
		const { minutes, points } = server.read(480);
		expect(minutes).toBe(2);
		expect(points.length).toBeLessThanOrEqual(240);
		expect(points.reduce((sum, { finished }) => sum + finished, 0)).toBe(300);
		expect(points.at(-1)?.rssBytes).toBe(400);
		expect(server.read(60).points).toHaveLength(60);
		server.after(8 * 24 * 60);
		server.close();
		const database = new DatabaseSync(join(dataDir, METRICS_FILE));
		atEnd(() => database.close());
		expect(database.prepare("SELECT COUNT(*) AS rows FROM minute").get()).toEqual({ rows: 1 });
	});

	test.skipIf(process.platform === "win32")("is readable for its owner only", async () => {
		const dataDir = tempDir();
		(await startIn(dataDir)).after(0);
		expect(statSync(join(dataDir, METRICS_FILE)).mode & 0o077).toBe(0);
	});

	test("a damaged file costs the history, and nothing else", async () => {
		const dataDir = tempDir();
		writeFileSync(join(dataDir, METRICS_FILE), "not a database, but long enough to be read as one");
		const server = await startIn(dataDir);
		server.after(1, { finished: 1 });
		const { points, problem } = server.read();
		expect(points).toEqual([]);
		expect(problem).toMatch(/not a database/);
		expect(problem).not.toContain(dataDir);
	});
});
