import { describe, expect, test } from "vitest";
import { splitLines } from "../../../src/readcache/diff/lines.ts";
import { runAtOnce } from "../../../src/readcache/diff/slices.ts";
import {
	applyUnified,
	describeChanges,
	type UnifiedDiffInput,
	unifiedDiff,
} from "../../../src/readcache/diff/unified.ts";
import { fc, runs } from "../../support/property.ts";
import { arbitraryPair } from "./arbitrary-text.ts";

type Options = Partial<Omit<UnifiedDiffInput, "base" | "current">>;

async function diff(base: string, current: string, options: Options = {}) {
	const unlimited = { path: "f", maxBytes: Number.POSITIVE_INFINITY };
	const result = await unifiedDiff({ ...unlimited, ...options, base, current });
	if (result.kind !== "diff") throw new Error(`no diff: ${result.reason}`);
	return result;
}

/** The rows of a diff's hunks, by hunk. */
function hunksOf(text: string) {
	const hunks: { numbers: number[]; rows: string[] }[] = [];
	for (const row of text.split("\n").slice(2, -1)) {
		const header = /^@@ -(\d+),(\d+) \+(\d+),(\d+) @@$/.exec(row);
		if (header) hunks.push({ numbers: header.slice(1).map(Number), rows: [] });
		else if (!row.startsWith("\\")) hunks.at(-1)?.rows.push(row);
	}
	return hunks;
}

const numbered = (count: number) => Array.from({ length: count }, (_, i) => `line ${i + 1}\n`);

describe("a unified diff", () => {
	test("reads like any other", async () => {
		const base = numbered(20);
		const current = base.with(9, "line ten\n").toSpliced(15, 1);
		const { text } = await diff(base.join(""), current.join(""), { path: "src/a.ts" });
		expect(text).toBe(
			[
				"--- a/src/a.ts",
				"+++ b/src/a.ts",
				"@@ -7,13 +7,12 @@",
				" line 7",
				" line 8",
				" line 9",
				"-line 10",
				"+line ten",
				" line 11",
				" line 12",
				" line 13",
				" line 14",
				" line 15",
				"-line 16",
				" line 17",
				" line 18",
				" line 19",
				"",
			].join("\n"),
		);
	});

	test("changes more than twice the context apart are separate hunks", async () => {
		const base = numbered(30);
		const current = base.with(5, "six\n").with(12, "thirteen\n").with(20, "twenty-one\n");
		const { text } = await diff(base.join(""), current.join(""));
		expect(hunksOf(text).map((hunk) => hunk.numbers)).toEqual([
			[3, 14, 3, 14],
			[18, 7, 18, 7],
		]);
	});

	test("applied to the base gives the current text, whatever the texts and the context", async () => {
		await fc.assert(
			fc.asyncProperty(arbitraryPair(), fc.nat(5), async ([base, current], contextLines) => {
				fc.pre(base !== current);
				const { text } = await diff(base, current, { contextLines });
				expect(applyUnified(base, text)).toBe(current);
			}),
			{ numRuns: runs(1000) },
		);
	});

	test("counts a replaced line once", async () => {
		await fc.assert(
			fc.asyncProperty(arbitraryPair(), async ([base, current]) => {
				fc.pre(base !== current);
				const result = await diff(base, current);
				const rows = hunksOf(result.text).flatMap((hunk) => hunk.rows);
				const added = rows.filter((row) => row[0] === "+").length;
				const removed = rows.filter((row) => row[0] === "-").length;
				expect(result.changedLines).toBeGreaterThanOrEqual(Math.max(added, removed));
				expect(result.changedLines).toBeLessThanOrEqual(added + removed);
			}),
		);
	});

	test("has hunks in order, apart from each other, of the size their headers say", async () => {
		await fc.assert(
			fc.asyncProperty(arbitraryPair(), fc.nat(5), async ([base, current], contextLines) => {
				fc.pre(base !== current);
				let [baseEnd, currentEnd] = [-1, -1];
				for (const { numbers, rows } of hunksOf(
					(await diff(base, current, { contextLines })).text,
				)) {
					const [baseStart, baseCount, start, count] = numbers as [number, number, number, number];
					expect(rows.filter((row) => row[0] !== "+").length).toBe(baseCount);
					expect(rows.filter((row) => row[0] !== "-").length).toBe(count);
					const baseFirst = baseCount === 0 ? baseStart : baseStart - 1;
					const first = count === 0 ? start : start - 1;
					expect(baseFirst).toBeGreaterThan(baseEnd);
					expect(first).toBeGreaterThan(currentEnd);
					[baseEnd, currentEnd] = [baseFirst + baseCount, first + count];
				}
			}),
		);
	});
});

