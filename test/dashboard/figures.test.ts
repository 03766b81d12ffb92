import { expect, test } from "vitest";
import {
	ago,
	bytes,
	dollars,
	dollarsAligned,
	duration,
	errorMessage,
	short,
	shortPath,
} from "../../src/dashboard/parts/figures.ts";
import { callSummary, editsOf } from "../../src/dashboard/session/items.ts";

test.each([
	[0, "$0"],
	[0.0000123, "$0.000012"],
	[0.0123, "$0.0123"],
	[0.5, "$0.50"],
	[0.3612, "$0.3612"],
	[0.002, "$0.002"],
	[0.02, "$0.02"],
	[1.256, "$1.26"],
	[-2, "−$2.00"],
])("%d dollars are %s", (amount, text) => expect(dollars(amount)).toBe(text));

test("dollars of one column have the same number of decimals, which the largest decides", () => {
	const aligned = (...amounts: (number | undefined)[]) =>
		amounts.flatMap((amount) => (amount === undefined ? [] : dollarsAligned(amounts)(amount)));
	expect(aligned(0.5, 0.1234, undefined, 0)).toEqual(["$0.5000", "$0.1234", "$0.0000"]);
	expect(aligned(12.5, -0.25, 0.001)).toEqual(["$12.50", "−$0.25", "<$0.01"]);
	expect(aligned(12.5, -0.001)).toEqual(["$12.50", "−<$0.01"]);
	expect(aligned(0.00002)).toEqual(["$0.000020"]);
	expect(dollarsAligned([])(0)).toBe("$0.00");
});

test.each([
	[0, "0"],
	[999, "999"],
	[12_345, "12.3k"],
	[999_600, "1M"],
	[1_000, "1k"],
])("%d in short is %s", (count, text) => expect(short(count)).toBe(text));

test("bytes, times and paths are short", () => {
	expect([bytes(12), bytes(12_345)]).toEqual(["12 B", "12.3 kB"]);
	expect([duration(340), duration(90_000), duration(7_200_000)]).toEqual([
		"340 ms",
		"2 min",
		"2 h",
	]);
	const days = (count: number) => duration(count * 86_400_000);
	expect([days(5), days(59), days(90), days(729), days(20_774)]).toEqual([
		...["5 d", "59 d", "2 mo", "23 mo", "56 y"],
	]);
	expect([ago(0, 1_000), ago(0, 120_000)]).toEqual(["just now", "2 min ago"]);
	expect([ago(9e12, 1_000), ago(Number.NaN, 1_000)]).toEqual(["just now", "–"]);
	expect([shortPath("/a/b/c/d"), shortPath("/a")]).toEqual(["…/c/d", "/a"]);
});

test("errors of the server are told without the words of the protocol", () => {
	const told = (message: string) => errorMessage(new Error(message));
	expect(told('Model "a/b" is not available: see get_available_models')).toBe(
		'Model "a/b" is not available',
	);
	expect(told('There is no command "/x". See get_commands. To send it as text, …')).toBe(
		'There is no command "/x". To send it as text, …',
	);
	expect(told("set_thinking_level: `level` must be one of off, high")).toBe(
		"The level must be one of off, high",
	);
	expect(told("The session is answering: set streamingBehavior to steer or …")).toBe(
		"The session is answering: send the message again to queue it, or stop the run first",
	);
	expect(told("ENOENT: no such file, open '/see/get_it'")).toContain("/see/get_it");
});

test("a call is summed up by what it is about", () => {
	const summary = (args: unknown, argsText = "") => callSummary({ args, argsText });
	expect(summary({ limit: 3, path: "src/a.ts" })).toBe("src/a.ts");
	expect(summary({ command: "ls\n  -l" })).toBe("ls -l");
	expect(summary({ n: 1 })).toBe('{"n":1}');
	expect(summary({})).toBe("");
	expect(summary(undefined, '{"pat')).toBe('{"pat');
	expect(summary({ path: "x".repeat(9_999) }).length).toBeLessThan(200);
});

test("edits are found in both of their forms", () => {
	const edit = { oldText: "a", newText: "b" };
	expect(editsOf({ path: "x", edits: [edit, 7, null] })).toEqual([edit]);
	expect(editsOf({ path: "x", ...edit })).toMatchObject([edit]);
	expect(editsOf({ path: "x" })).toEqual([]);
	expect(editsOf(undefined)).toEqual([]);
});
