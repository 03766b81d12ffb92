import { describe, expect, test } from "vitest";
import { extractFacts } from "../../../src/codeindex/extract/extract.ts";
import { fileWords } from "../../../src/codeindex/extract/words.ts";
import { fc, runs } from "../../support/property.ts";

describe("sources that cannot be understood", () => {
	test("a syntax error leaves the imports and re-exports before it", () => {
		const source = `import a, { b as c } from "./a"; import type * as d from "./d"; export * from "./e"; export { f } from "./f"; import("./g");\nconst x = ;`;
		const facts = extractFacts("a.ts", source);
		expect(facts.status).toBe("broken");
		expect(facts.problem).toBe("line 2: Unexpected token");
		expect(facts.isModule).toBe(true);
		expect(facts.requests.map(({ specifier }) => specifier)).toEqual([
			...["./a", "./d", "./e", "./f", "./g"],
		]);
		expect(facts.bindings.map(({ name }) => name)).toEqual(["a", "c", "d"]);
		expect(facts.exports.map(({ kind }) => kind)).toEqual(["star", "from"]);
	});

	test("an error that the parser gets over leaves everything", () => {
		const facts = extractFacts("a.ts", "export function f(a?: number, b: string) {} f();");
		expect(facts.status).toBe("broken");
		expect(facts.references).toHaveLength(1);
	});

	test("JavaScript may be sloppy, a module, or return at its top", () => {
		for (const source of [
			"with (a) b;",
			"return 1;",
			"await x; export {}",
			"var let = 010;",
			"<a />",
		]) {
			expect(extractFacts("a.js", source).status).toBe("parsed");
		}
	});

	const many = (text: string) => text.repeat(20_000);
	test.each([
		["parentheses", `${many("(")}1${many(")")}`],
		["functions", `${many("function f(){")}${many("}")}`],
		["conditions", `${many("a?b:")}c`],
		["conditions on lines of their own", `${many("a\n? b\n: ")}c`],
		["arrows", `${many("a=>")}a`],
		["else", `${many("if(a){}else ")}{}`],
		["else after a semicolon", `${many("if(a);else ")};`],
		["ifs", `${many("if(a)")};`],
		["negations", `${many("!")}a`],
		["elements", `${many("<a>")}${many("</a>")}`],
		["templates", `${many("`${")}a${many("}`")}`],
		["sums", `a${many("+a")}`],
		["properties", `a${many(".b")}`],
		["calls", `a${many("()")}`],
		["array types", `type A = B${many("[]")};`],
		["assignments", `${many("a=")}1`],
		["awaits", many("await ")],
		["lists behind a comment that a carriage return ends", `// a\rvar a = ${many("[")}`],
		["lists behind what is no comment", `var a = \`\n/*\`; var b = ${many("[")}`],
	])("nesting without end is no crash: %s", (_, source) => {
		for (const path of ["a.tsx", "a.js"]) {
			expect(extractFacts(path, source)).toMatchObject({ status: "broken" });
		}
	});

	test("long but flat sources are parsed", { tags: "slow" }, () => {
		const flat = [
			"a = b ? c : d\n".repeat(5_000),
			"const x = { a: [1, 2, 3] };\n".repeat(5_000),
			`const list = [${"[1], ".repeat(20_000)}];`,
			"if (a) { b() } else { c() }\n".repeat(5_000),
			"function f<T>(x: Array<T>): T { return x[0]! }\n".repeat(5_000),
			`switch (a) {${"case 1: b = c; break;".repeat(5_000)}}`,
			`const o = {${"a: b ? !c : -d, ".repeat(5_000)}};`,
			`const view = <div>${"<a href={x}>text</a><br />\n".repeat(5_000)}</div>;`,
		];
		for (const source of flat) {
			const path = source.includes("<div>") ? "a.tsx" : "a.ts";
			expect(extractFacts(path, source).problem).toBeUndefined();
		}
	});

	test("comments nest nothing, whatever they hold", () => {
		const rulers = `// ${"-".repeat(70)}\n// Types\n// ${"-".repeat(70)}\n\nexpect(a)\n`;
		const text = `/*\n${"if for while (((( = ? : ! ~\n".repeat(50)}*/\nexpect(a)\n`;
		for (const source of [rulers.repeat(40), text.repeat(40), `${text.repeat(40)}//`]) {
			expect(extractFacts("a.ts", source)).toMatchObject({ status: "parsed" });
		}
		expect(extractFacts("a.ts", `a //\n= ${"- ".repeat(3_000)}b`).problem).toMatch(/nested too/);
		expect(extractFacts("a.ts", `${"[".repeat(3_000)}// /*\n`).problem).toMatch(/nested too/);
	});

	test("NUL bytes, replaced bytes, byte order marks and a hashbang", () => {
		for (const source of [
			"\0\0\0",
			"const a = '\uFFFD\uFFFD';\uFFFD",
			"\uFEFFconst a = 1;",
			"#!/usr/bin/env node\na();",
			"",
			"\uD800",
		]) {
			expect(() => extractFacts("a.ts", source)).not.toThrow();
		}
	});

	test("a minified file of five megabytes has bounded words", { tags: "slow" }, () => {
		const line = "function a(b,c){return b?c:a(c,b)}var d={e:1,f:function(){return this.e}};";
		const unique = Array.from({ length: 30_000 }, (_, index) => `v${index}x=1`).join(";");
		const source = `(function(){${line.repeat(1_000)}})();`.repeat(70) + unique;
		expect(source.length).toBeGreaterThan(5_000_000);
		const facts = extractFacts("a.min.js", source);
		expect(facts.status).toBe("parsed");
		expect(fileWords("a.min.js", source, facts).text.length).toBeLessThan(400_000);
	});

	test("a hundred thousand statements and more are parsed", { tags: "slow" }, () => {
		const facts = extractFacts("a.ts", `export const a = 1;${"a;".repeat(150_000)}`);
		expect(facts.problem).toBeUndefined();
		expect(facts.references).toHaveLength(150_000);
	});

	test("no text makes it throw, and all places are inside the text", () => {
		const pieces = fc.constantFrom(
			..."import export default function class { } ( ) [ ] => = . , ; : ? ! < > <a/> * as from 'x' \"./y\" a b C this super new typeof interface type enum namespace declare module global let const var async await ` require('./z') exports.a module.exports @ # ... \n /** {@link a} */ // \u2028 é".split(
				" ",
			),
		);
		const text = fc.array(fc.oneof(pieces, fc.string({ maxLength: 5 })), { maxLength: 40 });
		fc.assert(
			fc.property(text, fc.constantFrom("a.ts", "b.tsx", "c.js", "d.d.ts"), (parts, path) => {
				const source = parts.join(" ");
				const facts = extractFacts(path, source);
				const lines = source.split("\n");
				expect(facts.lines).toBe(lines.at(-1) === "" ? lines.length - 1 : lines.length);
				for (const { at } of facts.references) {
					if (at) expect(at[1]).toBeLessThanOrEqual((lines[at[0] - 1] ?? "").length);
				}
				for (const { binding } of facts.references) expect(facts.bindings[binding]).toBeDefined();
			}),
			{ numRuns: runs(400) },
		);
	});
});