describe("line ends and odd characters", () => {
	test("a newline added at the end is a changed last line", async () => {
		const { text, changedLines } = await diff("a\nb", "a\nb\n");
		const note = "\\ No newline at end of file";
		expect(text).toBe(`--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n${note}\n+b\n`);
		expect(changedLines).toBe(1);
	});

	test("a last line without newline on both sides is noted once", async () => {
		const { text } = await diff("a\nb", "A\nb");
		expect(text).toBe(
			"--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-a\n+A\n b\n\\ No newline at end of file\n",
		);
	});

	test("empty texts are diffed like others", async () => {
		expect((await diff("", "a\n")).text).toBe("--- a/f\n+++ b/f\n@@ -0,0 +1,1 @@\n+a\n");
		expect((await diff("a\n", "")).text).toBe("--- a/f\n+++ b/f\n@@ -1,1 +0,0 @@\n-a\n");
	});

	test("a change of line ends alone changes every line", async () => {
		const result = await diff("a\r\nb\r\n", "a\nb\n");
		expect(result.changedLines).toBe(2);
		expect(result.text).toContain("-a\r\n-b\r\n+a\n+b\n");
	});

	test("a byte order mark that goes is a changed first line", async () => {
		const { text } = await diff("\uFEFFa\nb\n", "a\nb\n");
		expect(text).toContain("-\uFEFFa\n+a\n b\n");
	});

	test("only newlines separate lines", async () => {
		const { text, changedLines } = await diff("a\u2028b\u0085c\rd\n", "a\u2028B\u0085c\rd\n");
		expect(text).toContain("-a\u2028b\u0085c\rd\n+a\u2028B\u0085c\rd\n");
		expect(changedLines).toBe(1);
	});

	test("a path cannot add rows to the header", async () => {
		const { text } = await diff("a\n", "b\n", {
			path: "x\n@@ -1,9 +1,9 @@\r\u2028\u001b\u0085ü y",
		});
		const shown = "x\\u000a@@ -1,9 +1,9 @@\\u000d\\u2028\\u001b\\u0085ü y";
		expect(text.split("\n").slice(0, 3)).toEqual([
			`--- a/${shown}`,
			`+++ b/${shown}`,
			"@@ -1,1 +1,1 @@",
		]);
	});
});

describe("faults of another implementation", () => {
	test("trailing spaces of the last changed line are kept", async () => {
		const { text } = await diff("before\n", "after   \n");
		expect(text.endsWith("\n+after   \n")).toBe(true);
	});

	test("lines that begin with -- or ++ are counted", async () => {
		const result = await diff("-- old comment\nx\n++i;\n", "-- new comment\nx\n++j;\n");
		expect(result.changedLines).toBe(2);
	});

	test("a replaced line counts once, as do lines that come or go", async () => {
		const base = "a\nkeep\nb\nc\nkeep too\n";
		const current = "A\nkeep\nB\nkeep too\nnew\n";
		expect((await diff(base, current)).changedLines).toBe(1 + 2 + 1);
	});

	test("a file of 12,001 lines with every line re-indented is seen to be too large", {
		tags: "slow",
	}, async () => {
		const lines = numbered(12_000);
		const [base, current] = [lines.join(""), lines.map((line) => `\t${line}`).join("")];
		const input = { path: "f", base, current, maxBytes: Math.floor(0.9 * current.length) };
		expect(await unifiedDiff(input)).toEqual({ kind: "not_useful", reason: "too_large" });
		// Found before looking for changes: a budget of nothing is enough.
		expect(await unifiedDiff({ ...input, budget: 0 })).toEqual({
			kind: "not_useful",
			reason: "too_large",
		});
	});

	test("an abort ends a large diff half-way", async () => {
		const lines = numbered(100_000);
		const [base, current] = [
			lines.join(""),
			lines.map((line, i) => (i % 9 ? line : `x${line}`)).join(""),
		];
		const controller = new AbortController();
		setImmediate(() => controller.abort());
		const running = diff(base, current, { signal: controller.signal });
		await expect(running).rejects.toThrow(/^Operation aborted$/);
	});
});

describe("when there is no diff", () => {
	test("identical texts are said to be so", async () => {
		const input = { path: "f", base: "a\n", current: "a\n", maxBytes: 1000 };
		expect(await unifiedDiff(input)).toEqual({ kind: "not_useful", reason: "identical" });
	});

	test("a diff of exactly maxBytes is given, one byte more is too large", async () => {
		await fc.assert(
			fc.asyncProperty(arbitraryPair(), async ([base, current]) => {
				fc.pre(base !== current);
				const { text } = await diff(base, current);
				const bytes = Buffer.byteLength(text);
				expect((await diff(base, current, { maxBytes: bytes })).text).toBe(text);
				const tooSmall = { path: "f", base, current, maxBytes: bytes - 1 };
				expect(await unifiedDiff(tooSmall)).toEqual({ kind: "not_useful", reason: "too_large" });
			}),
		);
	});

	test("changes that do not lead to the current text are never shown", () => {
		const input = { path: "f", base: "a\nb\nc\n", current: "a\nB\nc\n", maxBytes: 1000 };
		const lines = {
			base: runAtOnce(splitLines(input.base)),
			current: runAtOnce(splitLines(input.current)),
		};
		const wrong = [
			[{ baseStart: 0, baseCount: 1, currentStart: 0, currentCount: 1 }],
			[{ baseStart: 1, baseCount: 1, currentStart: 1, currentCount: 2 }],
			[{ baseStart: 1, baseCount: 1, currentStart: 0, currentCount: 2 }],
		];
		for (const changes of wrong) {
			expect(runAtOnce(describeChanges(changes, lines, input))).toEqual({
				kind: "not_useful",
				reason: "verification_failed",
			});
		}
	});
});
