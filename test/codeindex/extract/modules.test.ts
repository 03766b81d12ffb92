import { describe, expect, test } from "vitest";
import { extractFacts } from "../../../src/codeindex/extract/extract.ts";
import type { Export, FileFacts } from "../../../src/codeindex/facts.ts";
import { accesses, placesOf } from "./support.ts";

function requestsOf({ requests }: FileFacts): Record<string, string> {
	return Object.fromEntries(requests.map(({ specifier, kinds }) => [specifier, kinds.join(" ")]));
}

function importsOf({ bindings, requests }: FileFacts): string[] {
	return bindings.flatMap((one) =>
		one.kind === "imported"
			? [`${one.name || "-"} = ${requests[one.request]?.specifier} ${one.imported}`]
			: [],
	);
}

function exportsOf(facts: FileFacts): string[] {
	const described = (one: Export): string => {
		if (one.kind === "local") return `${one.name} = ${facts.bindings[one.binding]?.name}`;
		const from = facts.requests[one.request]?.specifier;
		return one.kind === "star" ? `* from ${from}` : `${one.name} = ${one.imported} from ${from}`;
	};
	return facts.exports.map(described);
}

describe("what a file asks for", () => {
	test("every way of naming a module has its kind, and a specifier stands there once", {
		tags: "slow",
	}, () => {
		const facts = extractFacts(
			"a.ts",
			`import a from "value"; import type B from "type"; import { type C } from "type2"; import "side"; import {} from "side2";
			export * from "re"; export type { D } from "re-type"; import E = require("req"); const f = require("req2"); import type G = require("req-type");
			import("dyn"); import(\`dyn2\`); import(a); let t: import("in-type").T; typeof import("value"); import { x } from "value"; let u: typeof import("value");`,
		);
		expect(requestsOf(facts)).toEqual({
			value: "value type dynamic",
			type: "type",
			type2: "type",
			side: "side-effect",
			side2: "side-effect",
			re: "re-export",
			"re-type": "re-export type",
			req: "require",
			req2: "require",
			"req-type": "type",
			dyn: "dynamic",
			dyn2: "dynamic",
			"in-type": "type",
		});
		expect(facts.requests[0]?.at).toEqual([1, 15]);
	});

	test("require makes imports at any depth, with the names it takes", () => {
		const facts = extractFacts(
			"a.cjs",
			`const whole = require("./a"), { x, y: z } = require("./b"), w = require("./c").w;
			function f() { const inner = require("./d"); inner.g(); z(); } require("./e").h(); whole.i;
			function own(require) { require("./no"); }`,
		);
		expect(importsOf(facts)).toEqual([
			...["whole = ./a =", "x = ./b x", "z = ./b y", "w = ./c w", "inner = ./d =", "- = ./e ="],
		]);
		expect(placesOf(facts, "z")).toEqual(["1:39", "2:60"]);
		expect(accesses(facts)).toEqual([
			"inner itself > g: call",
			" itself > h: call",
			"whole itself > i: read",
		]);
		expect(requestsOf(facts)).not.toHaveProperty("./no");
	});

	test("a require that createRequire made asks for modules too", () => {
		const facts = extractFacts(
			"a.mjs",
			`import { createRequire } from "node:module"; const require = createRequire(import.meta.url); const a = require("./a.cjs");`,
		);
		expect(importsOf(facts)).toContain("a = ./a.cjs =");
	});

	test("import() gives names through await, then, destructuring and dots", () => {
		const facts = extractFacts(
			"a.ts",
			`const ns = await import("./a"); ns.one();
			const { two, three: three3 } = await import("./b"); (await import("./c")).four();
			import("./d").then(({ five }) => five); import("./e").then((m) => m.six()); let t: import("./f").Seven.Eight;`,
		);
		expect(importsOf(facts)).toEqual(
			expect.arrayContaining(["ns = ./a *", "- = ./b *", "- = ./c *", "- = ./d *", "- = ./f *"]),
		);
		expect(accesses(facts)).toEqual([
			"ns itself > one: call",
			" itself > two: read",
			" itself > three: read",
			" itself > four: call",
			" itself > five: read",
			" itself > six: call",
			" itself > Seven > Eight: type",
		]);
	});

	test("what is added to another module is a use of its names", () => {
		const facts = extractFacts("a.ts", `export {}; declare module "./b" { interface B { x: B } }`);
		expect(accesses(facts)).toEqual([" itself > B: declaration", " itself > B: type"]);
	});
});

