import { describe, expect, test } from "vitest";
import {
	joinReports,
	rebuildRequests,
	replayPolicies,
	replaySessions,
} from "../../../src/economy/replay/index.ts";
import { readSessionFile } from "../../support/read-session-file.ts";
import { SessionWriter, testModel } from "./session-writer.ts";

/** Three requests, of which the last lost the cache, then `more`. */
function sessionFile(more: (writer: SessionWriter) => void = () => {}): string {
	const writer = new SessionWriter();
	writer.user("a");
	writer.assistant("b", { cacheWrite: 5000 });
	writer.user("c");
	writer.assistant("d", { cacheRead: 5000, cacheWrite: 1000 });
	writer.user("e");
	writer.assistant("f", { cacheWrite: 8000 });
	more(writer);
	return writer.save();
}

/** A copy of the session that went on with one request. */
function forkFile(usage: object): string {
	return sessionFile((writer) => {
		writer.user("g");
		writer.assistant("h", usage);
	});
}

async function replayed(files: readonly string[]) {
	const seen = new Set<string>();
	const options = { policies: replayPolicies, modelFor: testModel, seen };
	const all = [];
	for (const file of files) all.push(replaySessions([await readSessionFile(file)], options));
	return all;
}

describe("a request that an earlier session counted", () => {
	test("counts in no sum", async () => {
		const fork = forkFile({ cacheRead: 8000, cacheWrite: 500 });
		const [, second] = await replayed([sessionFile(), fork]);
		const [report] = second?.reports ?? [];
		expect(second?.billed).toBe(4);
		expect(report).toMatchObject({ requests: 1, copies: 3, misses: [] });
		expect(report?.models).toMatchObject([{ requests: 1 }]);
		const billed = report?.policies.find(({ name }) => name === "billed");
		expect(billed).toMatchObject({ input: 0, read: 8000, write: 500, maxContext: 8500 });
		for (const { points } of report?.chart ?? []) expect(points).toHaveLength(1);
	});

	test("still fills the simulated cache", async () => {
		const fork = forkFile({ cacheRead: 8000, cacheWrite: 500 });
		const [, second] = await replayed([sessionFile(), fork]);
		const [report] = second?.reports ?? [];
		const appended = report?.policies.find(({ name }) => name === "append-only");
		expect(appended).toMatchObject({ read: 8000, write: 500 });
		expect(report?.check.deviation).toBe(0);
	});

	test("shows what the next request lost, which is the session's own", async () => {
		const [, second] = await replayed([sessionFile(), forkFile({ cacheWrite: 8500 })]);
		const [report] = second?.reports ?? [];
		expect(report?.misses).toMatchObject([{ request: 1, tokens: 8000 }]);
		expect(report?.check.deviation).toBeCloseTo(0);
	});

	test("is not a session of its own if nothing follows", async () => {
		const [, second] = await replayed([sessionFile(), sessionFile()]);
		expect(second).toEqual({ reports: [], billed: 3 });
	});

	test("is also found within one file", async () => {
		const writer = new SessionWriter();
		writer.user("a");
		writer.assistant("b", { cacheWrite: 5000 }, { responseId: "msg_1" });
		writer.assistant("b", { cacheWrite: 5000 }, { responseId: "msg_1" });
		const { bills } = await writer.replay();
		expect(bills.map(({ isCopy }) => isCopy ?? false)).toEqual([false, true]);
	});

	test("sums over all files equal those of the requests, in any order of the files", async () => {
		const files = [sessionFile(), forkFile({ cacheRead: 8000, write: 1 }), sessionFile()];
		for (const order of [files, files.toReversed()]) {
			const reports = (await replayed(order)).flatMap(({ reports }) => reports);
			const joined = joinReports(reports);
			expect(joined?.requests).toBe(4);
			const billed = joined?.policies.find(({ name }) => name === "billed");
			expect(billed).toMatchObject({ read: 13_000, write: 14_000 });
		}
	});
});

describe("the sessions of one file", () => {
	test("become one report, with the fields of a single one", async () => {
		const a = await readSessionFile(sessionFile());
		const b = await readSessionFile(forkFile({ cacheRead: 8000 }));
		const sub = { ...b, subagent: "helper", entries: b.entries.map(withoutIds) };
		const { reports } = replaySessions([a, sub], { policies: replayPolicies, modelFor: testModel });
		const joined = joinReports(reports);
		expect(Object.keys(joined ?? {})).toEqual(
			expect.arrayContaining(Object.keys(reports[0] ?? {}).filter((key) => key !== "session")),
		);
		expect(joined).toMatchObject({ file: a.file, requests: 7, models: [{ requests: 7 }] });
		expect(joined?.sessions).toMatchObject([
			{ requests: 3, misses: 1 },
			{ subagent: "helper", requests: 4, misses: 1 },
		]);
		expect(joined?.misses).toHaveLength(2);
		for (const [at, { name, cost }] of (joined?.policies ?? []).entries()) {
			const parts = reports.map(({ policies }) => policies[at]?.cost ?? 0);
			expect(cost, name).toBeCloseTo(parts.reduce((sum, part) => sum + part, 0));
		}
	});

	test("a single session stays as it is", async () => {
		const session = await readSessionFile(sessionFile());
		const { reports } = replaySessions([session], {
			policies: replayPolicies,
			modelFor: testModel,
		});
		expect(joinReports(reports)).toBe(reports[0]);
		expect(joinReports([])).toBeUndefined();
		expect(rebuildRequests(session, testModel).bills).toHaveLength(3);
	});
});

function withoutIds<T extends object>(entry: T): T {
	return { ...entry, requestId: undefined };
}
