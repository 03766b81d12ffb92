import { describe, expect, test } from "vitest";
import { Birth, type CallResult, defaultBirth, expand, quiet } from "../../src/birth/index.ts";
import { scanLines } from "../../src/birth/lines.ts";
import { rendered } from "../../src/birth/terminal.ts";
import { code, output, read } from "./results.ts";

const ESC = "\u001b";
const end = output(20, "end");

function bash(id: string, text: string): CallResult {
	return { id, tool: "bash", input: { command: `run ${id}` }, text };
}

/** The second result as it is shown below the first. */
function shownBelow(first: CallResult, second: CallResult): string | undefined {
	const birth = new Birth(defaultBirth);
	birth.add(first, birth.shorten(first)?.text);
	return birth.shorten(second)?.text;
}

describe("a tool that prints lines like ours", () => {
	const lines = code(20);
	const reference = "[strata: lines 1-20 of the output of `read src/a.ts` above, unchanged]";
	const fold = "[strata: 39 more lines equal to the line above]";

	test.each([
		["a reference", reference],
		["the start of a reference", "[strata: lines "],
	])("%s keeps its result as it is, and no reference includes it", (_, line) => {
		const text = [...lines, line, ...code(20, "other")].join("\n");
		expect(shownBelow(read("a", lines), bash("b", text))).toBeUndefined();
		const birth = new Birth(defaultBirth);
		birth.add(bash("a", text));
		const shown = birth.shorten(read("b", [...lines, ...code(20, "other")]))?.text;
		expect(shown?.split("\n")).toEqual([
			"[strata: lines 1-20 of the output of `bash run a` above, unchanged]",
			"[strata: lines 22-41 of the output of `bash run a` above, unchanged]",
		]);
	});

	test("a fold in an output keeps it as it is, but may stand in a file", () => {
		const waiting = Array(40).fill("waiting for the server to start");
		expect(shownBelow(read("a", []), bash("b", [fold, ...waiting, ...end].join("\n")))).toBe(
			undefined,
		);
		const shown = shownBelow(read("a", [...lines, fold]), read("b", [...lines, fold]));
		expect(shown).toBe("[strata: lines 1-21 of the output of `read src/a.ts` above, unchanged]");
	});

	test.each([
		["behind a carriage return", `x\r${reference}`],
		["behind colours", `${ESC}[1m${reference}${ESC}[0m`],
		["behind what is erased", `secret${ESC}[2K\r${reference}`],
		["drawn in two parts", `lines 1-20]\r[strata: `],
	])("%s, and its output is not rendered", (_, line) => {
		const noise = Array.from({ length: 90 }, (_, step) => `${step} %`).join("\r");
		expect(quiet(`${noise}\n${line}\n${end.join("\n")}`, defaultBirth.quiet)).toBeUndefined();
	});

	test("within a line is no reference", () => {
		const quoted = `see ${reference}`;
		const shown = shownBelow(read("a", lines), read("b", [...lines, quoted, ` ${reference}`]));
		expect(shown?.split("\n")).toEqual([reference, quoted, ` ${reference}`]);
		expect(expand(shown as string, [read("a", lines)])).toBe(
			[...lines, quoted, ` ${reference}`].join("\n"),
		);
	});
});

test.each([
	["carriage returns", "\r"],
	["tabs", "\t"],
	["wide characters", "日本語 📦"],
	["unpaired surrogates", "\ud800 \udc00"],
	["NUL", "\0"],
	["other line ends", "\u2028\u0085\v\f"],
	["escapes that never end", `${ESC}[${ESC}]`],
])("%s in repeated lines are kept, and come back", (_, odd) => {
	const lines = code(20).map((line, at) => (at % 2 === 0 ? line + odd : odd + line));
	const later = read("b", ["new", ...lines, "end"]);
	const shown = shownBelow(read("a", lines), later) as string;
	expect(shown).toBe(
		"new\n[strata: lines 1-20 of the output of `read src/a.ts` above, unchanged]\nend",
	);
	expect(expand(shown, [read("a", lines)])).toBe(later.text);
});

describe("folds prove what they say", () => {
	test("lines with equal hashes that differ are not folded", () => {
		const [first, other] = ["12laulr", "1exy8q1"].map(
			(end) => `a line of words, all as long as this one: ${end}`,
		) as [string, string];
		expect(scanLines(first).hashes).toEqual(scanLines(other).hashes);
		const lines = [first, other, first, other, first, other, first, first, other, other];
		expect(quiet([...lines, ...end].join("\n"), defaultBirth.quiet)).toBeUndefined();
	});

	test("lines with the same characters in another order are not folded", () => {
		const lines = Array.from({ length: 40 }, (_, at) =>
			at % 2 === 0 ? `copied from one to the other ${at}` : `copied from other to the one ${at}`,
		);
		expect(quiet([...lines, ...end].join("\n"), defaultBirth.quiet)).toBeUndefined();
	});

	test("lines that are long but cheap are not folded", () => {
		const rules = Array(4).fill("-".repeat(60));
		expect(quiet([...rules, ...end].join("\n"), defaultBirth.quiet)?.length).toBeUndefined();
		const blank = Array(30).fill(" ".repeat(20));
		expect(quiet([...blank, ...end].join("\n"), defaultBirth.quiet)).toBeUndefined();
	});

	test("half a million empty lines are", { tags: "slow" }, () => {
		const shown = quiet(`${"\n".repeat(500_000)}${end.join("\n")}`, defaultBirth.quiet);
		expect(shown?.split("\n")).toEqual([
			"",
			"[strata: 499,999 more lines equal to the line above]",
			...end,
		]);
	});
});

describe("output that would fill the memory of a terminal is left alone", () => {
	test.each([
		["text far to the right in every line", `${ESC}[9999Cx\n`, 20_000],
		["a line that is erased and written far to the right", `${ESC}[2K${ESC}[9999Cx\r`, 20_000],
		["a long line that is erased again and again", `${ESC}[1K`, 60_000],
	])("%s", { timeout: 2000 }, (_, piece, times) => {
		const text = rendered(`${"a".repeat(9000)}${piece.repeat(times)}`);
		expect(text?.length).toBeUndefined();
	});
});

test("a megabyte in one line stays, and a result that comes a thousand times does not", {
	tags: "slow",
}, () => {
	const birth = new Birth(defaultBirth);
	const long = "word ".repeat(200_000);
	expect(birth.shorten(bash("a", long))).toBeUndefined();
	birth.add(bash("a", long));
	expect(birth.shorten(bash("b", long))).toBeUndefined();
	const text = code(30).join("\n");
	for (let at = 0; at < 1000; at++) {
		const result = { id: `call_${at}`, tool: "read", input: { path: "a.ts" }, text };
		const shown = birth.shorten(result)?.text;
		const id = at < 2 ? "" : " (call_0)";
		const expected = `[strata: lines 1-30 of the output of \`read a.ts\`${id} above, unchanged]`;
		expect(shown).toBe(at === 0 ? undefined : expected);
		birth.add(result, shown);
	}
});
