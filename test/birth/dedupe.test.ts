import { describe, expect, test } from "vitest";
import { type CallResult, Dedupe, defaultBirth, expand } from "../../src/birth/index.ts";
import { code, read } from "./results.ts";

const settings = defaultBirth.dedupe;

function dedupe(...earlier: CallResult[]): Dedupe {
	const made = new Dedupe(settings);
	for (const result of earlier) made.add(result);
	return made;
}

describe("a run of lines that an earlier result shows", () => {
	test("becomes one line that names the call and its lines", () => {
		const lines = code(40);
		const later = read("b", ["// b", ...lines.slice(9, 30), "// end"]);
		expect(dedupe(read("a", lines)).shorten(later)).toBe(
			"// b\n[strata: lines 10-30 of the output of `read src/a.ts` above, unchanged]\n// end",
		);
	});

	test("is found at the start, at the end and several times in one result", () => {
		const lines = code(60);
		const text = [...lines.slice(0, 10), "new", ...lines.slice(20, 30), "", ...lines.slice(40)];
		expect(dedupe(read("a", lines)).shorten(read("b", text))?.split("\n")).toEqual([
			"[strata: lines 1-10 of the output of `read src/a.ts` above, unchanged]",
			"new",
			"[strata: lines 21-30 of the output of `read src/a.ts` above, unchanged]",
			"",
			"[strata: lines 41-60 of the output of `read src/a.ts` above, unchanged]",
		]);
	});

	test("names where the whole result is stored, once", () => {
		const lines = code(60);
		const text = [...lines.slice(0, 10), "new", ...lines.slice(20, 30)];
		const shown = dedupe(read("a", lines)).shorten({ ...read("b", text), path: "~/blobs/1.txt" });
		expect(shown?.split("\n")).toEqual([
			"[strata: lines 1-10 of the output of `read src/a.ts` above, unchanged; full text: read ~/blobs/1.txt]",
			"new",
			"[strata: lines 21-30 of the output of `read src/a.ts` above, unchanged]",
		]);
	});

	test("has six lines and 300 characters at least", () => {
		const lines = code(40);
		const earlier = dedupe(read("a", lines));
		const chars = lines.slice(0, 5).join("\n").length;
		expect(chars).toBeGreaterThan(300);
		expect(earlier.shorten(read("b", ["x", ...lines.slice(0, 5), "y"]))).toBeUndefined();
		expect(earlier.shorten(read("b", ["x", ...lines.slice(0, 6), "y"]))).toBeDefined();
		const short = Array.from({ length: 20 }, (_, line) => `word of ${line}`);
		const few = dedupe(read("a", short));
		expect(short.join("\n").length).toBeLessThan(300);
		expect(few.shorten(read("b", ["x".repeat(400), ...short]))).toBeUndefined();
	});

	test("is taken from the place with the most lines, the newest of those", () => {
		const lines = code(30);
		const earlier = dedupe(read("a", lines), read("b", lines.slice(0, 20)), read("c", lines));
		expect(earlier.shorten(read("d", lines))).toContain(
			"lines 1-30 of the output of `read src/c.ts`",
		);
		expect(earlier.shorten(read("d", lines), (id) => id !== "c")).toContain("`read src/a.ts`");
	});

	test("is exact where a line is longer in one of the two, or the last has no line end", () => {
		const lines = code(10);
		const longer = lines.with(9, `${lines[9]} // more`);
		const earlier = dedupe(read("a", [...longer, "end"]));
		expect(earlier.shorten(read("b", lines))).toBe(
			`[strata: lines 1-9 of the output of \`read src/a.ts\` above, unchanged]\n${lines[9]}`,
		);
		const open = dedupe(read("a", lines));
		expect(open.shorten(read("b", [...longer, "end"]))).toBe(
			`[strata: lines 1-9 of the output of \`read src/a.ts\` above, unchanged]\n${longer[9]}\nend`,
		);
		expect(open.shorten(read("b", [...lines, ""]))).toBe(
			"[strata: lines 1-10 of the output of `read src/a.ts` above, unchanged]\n",
		);
	});

	test("may have carriage returns, and unpaired surrogates", () => {
		const lines = code(10).map((line) => `${line}\ud800\r`);
		const later = read("b", ["x", ...lines, "y"]);
		const shown = dedupe(read("a", lines)).shorten(later) as string;
		expect(shown).toBe(
			"x\n[strata: lines 1-10 of the output of `read src/a.ts` above, unchanged]\ny",
		);
		expect(expand(shown, [read("a", lines)])).toBe(later.text);
	});

	test("is not replaced by a reference that a tokenizer may make dearer", () => {
		const rules = Array.from({ length: 20 }, () => "-".repeat(60));
		expect(dedupe(read("a", rules)).shorten(read("b", rules))).toBeUndefined();
	});
});

