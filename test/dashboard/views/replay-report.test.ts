import { describe, expect, test } from "vitest";
import {
	chartLabel,
	missRows,
	partRows,
	policyLines,
	promptSizes,
	reportNotes,
	savedAlreadyNote,
} from "../../../src/dashboard/views/replay/replay-report.tsx";
import type { Data } from "../../../src/protocol/index.ts";

type Policy = Data<"ReplayReport">["policies"][number];

function policy(name: string, cost: number, more: Partial<Policy> = {}): Policy {
	return {
		...{ name, description: `does ${name}`, cost, ratio: cost / 100 },
		...{ read: 60, write: 30, input: 10, maxContext: 50 },
		...more,
	};
}

describe("the comparison", () => {
	test("marks the bill and the cheapest policy, which the bill never is", () => {
		const lines = policyLines({
			policies: [policy("billed", 50), policy("append-only", 100), policy("strata", 71)],
		});
		expect(lines.map(({ name, isBill, isBest }) => [name, isBill, isBest])).toEqual([
			["billed", true, false],
			["append-only", false, false],
			["strata", false, true],
		]);
		expect(lines.map(({ bar }) => bar)).toEqual([0.5, 1, 0.71]);
		expect(lines[0]?.readShare).toBe(0.6);
	});

	test("marks none where nothing is cheaper than append-only", () => {
		const lines = policyLines({
			policies: [policy("append-only", 100), policy("strata", 100), policy("prune-each", 130)],
		});
		expect(lines.filter(({ isBest }) => isBest)).toEqual([]);
	});

	test("bears a session that cost nothing", () => {
		const nothing = { ratio: null as unknown as number, read: 0, write: 0, input: 0 };
		const [line] = policyLines({ policies: [policy("append-only", 0, nothing)] });
		expect(line).toMatchObject({ bar: 0, ratio: undefined, readShare: 0 });
		expect(policyLines({ policies: [] })).toEqual([]);
	});
});

const NONE_SKIPPED = { damaged: 0, tooLong: 0, relinked: 0, surplus: 0, requests: 0 };

test("the notes say how good the replay is, what was skipped and where prices come from", () => {
	const because = "A rule.";
	const notes = reportNotes({
		...{ file: "content", requests: 3, policies: [], misses: [], duplicateReads: [], chart: [] },
		...{ check: { simulated: 98, billed: 100, deviation: -0.021, differences: [] }, skipped: 1 },
		...{ skippedBy: NONE_SKIPPED },
		savedAlready: { shortReads: 3, edits: 1 },
		models: [{ name: "a/b", requests: 3, readRatio: 0.1, writeRatio: 1.25, because }],
	});
	expect(notes.join("\n")).toContain("within 2.1 % of the bill");
	expect(notes.join("\n")).toContain("1 line of the file could not be used");
	expect(notes.join("\n")).not.toContain("made smaller");
	expect(notes.join("\n")).toContain(
		"reads cost 0.1 times the input price, cache writes 1.25 times. A rule.",
	);
});

test("a large deviation has its reasons, unpriced requests are counted, and copies are said to count elsewhere", () => {
	const notes = reportNotes({
		...{ file: "content", requests: 3, policies: [], misses: [], duplicateReads: [], chart: [] },
		...{
			skipped: 0,
			copies: 2,
			unpriced: 1,
			savedAlready: { shortReads: 0, edits: 0 },
			models: [],
		},
		...{ skippedBy: NONE_SKIPPED },
		check: {
			...{ simulated: 90, billed: 100, deviation: -0.1, differences: [] },
			reasons: ["8 %: a pause.", "2 %: ?"],
		},
	});
	expect(notes.slice(1, 3)).toEqual(["8 %: a pause.", "2 %: ?"]);
	expect(notes[3]).toBe("Unpriced: 1 request has no known price. No sum of dollars includes that.");
	expect(notes[4]).toContain("2 requests are copies from another session");
});

test("the sessions of a file are named, the most expensive first", () => {
	const rows = partRows({
		sessions: [
			{ requests: 3, cost: 10, misses: 0, session: "s1" },
			{ requests: 1, cost: 30, misses: 1, session: "s1", subagent: "explorer" },
			{ requests: 1, cost: 20, misses: 1 },
		],
	});
	expect(rows.map(({ name, at }) => [name, at])).toEqual([
		["Sub-agent explorer", 0],
		["The session itself", 1],
		["s1", 2],
	]);
	expect(partRows({})).toEqual([]);
});

test("misses of several sessions name their session, because each numbers its own requests", () => {
	const miss = { request: 3, atMs: 1, tokens: 9, cost: 8, cause: "tools" };
	const misses = [
		miss,
		{ ...miss, session: "s1" },
		{ ...miss, session: "s1", subagent: "explorer" },
	];
	expect(missRows({ misses }).map(({ at, sessionName }) => [at, sessionName])).toEqual([
		[0, "The session itself"],
		[1, "s1"],
		[2, "Sub-agent explorer"],
	]);
});

test("a session that was made smaller while it ran has a note of its own, for it changes what all figures mean", () => {
	const note = savedAlreadyNote({ savedAlready: { shortReads: 3, edits: 1 } });
	expect(note).toContain("3 reads were shortened, 1 text was replaced");
	expect(note).toContain("including append-only");
	expect(savedAlreadyNote({ savedAlready: { shortReads: 0, edits: 0 } })).toBeUndefined();
});

test("prompts are compared where a policy changes them, and downsampled ones keep their numbers", () => {
	const point = (read: number) => ({ read, input: 1, write: 2, writeOneHour: 2 });
	const names = ["billed", "append-only", "no-cache", "strata"];
	const chart = names.map((name) => ({ name, points: [point(10), point(20)] }));
	expect(promptSizes({ chart, requests: 40 })).toEqual({
		numbers: [20, 40],
		rows: [
			{ name: "append-only", values: [13, 23] },
			{ name: "strata", values: [13, 23] },
		],
	});
	expect(promptSizes({ chart: [], requests: 0 })).toEqual({ numbers: [], rows: [] });
	// The chart of a file with several sessions is that of the first.
	const part = (requests: number) => ({ requests, cost: 1, misses: 0 });
	const joined = { chart, requests: 40, sessions: [part(4), part(36)] };
	expect(promptSizes(joined).numbers).toEqual([2, 4]);
	expect(chartLabel(joined)).toBe("Tokens of each prompt of the first session, by policy");
	expect(chartLabel({})).toBe("Tokens of each prompt, by policy");
});
