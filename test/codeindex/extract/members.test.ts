import { describe, expect, test } from "vitest";
import { extractFacts } from "../../../src/codeindex/extract/extract.ts";
import type { FileFacts, Member } from "../../../src/codeindex/facts.ts";
import { accesses } from "./support.ts";

function membersOf(facts: FileFacts, name: string): readonly Member[] {
	const found = facts.bindings.find((one) => one.name === name && one.kind === "declared");
	return (found?.kind === "declared" && found.members) || [];
}

function brief(members: readonly Member[]): string[] {
	return members.map(({ name, symbol, static: isStatic, members: inner }) =>
		[isStatic ? "static" : "", symbol, name, ...(inner ? [`{ ${brief(inner).join(", ")} }`] : [])]
			.filter((part) => part !== "")
			.join(" "),
	);
}

describe("members", () => {
	test("of classes: methods, fields, accessors, parameter properties, private and computed names", () => {
		const facts = extractFacts(
			"a.ts",
			`class A { #p = 1; static s = 2; f?: string; m(): void; m(x?: number) {} get g() { return 1 } set g(v) {} ["c"] = 1; h = () => 1;
			constructor(private readonly q: A, r: A) {} accessor t = 1; abstract u(): void; static { } [Symbol.iterator]() {} }`,
		);
		expect(brief(membersOf(facts, "A"))).toEqual([
			...["property #p", "static property s", "property f", "method m", "property g", "property c"],
			...["method h", "property q", "property t", "method u"],
		]);
		const overloaded = membersOf(facts, "A").find(({ name }) => name === "m");
		expect(overloaded).toMatchObject({ at: [1, 45], alsoAt: [[1, 56]], signature: "m(): void" });
	});

	test("of interfaces, type literals, enums, objects and namespaces", () => {
		const facts = extractFacts(
			"a.ts",
			`interface I { a: string; b(): I; c: () => I; d: { e: 1 } } interface I { f: I } type T = I & { g: 1 };
			enum E { X, "Y" } const o = { h: 1, i() {}, j: { k: 1 }, "l-m": 2, ...other } as const; const z = Object.freeze({ y: 1 });
			namespace N { export const n = 1; const hidden = 2; export function p(): I; export namespace Q { export class R { s() {} } } }`,
		);
		expect(brief(membersOf(facts, "I"))).toEqual([
			...["property a", "method b", "method c", "property d { static property e }", "property f"],
		]);
		expect(brief(membersOf(facts, "T"))).toEqual(["property g"]);
		expect(brief(membersOf(facts, "E"))).toEqual(["static enum X", "static enum Y"]);
		expect(brief(membersOf(facts, "o"))).toEqual([
			"static property h",
			"static method i",
			"static property j { static property k }",
			"static property l-m",
		]);
		expect(brief(membersOf(facts, "z"))).toEqual(["static property y"]);
		expect(brief(membersOf(facts, "N"))).toEqual([
			"static variable n",
			"static function p",
			"static namespace Q { static class R { method s } }",
		]);
	});

	test("of JavaScript classes: what the constructor assigns", () => {
		const facts = extractFacts(
			"a.js",
			`class A { constructor() { this.x = 1; this.f = () => this.x; } }`,
		);
		expect(brief(membersOf(facts, "A"))).toEqual(["property x", "method f"]);
		expect(accesses(facts)).toEqual(["A > x: read"]);
	});

	test("of JavaScript functions, classes and objects: what statements assign, with comments and the value's extent", () => {
		const facts = extractFacts(
			"a.js",
			`function Layer(path) { this.path = path; }
/** Whether it matches. More. */
Layer.prototype.match = function match(path) {
	return this.test(path);
};
Layer.create = Layer.make = function () { return new Layer(); };
Layer.prototype.match = null;
const app = exports = module.exports = Object.create(base);
app.use = function use(fn) { return this.get(fn); };
app.get = (a) => a;
class K { m() {} }
K.prototype.n = function () { this.m(); };
Object.assign(K.prototype, { o() {} });
Object.defineProperty(K, "p", { value: 1 });
query.fn = 1;
function query() {}
query.each = query.prototype = { one() {}, two: 2 };
exports.Cache = function () { this.size = 1; };
exports.Cache.prototype.clear = function () { return this.size; };`,
		);
		const layer = membersOf(facts, "Layer");
		expect(brief(layer)).toEqual([
			"property path",
			"method match",
			"static method create",
			"static method make",
		]);
		expect(layer[1]).toMatchObject({
			at: [3, 17],
			endLine: 5,
			signature: "Layer.prototype.match = function match(path)",
			doc: "Whether it matches.",
		});
		expect(brief(membersOf(facts, "app"))).toEqual(["static method use", "static method get"]);
		expect(brief(membersOf(facts, "K"))).toEqual([
			...["method m", "method n", "method o", "static property p"],
		]);
		expect(brief(membersOf(facts, "query"))).toEqual([
			...["static property fn", "static property each", "method one", "property two"],
		]);
		expect(brief(membersOf(facts, "Cache"))).toEqual(["property size", "method clear"]);
		expect(accesses(facts)).toEqual(
			expect.arrayContaining(["Layer > test: call", "app itself > get: call", "K > m: call"]),
		);
	});

	test("of what is not made in the file, or has a written type, are not declared by an assignment", () => {
		const source = `import { a } from "./a"; a.x = 1; let b; b.x = 1; const c = new Map(); c.x = 1; process.x = 1;
/** @type {Config} */
const d = {}; d.x = 1; const e = {}; e.__proto__ = a;`;
		const facts = extractFacts("a.js", source);
		for (const name of ["a", "b", "c", "d", "e"]) expect(membersOf(facts, name)).toEqual([]);
		const typed = extractFacts(
			"a.ts",
			"class A { static x: number } A.x = 1; const o = { y: 1 }; o.y = 2; const F: Fn = () => 1; F.z = 1; function G() {} G.w = 1;",
		);
		expect(brief(membersOf(typed, "A"))).toEqual(["static property x"]);
		expect(brief(membersOf(typed, "o"))).toEqual(["static property y"]);
		expect(brief(membersOf(typed, "F"))).toEqual([]);
		expect(brief(membersOf(typed, "G"))).toEqual(["static property w"]);
	});

	test("types are noted for variables, functions, fields and methods", () => {
		const facts = extractFacts(
			"a.ts",
			`import { Foo, make } from "./foo"; import * as ns from "./ns"; class A<T> extends Foo { foo: Foo | null = null; m(): Promise<ns.Bar> {} t!: T }
			const a = new A(), b: Readonly<Foo> = a, c = make(), d = ns.make(), e = () => new A(); function f(): InstanceType<typeof A> {}
			type Both = Foo & ns.Bar;`,
		);
		const types = facts.bindings.map((one) =>
			one.kind === "declared" ? (one.type ?? one.heritage) : undefined,
		);
		const [foo, make, ns, own] = [0, 1, 2, 3];
		expect(types).toEqual([
			...[undefined, undefined, undefined, [{ binding: foo, side: "instance" }]],
			{ binding: own, side: "instance" },
			{ binding: foo, side: "instance" },
			{ binding: make, side: "instance" },
			{ binding: ns, side: "value", path: [{ name: "make", called: true }] },
			{ binding: own, side: "instance" },
			{ binding: own, side: "instance" },
			[
				{ binding: foo, side: "instance" },
				{ binding: ns, side: "value", path: [{ name: "Bar", called: true }] },
			],
		]);
		expect(membersOf(facts, "A").map(({ type }) => type)).toEqual([
			{ binding: foo, side: "instance" },
			{ binding: ns, side: "value", path: [{ name: "Bar", called: true }] },
			undefined,
		]);
	});
});