describe("a reference", () => {
	const lines = code(20);

	test("has the id of its result where a newer one has the same name", () => {
		const earlier = [
			read("call-1", lines, "a.ts"),
			read("call-2", ["something else"], "a.ts"),
			read("call-3", ["another file"], "b.ts"),
		];
		const shown = dedupe(...earlier).shorten(read("call-4", lines, "c.ts")) as string;
		expect(shown).toBe(
			"[strata: lines 1-20 of the output of `read a.ts` (call-1) above, unchanged]",
		);
		expect(expand(shown, earlier)).toBe(lines.join("\n"));
	});

	test("is not made if neither name nor id says which result is meant", () => {
		const same = (id: string, text: readonly string[]) => read(id, text, "a.ts");
		const later = read("c", lines);
		expect(dedupe(same("a (1)", lines), same("b", ["x"])).shorten(later)).toBeUndefined();
		expect(dedupe(same("a", lines), same("a", ["x"])).shorten(later)).toBeUndefined();
		expect(
			dedupe(same("a", lines), { ...same("b", []), text: undefined }).shorten(later),
		).toContain("(a)");
	});

	test.each([
		["read", { file_path: "src/a.ts", offset: 10, limit: 5 }, "read src/a.ts:10+5"],
		["bash", { command: "npm test\n  --quick" }, "bash npm test --quick"],
		["shell", { command: ["bash", "-lc", "ls"] }, "shell bash -lc ls"],
		[
			"search",
			{ limit: 3, query: "`x` ] above, unchanged]" },
			"search 'x' ] above, unchanged]:1+3",
		],
		["now", {}, "now"],
		["odd\u202etool", "plain words", "odd tool plain words"],
		["write", { content: { deep: true }, note: 7 }, "write 7"],
		["go", undefined, "go"],
		[
			"read",
			{ path: `/home/${"deep/".repeat(40)}file.ts` },
			"read /home/deep/deep/dee…/deep/deep/deep/deep/deep/deep/file.ts",
		],
		["bash", { command: "x".repeat(1_000_000) }, `bash ${"x".repeat(57)}…`],
	])("names a call of %s in a few words", (tool, input, name) => {
		const earlier = { id: "a", tool, input, text: lines.join("\n") };
		const shown = dedupe(earlier).shorten(read("b", lines)) as string;
		expect(shown).toBe(`[strata: lines 1-20 of the output of \`${name}\` above, unchanged]`);
		expect(expand(shown, [earlier])).toBe(lines.join("\n"));
	});

	test("is only to results that are visible", () => {
		const earlier = dedupe(read("a", lines));
		expect(earlier.shorten(read("b", lines), () => false)).toBeUndefined();
		expect(earlier.shorten(read("b", lines))).toBeDefined();
	});

	test("is to lines that the earlier result shows, not to those that it refers to", () => {
		const made = new Dedupe(settings);
		const rest = code(10, "other");
		made.add(read("a", lines));
		const second = read("b", [...lines, ...rest]);
		made.add(second, made.shorten(second));
		expect(made.shorten(read("c", ["x", ...lines, ...rest]))?.split("\n")).toEqual([
			"x",
			"[strata: lines 1-20 of the output of `read src/a.ts` above, unchanged]",
			"[strata: lines 2-11 of the output of `read src/b.ts` above, unchanged]",
		]);
		expect(made.shorten(read("c", ["x", ...lines, ...rest]), (id) => id === "b")).toBe(
			`x\n${lines.join("\n")}\n[strata: lines 2-11 of the output of \`read src/b.ts\` above, unchanged]`,
		);
	});

	test("in the original of a result keeps the result as it is, and is in no run", () => {
		const quoted = "[strata: lines 1-20 of the output of `read src/a.ts` above, unchanged]";
		const text = [...lines, quoted, ...lines];
		const earlier = dedupe(read("a", lines));
		expect(earlier.shorten(read("b", text))).toBeUndefined();
		earlier.add(read("b", text));
		expect(earlier.shorten(read("c", text))).toBeUndefined();
	});
});

