import { describe, expect, test } from "vitest";
import { syntaxLines, syntaxOf, syntaxTokens } from "../../src/dashboard/parts/syntax.ts";
import { fc } from "../support/property.ts";

const kinds = (text: string, name: string) => {
	const syntax = syntaxOf(name);
	if (!syntax) throw new Error(`no syntax for ${name}`);
	return syntaxTokens(text, syntax).flatMap(({ kind, text: own }) =>
		kind === undefined ? [] : [`${kind} ${own}`],
	);
};

describe("the colours of code", () => {
	test("comments, strings, numbers and keywords are found", () => {
		expect(kinds('const a = 12.5; // half\nreturn "b\\"c" /* d */', "src/a.ts")).toEqual([
			"keyword const",
			"number 12.5",
			"comment // half",
			"keyword return",
			'string "b\\"c"',
			"comment /* d */",
		]);
		expect(kinds("def f(x): # why\n  return 'a#b'", "f.py")).toEqual([
			"keyword def",
			"comment # why",
			"keyword return",
			"string 'a#b'",
		]);
		expect(kinds("SELECT a FROM b -- all", "q.sql")).toEqual([
			"keyword SELECT",
			"keyword FROM",
			"comment -- all",
		]);
	});

	test("a quote without its end, such as an apostrophe, colours nothing after it", () => {
		expect(kinds("fn f<'a>(x: &'a str) {}\nlet y = 1;", "a.rs")).toEqual([
			"keyword fn",
			"keyword let",
			"number 1",
		]);
	});

	test("names decide the syntax, and unknown names have none", () => {
		expect(syntaxOf("Dockerfile")).toBe(syntaxOf("x.sh"));
		expect(syntaxOf("TypeScript")).toBe(syntaxOf("a/b.tsx"));
		expect(syntaxOf("notes.txt")).toBeUndefined();
		expect(syntaxOf("")).toBeUndefined();
	});

	test("tokens joined are the text, whatever it contains, and lines are its lines", () => {
		const text = fc.oneof(
			fc.string({ unit: "binary" }),
			fc.string({
				unit: fc.constantFrom("'", '"', "`", "/", "*", "#", "\\", "\n", "a", "1", "-", "<", "!"),
			}),
		);
		fc.assert(
			fc.property(
				text,
				fc.constantFrom("a.ts", "a.py", "a.sql", "a.css", "a.html", "a.json"),
				(given, name) => {
					const syntax = syntaxOf(name);
					const lines = syntaxLines(given, syntax);
					const joined = lines.map((line) => line.map((token) => token.text).join(""));
					expect(joined.join("\n")).toBe(given);
				},
			),
		);
	});
});