const DECLARATIONS = `class Foo { a = 1; self(): Foo { return this } static make(): Foo { return new Foo() } other?: Foo; async later(): Promise<Foo> { return this } }
interface Bar { x: number; foo: Foo; list: Foo[] } const obj = { key: 1, deep: { er: 2 } }; declare function get(): Bar;
`;

describe("accesses", () => {
	test.each([
		["new Foo().a;", ["Foo > a: read"]],
		["Foo.make().self().a = 1;", ["Foo itself > make() > self() > a: write"]],
		["function f(foo: Foo) { foo.other?.self(); }", ["Foo > other > self: call"]],
		[
			"function f({ x, foo: { a } }: Bar) {}",
			["Bar > x: read", "Bar > foo: read", "Bar > foo? > a: read"],
		],
		["{ const f = new Foo(), g = f, { a } = g; g.a; }", ["Foo > a: read", "Foo > a: read"]],
		["{ const b = get(); b.foo.a; }", ["get > foo > a: read"]],
		["get().x;", ["get > x: read"]],
		["async () => (await new Foo().later()).a;", ["Foo > later() > a: read"]],
		["new Foo().later().then((foo) => foo.a);", ["Foo > later: call", "Foo > later?() > a: read"]],
		["obj.deep.er; obj['key'];", ["obj itself > deep > er: read", "obj itself > key: read"]],
		[
			"class Sub extends Foo { m() { super.self(); this.a; } static s() { return super.make(); } }",
			["Foo > self: call", "Sub > a: read", "Foo itself > make: call"],
		],
		["class C { #p = 1; has(o: C) { return #p in o && o.#p; } }", ["C > #p: read", "C > #p: read"]],
		[
			"class C { constructor(readonly foo: Foo) { foo.a; this.foo.a; } }",
			["C > foo > a: read", "C > foo > a: read"],
		],
		[
			"const bar: Bar = { x: 1, foo: new Foo(), list: [] };",
			["Bar > x: write", "Bar > foo: write", "Bar > list: write"],
		],
		[
			"const mk = (): Bar => ({ x: 1 }); function f(): Bar { return { x: 2 } }",
			["Bar > x: write", "Bar > x: write"],
		],
		[
			"function f(foos: readonly Foo[]) { for (const foo of foos) foo.a; foos.filter((o) => o.a).map(({ a }) => a); foos[0]?.self(); }",
			["Foo > a: read", "Foo > a: read", "Foo > a: read", "Foo > self: call"],
		],
		["const o = { v: 1, get() { return this.v; } };", ["o itself > v: read"]],
		[
			"let t: Bar['foo']; let u: Bar['foo']['a'];",
			["Bar > foo: type", "Bar > foo: type", "Bar > foo? > a: type"],
		],
		["function f<T extends Foo>(t: T) { t.a; }", ["Foo > a: read"]],
		["function f(x: any) { (x as Foo).a; (<Foo>x).a; }", ["Foo > a: read", "Foo > a: read"]],
		[
			"function f(this: Foo) { this.a; (() => this.a)(); (function () { this.a; })(); }",
			["Foo > a: read", "Foo > a: read"],
		],
	])("are found: %s", (source, expected) => {
		const before = accesses(extractFacts("a.ts", DECLARATIONS)).length;
		const facts = extractFacts("a.ts", DECLARATIONS + source);
		expect(facts.problem).toBeUndefined();
		expect(accesses(facts).slice(before)).toEqual(expected);
	});

	test("of something unknown are only counted, and those of the runtime are not", () => {
		const facts = extractFacts(
			"a.ts",
			`function f(x: any, y, s: string) { x.load(); y.load; y().z.load; s.trim(); console.log(Math.max()); [].map(f); "".length; new Map().get(1); const { load } = y; }`,
		);
		expect(Object.fromEntries(facts.looseAccesses)).toEqual({ load: 4, z: 1 });
	});

	test("keys of an object of unknown type are counted, those of a declared object are not", () => {
		const facts = extractFacts(
			"a.ts",
			`export const own = { first: { second: 1 } }; function f(list) { list.push({ third: 1, "fourth": { fifth() {} }, [list]: 2 }); }`,
		);
		expect(Object.fromEntries(facts.looseAccesses)).toEqual({
			push: 1,
			third: 1,
			fourth: 1,
			fifth: 1,
		});
	});

	test.each([
		[
			"a.ts",
			"export const t: Record<string, { deep: 1 }> = { key: { deep: 1 } };",
			["key", "deep"],
		],
		[
			"a.js",
			"/** @type {Record<string, Foo>} */ export const t = { a: { deep: 1 } };",
			["a", "deep"],
		],
		["a.js", "/** Plain. */ export const t = { a: { deep: 1 } };", []],
		[
			"a.tsx",
			`export const t = <Part size={1} {...rest} aria-label="x" />;`,
			["size", "aria-label"],
		],
		["a.ts", `export type T<P> = (P & { x: 1 })["left" | "right"];`, ["left", "right"]],
		[
			"a.js",
			`/** @param {import("./a").Foo["props"]} x @type {"plain"} */ function f(x) {}`,
			["props"],
		],
		["a.ts", "function f(list) { const [{ one }, { two } = {}] = list; }", ["one", "two"]],
	])("a form that may be a use is counted: %s %s", (path, source, expected) => {
		const facts = extractFacts(path, source);
		expect(facts.problem).toBeUndefined();
		expect([...facts.looseAccesses.keys()].sort()).toEqual(expected.toSorted());
	});

	test("longer chains than four are cut, and the rest counted", () => {
		const facts = extractFacts("a.ts", `import { a } from "./a"; a.b.c.d.e.f.g;`);
		expect(accesses(facts)).toEqual(["a itself > b > c > d > e: read"]);
		expect(Object.fromEntries(facts.looseAccesses)).toEqual({ f: 1, g: 1 });
	});
});