describe("results that stay as they are", () => {
	const lines = code(20);

	test("errors do, but others may refer to them", () => {
		const earlier = dedupe({ ...read("a", lines), isError: true });
		expect(earlier.shorten({ ...read("b", lines), isError: true })).toBeUndefined();
		expect(earlier.shorten(read("b", lines))).toBeDefined();
	});

	test("results that are not text do, and nothing refers to them", () => {
		const picture = { ...read("a", []), text: undefined };
		const earlier = dedupe(picture);
		expect(earlier.shorten(picture)).toBeUndefined();
		expect(earlier.shorten(read("b", lines))).toBeUndefined();
	});

	test("so do those whose path cannot stand in a line", () => {
		const earlier = dedupe(read("a", lines));
		expect(earlier.shorten({ ...read("b", lines), path: "/tmp/a\nb" })).toBeUndefined();
	});

	test("so do those that would save less than 25 tokens", () => {
		const made = new Dedupe({ ...settings, minSavedTokens: 1000 });
		made.add(read("a", lines));
		expect(made.shorten(read("b", lines))).toBeUndefined();
	});
});

describe("expanding", () => {
	const lines = code(20);
	const earlier = [read("a", lines)];
	const reference = (from: string, name = "read src/a.ts") =>
		`[strata: lines ${from} of the output of \`${name}\` above, unchanged]`;

	test("returns the lines of the newest result of that name", () => {
		const newer = [...earlier, read("b", code(20, "newer"), "src/a.ts")];
		expect(expand(`x\n${reference("2-3")}\ny`, newer)).toBe(
			["x", ...code(20, "newer").slice(1, 3), "y"].join("\n"),
		);
	});

	test.each([
		["lines that the result does not have", reference("1-21")],
		["a line 0", reference("0-5")],
		["lines in the wrong order", reference("5-2")],
		["an unknown call", reference("1-5", "read src/z.ts")],
		["an unknown id", reference("1-5").replace(" above", " (other) above")],
		["a line of another form", "[strata: lines 1-5 of something]"],
	])("refuses %s", (_, shown) => {
		expect(expand(shown, earlier)).toBeUndefined();
		expect(expand(`x\n${shown}\ny`, earlier)).toBeUndefined();
	});

	test("leaves a text without references alone", () => {
		expect(expand("a\n\nb\n", [])).toBe("a\n\nb\n");
		expect(expand("", [])).toBe("");
	});
});

describe("hostile texts take linear time", () => {
	const large = { ...settings, maxIndexedLines: 2 ** 20, maxIndexedChars: 2 ** 24 };

	test.each([
		["a quarter of a million equal lines", "const same = line;\n".repeat(250_000)],
		["a quarter of a million empty lines", "\n".repeat(250_000)],
		["three lines of a megabyte", `${"y".repeat(1_000_000)}\n`.repeat(3)],
		["many pairs of lines", "const one = 1;\nconst two = 2;\n".repeat(100_000)],
		["many short runs", "a\nb\nc\nd\ne\nf\ng\n\n".repeat(30_000)],
	])("%s", { tags: "slow" }, (_, text) => {
		const made = new Dedupe(large);
		const base = { id: "a", tool: "read", input: {}, text };
		made.add(base);
		const later = { ...base, id: "b", text: `${text}z` };
		const shown = made.shorten(later);
		if (shown !== undefined) expect(expand(shown, [base])).toBe(later.text);
	});
});

describe("memory is bounded", () => {
	const lines = code(30);
	const filler = (id: number) => read(`filler-${id}`, code(30, `filler${id}x`));

	test.each([
		["lines", { maxIndexedLines: 100 }],
		["characters", { maxIndexedChars: 5000 }],
		["results", { maxIndexedResults: 3 }],
	])("by %s: the oldest results are evicted first", (_, bound) => {
		const made = new Dedupe({ ...settings, ...bound });
		made.add(read("a", lines));
		expect(made.shorten(read("z", lines))).toBeDefined();
		for (let id = 0; id < 4; id++) made.add(filler(id));
		expect(made.shorten(read("z", lines))).toBeUndefined();
		expect(made.shorten({ ...filler(3), id: "z" })).toBeDefined();
	});

	test("a result beyond the bound is no base, and evicts nothing", () => {
		const made = new Dedupe({ ...settings, maxIndexedLines: 100 });
		made.add(read("a", lines));
		made.add(read("b", code(101, "large")));
		expect(made.shorten(read("z", lines))).toBeDefined();
		expect(made.shorten(read("z", code(101, "large")))).toBeUndefined();
	});

	test("places survive when the index grows", () => {
		const made = new Dedupe(settings);
		made.add(read("a", lines));
		for (let id = 0; id < 200; id++) made.add(filler(id));
		expect(made.shorten(read("z", lines))).toContain("read src/a.ts");
		expect(made.shorten({ ...filler(100), id: "z" })).toContain("filler-100");
	});
});
