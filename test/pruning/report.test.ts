import { describe, expect, test } from "vitest";
import { loadConfig } from "../../src/core/config.ts";
import { type PruningReport, pruningText, purgedText } from "../../src/pruning/commands.ts";
import { pruningStatus } from "../../src/pruning/stub.ts";
import { tempDir } from "../support/temp.ts";

const PLAN = { threshold: 20_000, freedTokens: 8000, rewrittenTokens: 12_000, rewriteCost: 1 };

function textOf(more: Partial<PruningReport> = {}): string {
	const nowhere = tempDir();
	const report: PruningReport = {
		settings: loadConfig({ agentDir: nowhere, cwd: nowhere }).config,
		usage: { tokens: 62_000, contextWindow: 200_000, percent: 31 },
		stubs: { results: 12, tokens: 41_200 },
		summary: { batches: [], results: 0, freedTokens: 0 },
		holdingValues: 0,
		pinned: 1,
		lastFailure: undefined,
		nowMs: 600_000,
		...more,
	};
	return pruningText(report);
}

const done = {
	batches: [
		{ atMs: 0, why: "cold", results: 3, freedTokens: 9000, rewrittenTokens: 0, rewriteCost: 0 },
		{
			atMs: 300_000,
			why: "pays",
			results: 9,
			freedTokens: 30_000,
			rewrittenTokens: 15_000,
			rewriteCost: 9,
		},
	],
	results: 12,
	freedTokens: 39_000,
} as const;

test("tells the settings, the context, and that nothing was done yet", () => {
	const text = textOf({ stubs: { results: 0, tokens: 0 } });
	expect(text).toContain("keepRecentTurns 2, maxToolChars 1200, adaptive true");
	expect(text).toContain("context 62k of 200k, nothing pruned");
	expect(text).toContain("done in this session: nothing yet");
	expect(text).toContain("next: nothing is old enough to prune");
	expect(text).not.toContain("money");
});

test.each([
	[999, "999 pruned"],
	[999.6, "1k pruned"],
	[99_949, "99.9k pruned"],
	[99_950, "100k pruned"],
	[999_499, "999k pruned"],
	[999_500, "1M pruned"],
	[999_999, "1M pruned"],
	[1_240_000, "1.2M pruned"],
])("%d tokens are told in short as %s", (tokens, text) => {
	expect(pruningStatus(undefined, tokens)).toBe(text);
});

test("what was pruned before a restart is not forgotten", () => {
	const text = textOf({ stubs: { results: 4, tokens: 10_700 } });
	expect(text).toContain("context 62k of 200k, 10.7k pruned");
	expect(text).toContain("done before this process started: 4 results, 10.7k tokens freed");
	expect(text).not.toContain("nothing yet");
	const both = textOf({ stubs: { results: 14, tokens: 45_000 }, summary: done });
	expect(both).toContain("done before this process started: 2 results, 6k tokens freed");
	expect(both).toContain("done since: 12 results, 39k tokens freed");
});

test("one result is one result, and a full window is told by what pi would do", () => {
	const [batch] = done.batches;
	const one = { ...batch, why: "near-limit" as const, results: 1 };
	const text = textOf({
		summary: { ...done, batches: [one], results: 1 },
		stubs: { results: 1, tokens: 39_000 },
	});
	expect(text).toContain("done in this session: 1 result, 39k tokens freed");
	expect(text).toContain("10 min ago: 1 result, 9k tokens (pi would compact next)");
	expect(text).toContain("pinned: 1 result");
	expect(text).not.toMatch(/\b1 results|nearly full/);
});

test("tells what was done and why, and what it was worth in words", () => {
	const own = { tokens: 1_000_000, isMadeUp: false };
	const text = textOf({ summary: done, saved: { ...own, dollars: 5 } });
	expect(text).toContain("12 results, 39k tokens freed");
	expect(text).toContain("10 min ago: 3 results, 9k tokens (the provider's cache was cold");
	expect(text).toContain("5 min ago: 9 results, 30k tokens, 15k rewritten (it pays)");
	expect(text).toContain("money: saved $5.00 so far");
	expect(textOf({ saved: own })).toContain("saved the price of about 1M input tokens");
	expect(textOf({ saved: { ...own, tokens: -2000 } })).toContain(
		"has cost the price of about 2k input tokens more than it has saved so far; each",
	);
	const demo = { tokens: -9000, dollars: -0.027, isMadeUp: true };
	expect(textOf({ saved: demo })).toContain(
		"has cost $0.027 more than it has saved so far (made-up prices); each",
	);
});

test("tells what goes next and why it waits", () => {
	const candidate = { item: { toolName: "read" } as never, at: 0, why: "old" } as const;
	const decision = (why: "waits" | "unpaid", tight = false) => ({
		candidates: Array(7).fill(candidate),
		plan: { ...PLAN, prune: false, why },
		bound: 0,
		tight,
	});
	const text = textOf({ decision: decision("waits") });
	expect(text).toContain("next: 7 results, 8k tokens, for 12k rewritten");
	expect(text).toContain("it pays from 20k tokens on");
	expect(text).toContain("  old: read()");
	expect(text).toContain("  and 2 more");
	expect(textOf({ decision: decision("unpaid", true) })).toMatch(
		/earlier savings .*more is pruned than/,
	);
});

test("says how many results stay because thinking is bound to them", () => {
	const none = {
		candidates: [],
		bound: 3,
		plan: { ...PLAN, prune: false, why: "nothing" as const },
		tight: false,
	};
	const text = textOf({ decision: none });
	expect(text).toContain("kept: 3 old results, because the model's thinking is bound");
	expect(text).not.toContain("nothing is old enough");
});

test("tells why originals could not be kept", () => {
	expect(textOf({ lastFailure: "the disk is full" })).toContain(
		"could not be stored: the disk is full",
	);
});

test("the status line does without what is not known", () => {
	expect(pruningStatus(undefined, 0)).toBe("nothing pruned");
	expect(pruningStatus({ tokens: null, contextWindow: 200_000, percent: null }, 1_234_567)).toBe(
		"1.2M pruned",
	);
});

describe("after deleting the stored texts", () => {
	const swept = {
		kind: "swept" as const,
		removedObjects: 2,
		removedBytes: 3 * 1024 ** 2,
		removedTemporary: 0,
		objects: 0,
		bytes: 0,
	};

	test("it is told how many went", () => {
		expect(purgedText(swept)).toBe("Deleted 2 texts (3.0 MB).");
	});

	test("it is told what is still there, and why", () => {
		const left = { objects: 1, bytes: 1024 ** 2, trouble: "EROFS: read-only file system" };
		expect(purgedText({ ...swept, ...left })).toBe(
			"Deleted 2 texts (3.0 MB). 1 text (1.0 MB) is still there: EROFS: read-only file system",
		);
		expect(purgedText({ ...swept, ...left, removedObjects: 0, removedBytes: 0 })).toBe(
			"Nothing deleted. 1 text (1.0 MB) is still there: EROFS: read-only file system",
		);
		expect(purgedText({ ...swept, objects: 2, bytes: 1024 ** 2 })).toBe(
			"Deleted 2 texts (3.0 MB). 2 texts (1.0 MB) are still there: in use",
		);
	});

	test("a store that cannot be used is named as the reason", () => {
		expect(purgedText({ kind: "failed", reason: "io", message: "EIO: oh" })).toBe(
			"Nothing deleted: EIO: oh",
		);
	});
});
