import { describe, expect, test } from "vitest";
import { applyUnified } from "../../../src/readcache/diff/unified.ts";

const header = "--- a/f\n+++ b/f\n";
const base = "one\ntwo\nthree\nfour\n";

describe("applying a unified diff", () => {
	test("replaces, adds and removes the lines its hunks name", () => {
		const diff = `${header}@@ -1,2 +1,2 @@\n-one\n+ONE\n two\n@@ -4,1 +4,2 @@\n four\n+five\n`;
		expect(applyUnified(base, diff)).toBe("ONE\ntwo\nthree\nfour\nfive\n");
	});

	test("an empty side names the line before it", () => {
		expect(applyUnified("", `${header}@@ -0,0 +1,1 @@\n+new\n`)).toBe("new\n");
		expect(applyUnified("old\n", `${header}@@ -1,1 +0,0 @@\n-old\n`)).toBe("");
		expect(applyUnified(base, `${header}@@ -2,0 +3,1 @@\n+new\n`)).toBe(
			"one\ntwo\nnew\nthree\nfour\n",
		);
	});

	test("the note about a missing newline belongs to the row above it", () => {
		const note = "\\ No newline at end of file\n";
		expect(applyUnified("a", `${header}@@ -1,1 +1,1 @@\n-a\n${note}+a\n`)).toBe("a\n");
		expect(applyUnified("a\n", `${header}@@ -1,1 +1,1 @@\n-a\n+a\n${note}`)).toBe("a");
	});

	const note = "\\ No newline at end of file\n";
	test.each([
		["no header", "@@ -1,1 +1,1 @@\n-one\n+1\n"],
		["no second header row", "--- a/f\n@@ -1,1 +1,1 @@\n-one\n+1\n"],
		["no hunk", header],
		["an empty text", ""],
		["a removed line that the base does not have", `${header}@@ -1,1 +1,1 @@\n-uno\n+1\n`],
		["a context line with a space too few", `${header}@@ -1,2 +1,1 @@\n-one\n two \n`],
		["fewer rows than announced", `${header}@@ -1,2 +1,2 @@\n-one\n+1\n`],
		["more rows than announced", `${header}@@ -1,1 +1,1 @@\n-one\n+1\n+2\n`],
		["a context row where only additions are left", `${header}@@ -1,1 +1,2 @@\n-one\n+1\n two\n`],
		["a last row without newline", `${header}@@ -1,1 +1,1 @@\n-one\n+1`],
		["a row of no kind", `${header}@@ -1,1 +1,1 @@\n-one\n*1\n`],
		["an empty row", `${header}@@ -1,1 +1,1 @@\n-one\n\n`],
		["a header without counts", `${header}@@ -1 +1 @@\n-one\n+1\n`],
		["a hunk of nothing", `${header}@@ -1,0 +1,0 @@\n`],
		["lines counted from 0", `${header}@@ -0,1 +0,1 @@\n-one\n+1\n`],
		["a hunk after the end", `${header}@@ -9,0 +10,1 @@\n+1\n`],
		["hunks in the wrong order", `${header}@@ -3,1 +3,0 @@\n-three\n@@ -1,1 +1,0 @@\n-one\n`],
		["new line numbers that do not add up", `${header}@@ -2,1 +3,1 @@\n-two\n+2\n`],
		["text after a line without newline", `${header}@@ -1,1 +1,1 @@\n-one\n+1\n${note}`],
		["a missing newline where the base has one", `${header}@@ -4,1 +4,1 @@\n-four\n${note}+4\n`],
		["an empty line without newline", `${header}@@ -4,1 +4,1 @@\n-four\n+\n${note}`],
	])("is refused with %s", (_, diff) => {
		expect(() => applyUnified(base, diff)).toThrow(/^Row \d+ of the diff /);
	});
});