describe("what a file exports", () => {
	test("lists, declarations, stars and defaults", () => {
		const facts = extractFacts(
			"a.ts",
			`const a = 1; export { a, a as "b c" }; export const { d, e: [f] } = a; export default class {} export * from "./x";
			export * as ns from "./y"; export { g as h, default } from "./z"; export type { I } from "./i"; export function j(): void; export function j() {}
			import { k } from "./k"; export { k };`,
		);
		expect(exportsOf(facts)).toEqual([
			...["a = a", "b c = a", "d = d", "f = f", "default = default", "* from ./x"],
			...["ns = * from ./y", "h = g from ./z", "default = default from ./z", "I = I from ./i"],
			...["j = j", "k = k"],
		]);
		expect(facts.exports.filter(({ typeOnly }) => typeOnly)).toHaveLength(1);
	});

	test("an anonymous default stands at the word default", () => {
		for (const value of ["function () {}", "class {}", "{ a: 1 }", "() => 1", "1 + 1"]) {
			const facts = extractFacts("a.ts", `\nexport default ${value}`);
			expect(facts.bindings).toMatchObject([{ name: "default", at: [2, 8] }]);
			expect(exportsOf(facts)).toEqual(["default = default"]);
		}
	});

	test("CommonJS exports of every form", () => {
		const facts = extractFacts(
			"a.js",
			`const a = 1; function b() {} exports.a = a; exports.c = function () { return exports.c; }; module.exports.d = 2;
			exports.e = require("./e"); exports.f = require("./f").g; exports.h = void 0;`,
		);
		expect(exportsOf(facts)).toEqual([
			...["a = a", "c = c", "d = d", "e = = from ./e", "f = g from ./f"],
		]);
		expect(facts.isModule).toBe(true);
		expect(placesOf(facts, "a")).toEqual(["1:7", "1:42"]);
		expect(placesOf(facts, "c")).toEqual(["1:53", "1:86"]);

		const object = extractFacts(
			"a.js",
			`const a = 1, b = 2; module.exports = { a, bb: b, m() {}, ...require("./more") };`,
		);
		expect(exportsOf(object)).toEqual(["a = a", "bb = b", "m = m", "* from ./more"]);

		const whole = extractFacts("a.js", `class K {} exports = module.exports = K; K;`);
		expect(exportsOf(whole)).toEqual(["= = K"]);
		expect(placesOf(whole, "K")).toEqual(["1:7", "1:39", "1:42"]);

		const twice = extractFacts(
			"a.js",
			`class K {} exports.K = void 0; exports.K = K; exports.K = K;`,
		);
		expect(exportsOf(twice)).toEqual(["K = K"]);
		expect(placesOf(twice, "K")).toEqual(["1:7", "1:44", "1:59"]);
	});

	test("what CommonJS exports may be a variable as well", () => {
		const facts = extractFacts(
			"a.js",
			`const a = exports.a = function () {}, b = exports.c = a, d = exports.d = require("./d");
			let { e } = exports.f = { e: 1 }; a();`,
		);
		expect(exportsOf(facts)).toEqual(["a = a", "c = a", "d = = from ./d", "f = f"]);
		expect(facts.isModule).toBe(true);
		const whole = extractFacts("a.js", "var K = exports = module.exports = class { m() {} };");
		expect(exportsOf(whole)).toEqual(["= = K"]);
		expect(whole.bindings).toMatchObject([
			{ name: "K", symbol: "class", members: [{ name: "m" }] },
		]);
	});

	test.each([
		["if (typeof module === 'object') { module.exports = a; }", ["= = a"]],
		["if (typeof module === 'object') module.exports = a; else window.a = a;", ["= = a"]],
		[
			"if (x) window.a = a; else if (y) { exports.a = a; } else { exports.b = a; }",
			["a = a", "b = a"],
		],
		[
			"try { module.exports = { a }; } catch { exports.b = a; } finally { exports.c = 1; }",
			["a = a", "b = a", "c = c"],
		],
		["typeof module === 'object' && (module.exports = a);", ["= = a"]],
		[
			"typeof exports === 'object' ? (exports.a = a, exports.b = a) : (window.a = a);",
			["a = a", "b = a"],
		],
		["if (x) { exports.e = require('./e'); }", ["e = = from ./e"]],
		["if (x) { var b = 1; exports.b = b; }", ["b = b"]],
	])("CommonJS exports under a condition: %s", (source, exports) => {
		const facts = extractFacts("a.js", `function a() {}\n${source}`);
		expect(exportsOf(facts)).toEqual(exports);
		expect(facts.isModule).toBe(true);
	});

	test("a name of a block is not the one of the top level that it hides", () => {
		const facts = extractFacts(
			"a.js",
			"const a = 1, b = 2;\nif (x) { const a = 3; class b {} module.exports = a; exports.b = b; }",
		);
		expect(facts.exports.map((one) => one.kind === "local" && one.binding)).not.toContain(0);
		expect(placesOf(facts, "a")).toEqual(["1:7"]);
	});

	test("what is assigned to module.exports inside a function makes a module of unknown names", () => {
		const wrapped =
			"(function (root, factory) { if (typeof define === 'function' && define.amd) define(factory); else if (typeof module === 'object' && module.exports) module.exports = factory(); else root.x = factory(); })(this, function () { return {}; });";
		expect(extractFacts("a.js", wrapped)).toMatchObject({ isModule: true, exports: [] });
		const given = "(function (exports) { exports.a = 1; })(window.a = {});";
		expect(extractFacts("a.js", given)).toMatchObject({ isModule: false, exports: [] });
		expect(extractFacts("a.ts", wrapped)).toMatchObject({ isModule: false });
	});

	test("what compilers make of re-exports", () => {
		const facts = extractFacts(
			"a.js",
			`"use strict"; Object.defineProperty(exports, "__esModule", { value: true }); exports.a = void 0;
			const x_1 = require("./x"); Object.defineProperty(exports, "a", { enumerable: true, get: function () { return x_1.b; } });
			__exportStar(require("./y"), exports);`,
		);
		expect(exportsOf(facts)).toEqual(["a = b from ./x", "* from ./y"]);
	});

	test("a line break ends a line, and begins none at the end of a file", () => {
		const linesOf = (source: string) => extractFacts("a.ts", source).lines;
		expect(["", "\n", "a", "a\n", "a\nb", "a\r\nb\r\n", "a\n\n"].map(linesOf)).toEqual([
			...[0, 1, 1, 1, 2, 2, 2],
		]);
	});

	test("a file without imports and exports is global", () => {
		expect(extractFacts("a.ts", "const a = 1;").isModule).toBe(false);
		expect(extractFacts("a.ts", "import('./b');").isModule).toBe(false);
		expect(extractFacts("a.js", "require('./b');").isModule).toBe(true);
		expect(extractFacts("a.mts", "").isModule).toBe(true);
		expect(extractFacts("a.ts", "export = 1;").isModule).toBe(true);
	});
});
