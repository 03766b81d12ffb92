/** How outlines and sources of symbols read. */
import { describe, expect, test } from "vitest";
import { fitText, projectPaths, wholeText } from "../../src/code/outline.ts";
import { outlineForms, sourceForms } from "../../src/code/source-text.ts";
import { outlineInput, symbolInput } from "../../src/code/tool-inputs.ts";
import type { OutlineAnswer, SymbolAnswer } from "../../src/codeindex/answers.ts";
import { coverage, symbol } from "./fake-index.ts";

const paths = projectPaths("/project", "/project", () => true);

function lines(text = ""): string[] {
	return text.split("\n");
}

describe("kota_outline", () => {
	const members = Array.from({ length: 150 }, (_, at) =>
		symbol(`method${at}`, {
			kind: "method",
			line: 20 + at * 10,
			endLine: 28 + at * 10,
			signature: `async method${at}(first: ReadonlyMap<string, number>, second: string): Promise<void>`,
			doc: "Does one thing.",
		}),
	);
	const answer: OutlineAnswer = {
		outlines: [
			{
				path: "src/a.ts",
				isTest: false,
				lines: 1600,
				symbols: [
					symbol("open", { signature: "function open(): void", doc: "Opens." }),
					{
						...symbol("Large", {
							kind: "class",
							signature: "class Large",
							line: 14,
							endLine: 1590,
						}),
						members,
					},
				],
			},
		],
		coverage: coverage(),
	};
	const forms = outlineForms(answer, { file: "src/a.ts" }, paths);

	test("shows lines, signatures and comments, members deeper", () => {
		expect(lines(wholeText(forms[0]?.() ?? [])).slice(0, 4)).toEqual([
			"src/a.ts: 1,600 lines",
			"  10-12 export function open(): void  // Opens.",
			"  14-1590 export class Large",
			"    20-28 async method0(first: ReadonlyMap<string, number>, second: string): Promise<void>  // Does one thing.",
		]);
	});

	test("that is too long names every member, and shows the first ones in full", () => {
		const text = fitText(forms, 5000);
		expect(Buffer.byteLength(text)).toBeLessThanOrEqual(5000);
		expect(Buffer.byteLength(text)).toBeGreaterThan(4900);
		expect(text).toContain("    20-28 async method0(");
		expect(lines(text).at(-1)).toBe("    1510-1518 method149");
	});

	test("of an unknown name says so", () => {
		const none = { outlines: [], suggestions: ["Largo"], coverage: coverage() };
		const [form] = outlineForms(none, { symbol: "Larg" }, paths);
		expect(wholeText(form?.() ?? [])).toContain("Close to it: Largo.");
	});
});

describe("kota_symbol", () => {
	const source = {
		firstLine: 9,
		lines: ["/** Opens. */", "function open() {", "\tparse();\u001b", "}"],
		imports: [{ from: "./parse.ts", names: ["parse", "T as U"] }],
		uses: [{ name: "LIMIT", line: 3 }],
	};
	const open = { ...symbol("open"), path: "src/a.ts", isTest: false, source };
	const other = { ...symbol("open", { owner: "File" }), path: "src/b.ts", isTest: true };
	const answer: SymbolAnswer = {
		symbol: "open",
		definitions: [open, other],
		omittedDefinitions: 2,
		coverage: coverage(),
	};

	test("shows the source with what it needs, and where else the name is defined", () => {
		const [form] = sourceForms(answer, { symbol: "open" }, paths);
		expect(lines(wholeText(form?.() ?? []))).toEqual([
			"src/a.ts:10-12  function open",
			"imports: parse, T as U from ./parse.ts",
			"uses in this file: LIMIT 3",
			"lines 9-12:",
			"/** Opens. */",
			"function open() {",
			"\tparse();\\u001b",
			"}",
			"3 other of that name, most used first:",
			"  src/b.ts:10-12  function File.open (test)",
		]);
	});

	test("a source that is too long ends with the number of its other lines", () => {
		const long = Array.from({ length: 400 }, (_, at) => `\tstep(${at});`);
		const one = { ...answer, definitions: [{ ...open, source: { ...source, lines: long } }] };
		const text = fitText(sourceForms(one, { symbol: "open" }, paths), 1000);
		expect(Buffer.byteLength(text)).toBeLessThanOrEqual(1000);
		expect(text).toMatch(/step\(0\);\n.*… \d+ more/s);
	});

	test("a class that is too long is shown by its members", () => {
		const members = Array.from({ length: 9 }, (_, at) => symbol(`m${at}`, { line: 20 + at }));
		const long = { ...source, lines: Array(900).fill("\tline();") };
		const one = { ...answer, definitions: [{ ...open, members, source: long }] };
		const text = fitText(sourceForms(one, { symbol: "open" }, paths), 1500);
		expect(text).toContain("too long for one answer: ask for one of its members");
		expect(text).toContain("m8");
		expect(text).not.toContain("line();");
	});
});

test("an outline says why a file was not understood", () => {
	const file = { path: "src/a.ts", isTest: false, lines: 3, symbols: [], problem: "line 1: odd" };
	const [form] = outlineForms({ outlines: [file], coverage: coverage() }, { file: "a.ts" }, paths);
	expect(wholeText(form?.() ?? [])).toBe(
		"src/a.ts: 3 lines, no symbols at its top level, not fully parsed (line 1: odd)",
	);
});

test("a target that can be no path is a symbol", () => {
	const { target } = projectPaths("/project", "/project");
	for (const symbol of ["n".repeat(3000), "a\0b"]) expect(target(symbol)).toEqual({ symbol });
});

describe("a target", () => {
	const existing = new Set(["/project/src/a.ts", "/project/src/a#b.ts", "/project/src/x.ts"]);
	const { target } = projectPaths(
		"/project",
		"/project/src",
		(path) => existing.has(path),
		(path) => existing.has(path),
	);

	test.each([
		["a.ts", { file: "src/a.ts" }],
		["src/a.ts", { file: "src/a.ts" }],
		["a.ts#Owner.#own", { file: "src/a.ts", symbol: "Owner.#own" }],
		["a#b.ts", { file: "src/a#b.ts" }],
		["a#b.ts#name", { file: "src/a#b.ts", symbol: "name" }],
		["Owner.member", { symbol: "Owner.member" }],
		["Owner#member", { symbol: "Owner#member" }],
		["#own", { symbol: "#own" }],
		["lib/gone.ts", { file: "src/lib/gone.ts" }],
		["lib/gone.ts#name", { file: "src/lib/gone.ts", symbol: "name" }],
	])("%s is a file, a symbol or both", (text, expected) => {
		expect(target(text)).toEqual(expected);
		if (!("symbol" in expected)) {
			expect(() => symbolInput({ symbol: text }, target)).toThrow("is a file: name a symbol in it");
		} else expect(symbolInput({ symbol: text }, target)).toEqual(expected);
		expect(outlineInput({ target: text }, target)).toEqual(expected);
	});
});
