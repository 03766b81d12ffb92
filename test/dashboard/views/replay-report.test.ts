import { describe, expect, test } from "vitest";
import {
	policyLines,
	promptSizes,
	reportNotes,
	savedAlreadyNote,
} from "../../../src/dashboard/views/replay/replay-report.tsx";
import {
	MAX_CHARACTERS,
	replayProblem,
	sizeProblem,
} from "../../../src/dashboard/views/replay/replay-view.tsx";
import { MAX_SESSION_CONTENT } from "../../../src/protocol/field-schemas.ts";
import type { Data } from "../../../src/protocol/index.ts";

type Policy = Data<"ReplayReport">["policies"][number];

function policy(name: string, cost: number, more: Partial<Policy> = {}): Policy {
	return {
		...{ name, description: `does ${name}`, cost, ratio: cost / 100 },
		...{ read: 60, write: 30, input: 10, maxContext: 50 },
		...more,
	};
}

describe("a file", () => {
	test("is bounded as the server bounds it", () => {
		expect(MAX_CHARACTERS).toBe(MAX_SESSION_CONTENT);
	});

	test("that is too large is refused with its size and what to do", () => {
		const problem = sizeProblem({ name: "a.jsonl", bytes: 9e6, characters: 9e6 });
		expect(problem).toContain("a.jsonl is too large: 9.0 MB, but the server accepts at most 8 MB");
		expect(problem).toContain("strata replay");
	});

	test("that is far too large is refused before it is read", () => {
		expect(sizeProblem({ name: "a", bytes: 33e6 })).toContain("33.0 MB");
		expect(sizeProblem({ name: "a", bytes: 9e6 })).toBeUndefined();
	});

	test("of many bytes but few characters is taken, an empty one is not", () => {
		expect(sizeProblem({ name: "a", bytes: 20e6, characters: 7e6 })).toBeUndefined();
		expect(sizeProblem({ name: "a", bytes: 0 })).toBe("a is empty.");
	});
});

test("a file that cannot be replayed is called by its name", () => {
	expect(replayProblem("content is not a session of pi: line 1", "photo $& 1.png")).toBe(
		"photo $& 1.png is not a session of pi: line 1",
	);
	expect(replayProblem("the replay was stopped", "a")).toBe("the replay was stopped");
});

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

test("the notes say how good the replay is, what was skipped and where prices come from", () => {
	const because = "A rule.";
	const notes = reportNotes({
		...{ file: "content", requests: 3, policies: [], misses: [], duplicateReads: [], chart: [] },
		...{ check: { simulated: 98, billed: 100, deviation: -0.021 }, skipped: 1 },
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
});
