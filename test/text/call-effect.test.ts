import { describe, expect, test } from "vitest";
import { callEffect, changedLines, type EndedCall, seconds } from "../../src/text/call-effect.ts";
import { fc } from "../support/property.ts";

const line = (call: EndedCall) => callEffect(call).join(" · ");
const readcache = (note: object) => ({ readcache: { v: 1, totalLines: 20, ...note } });

describe("the effect of a call", () => {
	test.each([
		["unchanged, 20 lines not sent", { mode: "unchanged", rangeStart: 1, rangeEnd: 20 }],
		["unchanged, 4 lines not sent", { mode: "unchanged_range", rangeStart: 3, rangeEnd: 6 }],
		["20 lines", { mode: "full", rangeStart: 1, rangeEnd: 20, shown: [1, 20] }],
		["lines 5–9 of 20", { mode: "full", rangeStart: 5, rangeEnd: 20, shown: [5, 9] }],
		["line 5 of 20", { mode: "full_fallback", shown: [5, 5] }],
	])("a read says what was sent: %s", (expected, note) => {
		expect(line({ tool: "read", details: readcache(note), text: "…" })).toBe(expected);
	});

	test("a read of a changed file says how many lines were sent", () => {
		const text = "[readcache: 1 lines changed of 20]\n@@ -1 +1 @@\n-a\n+b";
		const details = readcache({ mode: "diff", rangeStart: 1, rangeEnd: 20 });
		expect(line({ tool: "read", details, text })).toBe("1 changed line sent, of 20");
	});

	test("a page says which part of the text it is", () => {
		const uri = "https://a.example/";
		const page = (details: object) =>
			line({ tool: "read", text: "a", details: { uri, ...details } });
		expect(page({ truncated: true, total_chars: 48_200 })).toBe("a part of 48.2k characters");
		const pages = { page_start: 2, page_end: 4, total_pages: 30 };
		expect(page({ truncated: true, page_info: pages })).toBe("pages 2–4 of 30");
	});

	test("an edit says how many lines it changed, a write how many it wrote", () => {
		const patch = "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n one\n-- two\n+++ three\n four\n";
		expect(line({ tool: "edit", details: { patch } })).toBe("+1 −1");
		expect(line({ tool: "edit", details: undefined })).toBe("");
		expect(line({ tool: "write", args: { content: "a\nb\n" } })).toBe("2 lines written");
	});

	test("a command says how long it took, how it ended and what was folded", () => {
		const birth = { v: 1, savedChars: 900, references: [] };
		const text =
			"a\n[strata: 1,212 more lines equal to the line above]\nb\n\nCommand exited with code 3";
		expect(line({ tool: "bash", details: { birth }, text, isError: true, durationMs: 412 })).toBe(
			"0.4 s · exit 3 · 1,212 lines folded",
		);
		expect(line({ tool: "bash", text: "a\nb\n", durationMs: 65_000 })).toBe("1 min 5 s · 2 lines");
		expect(line({ tool: "bash", text: "(no output)" })).toBe("no output");
		const late = "x\n\nCommand timed out after 30 seconds";
		expect(line({ tool: "bash", text: late, isError: true })).toBe("timed out after 30 s");
		expect(line({ tool: "bash", text: "Command aborted", isError: true })).toBe("stopped");
		// A command that only prints such a line has not failed.
		expect(line({ tool: "bash", text: "Command exited with code 3" })).toBe("1 line");
	});

	test("lines that refer to an earlier result count as shown before", () => {
		const references = [{ line: 2, base: "call-1", first: 10, last: 29 }];
		const details = { birth: { v: 1, savedChars: 500, references } };
		expect(line({ tool: "grep", details, text: "a\nb\nc" })).toBe(
			"3 lines · 20 lines shown before",
		);
	});

	test("a truncated output says how much of it was sent", () => {
		const truncation = { truncated: true, totalLines: 9_000, outputLines: 2_000 };
		expect(line({ tool: "bash", details: { truncation }, text: "…" })).toBe("2,000 of 9,000 lines");
		const details = { truncated: true, originalBytes: 48_000 };
		expect(line({ tool: "kota_search", details, text: "…" })).toBe("shortened from 48k bytes");
	});

	test("a result that was replaced later says so", () => {
		const replacement = '(Pruned) bash(command="ls"): 9,000 chars. Full text: read x';
		expect(line({ tool: "grep", text: "a\nb", replacement })).toBe("2 lines · now a stub");
		expect(line({ tool: "read", isError: true, text: "no such file" })).toBe("failed");
	});

	test("never throws and never repeats text of the result, whatever the notes hold", () => {
		const hostile = fc.record({
			tool: fc.constantFrom("read", "edit", "write", "bash", "kota_search", "x"),
			args: fc.anything(),
			details: fc.oneof(
				fc.anything(),
				fc.record({ readcache: fc.anything(), birth: fc.anything(), truncation: fc.anything() }),
			),
			text: fc.string(),
			isError: fc.boolean(),
		});
		fc.assert(
			fc.property(hostile, (call) => {
				for (const part of callEffect(call as EndedCall)) expect(part).toMatch(/^[\w ,.+−–]+$/);
			}),
		);
	});
});

test("changed lines are counted inside hunks only", () => {
	const file = "--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n-a\n+b\n+c\n";
	expect(changedLines(`diff --git a b\n${file}diff --git c d\n${file}`)).toEqual({
		added: 4,
		removed: 2,
	});
	expect(changedLines("--- a\n+++ b\n")).toEqual({ added: 0, removed: 0 });
});

test("durations are short", () => {
	expect([0, 449, 9_940, 12_400, 60_000, 3_725_000].map(seconds)).toEqual([
		"0 s",
		"0.4 s",
		"9.9 s",
		"12 s",
		"1 min",
		"62 min 5 s",
	]);
});
