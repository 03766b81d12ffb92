import { expect, test } from "vitest";
import { Birth, type CallResult, defaultBirth, expand, isShell } from "../../src/birth/index.ts";
import { code, output, read } from "./results.ts";

const build = [
	...output(20),
	...Array(40).fill("waiting for the server to start"),
	...output(50).slice(20),
];

function bash(id: string, lines: readonly string[], command = `make ${id}`): CallResult {
	return { id, tool: "bash", input: { command }, text: lines.join("\n") };
}

test("output of a command is made quiet first, then refers to what is shown", () => {
	const birth = new Birth(defaultBirth);
	const first = bash("a", build);
	const shown = birth.shorten(first);
	expect(shown?.text.split("\n").slice(20, 22)).toEqual([
		"waiting for the server to start",
		"[strata: 39 more lines equal to the line above]",
	]);
	expect(shown?.expanded).toBe(shown?.text);
	birth.add(first, shown?.text);
	const second = birth.shorten(bash("b", build));
	expect(second?.text).toBe("[strata: lines 1-52 of the output of `bash make a` above, unchanged]");
	expect(second?.expanded).toBe(shown?.text);
	expect(expand(second?.text ?? "", [{ ...first, text: shown?.text }])).toBe(shown?.text);
});

test("the path of the exact text is named once", () => {
	const birth = new Birth(defaultBirth);
	birth.add(read("a", output(20)));
	const stored = { ...bash("b", build), path: "~/blobs/1.txt" };
	expect(birth.shorten(stored)?.text.split("~/blobs/1.txt")).toHaveLength(2);
	const plain = { ...bash("b", output(20)), path: "~/blobs/1.txt" };
	expect(birth.shorten(plain)?.text.split("~/blobs/1.txt")).toHaveLength(2);
});

test("the path is named if the line that names it is one of those that are referred to", () => {
	const birth = new Birth(defaultBirth);
	const first = { ...bash("a", build), path: "~/blobs/1.txt" };
	birth.add(first, birth.shorten(first)?.text);
	expect(birth.shorten({ ...first, id: "b" })?.text).toBe(
		"[strata: lines 1-52 of the output of `bash make a` above, unchanged; full text: read ~/blobs/1.txt]",
	);
});

test("a shortened result says which lines of which result its references mean", () => {
	const birth = new Birth(defaultBirth);
	birth.add(read("a", output(20)));
	birth.add(read("b", code(20), "src/a.ts"));
	const lines = ["first", ...output(20).slice(4), "between", ...code(12), "last"];
	const short = birth.shorten(read("c", lines));
	expect(short?.references).toEqual([
		{ line: 2, base: "a", first: 5, last: 20 },
		{ line: 4, base: "b", first: 1, last: 12 },
	]);
	const quieter = birth.shorten(bash("d", ["start", ...build.slice(20, 60), ...code(40, "other")]));
	expect(quieter?.references).toEqual([]);
});

test("results of other tools are not made quiet, and errors stay as they are", () => {
	const birth = new Birth(defaultBirth);
	expect(birth.shorten(read("a", build))).toBeUndefined();
	expect(birth.shorten({ ...bash("a", build), isError: true })).toBeUndefined();
	expect(birth.shorten({ ...bash("a", build), isLoud: true })).toBeUndefined();
	expect(birth.shorten({ ...bash("a", build), text: undefined })).toBeUndefined();
});

test("each part can be used alone", () => {
	const { dedupe, quiet } = defaultBirth;
	const [onlyDedupe, onlyQuiet, none] = [
		new Birth({ dedupe }),
		new Birth({ quiet }),
		new Birth({}),
	];
	for (const birth of [onlyDedupe, onlyQuiet, none]) birth.add(read("a", output(20)));
	expect(onlyDedupe.shorten(bash("b", build))?.text).toContain("lines 1-20 of");
	expect(onlyDedupe.shorten(bash("b", build))?.text).not.toContain("more lines");
	expect(onlyQuiet.shorten(bash("b", build))?.text).not.toContain("lines 1-20 of");
	expect(onlyQuiet.shorten(bash("b", build))?.text).toContain("more lines");
	expect(none.shorten(bash("b", build))).toBeUndefined();
});

test("deciding changes nothing until the result is added", () => {
	const birth = new Birth(defaultBirth);
	expect(birth.shorten(read("a", output(20)))).toBeUndefined();
	expect(birth.shorten(read("b", output(20)))).toBeUndefined();
});

test.each(["bash", "Bash", "BashOutput", "shell", "exec_command", "run_shell_command"])(
	"%s returns the output of commands",
	(tool) => {
		expect(isShell(tool)).toBe(true);
		expect(isShell("read")).toBe(false);
	},
);
