import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { extractFacts } from "../../../src/codeindex/extract/extract.ts";
import { disagreements, placesOf } from "./support.ts";

/** Each source is compared with TypeScript for all of its top-level names. */
const SOURCES: Readonly<Record<string, string>> = {
	"functions and overloads": `
		export function f(a: string): void;
		export function f(a: number): void;
		export function f(a: unknown) { f(String(a)); }
		const g = (f: number) => f + 1;
		f(g(1)); [f].map(f); new (f as any)();`,
	"classes, heritage and decorators": `
		function dec(...a: any[]): any { return dec; }
		interface Shape { area(): number }
		abstract class Base<T> { abstract x: T }
		@dec @dec() export class Square extends Base<Shape> implements Shape {
			@dec x!: Shape; static self = Square; #base?: Base<Square>;
			constructor(@dec private shape: Shape, Base?: Shape) { super(); void Base; }
			area() { return this instanceof Square ? 1 : 0 }
		}
		const Inner = class Square extends Base<typeof Square> { other = Square };
		let s: Square = new Square(null!); void Inner;`,
	"merged interfaces, a type and a value of one name": `
		interface A { x: B } interface A { y: A["x"] } interface B extends A {}
		type Both = { a: Both }; const Both = { a: 1 } as unknown as Both; Both.a;
		class C {} interface C { m: C } namespace C { export const z = 1 } C.z; new C();`,
	"meanings: a type does not answer for a value": `
		interface Event { x: Event } function h(e: Event) { return new Event("x") as Event; }
		export function k<Event>(e: Event) { interface h { e: Event } const x: h = null!; return h(x as any); }`,
	"enums and namespaces": `
		export enum E { A, B = A, C = E.B | 2 } const enum F { A = E.A }
		namespace N { export const E = 1; export type T = F; E; namespace M { E; } export namespace O.P { export class Q {} } }
		namespace N { E; let t: T; O.P.Q; }
		declare namespace D { let v: N.T; const w: typeof N.E; }
		let e: E.A = E.A, f = F["A"], n: N.O.P.Q, d = D.v;`,
	"variables and patterns": `
		const key = "k", source: any = {};
		export const { a, b: c = a, [key]: d, ...rest } = source, [x, , { y }, ...z] = source;
		let v = 1; v = 2; v++; [v] = [3]; ({ v } = source); ({ a: v = a } = source); for (v of [1]) ; for (v in source) ;
		var w = 1; if (v) { var w = 2; var hoisted = w; } hoisted;
		function shadow(v: any, { a }: any = source, [c] = [d]) { v; a; c; let w; w; { let x = y; x; } return { a, x, y: y, rest, z }; }
		try { w; } catch (w) { w; } switch (v) { case 1: let v2 = v; default: let x = v2; x; }
		label: for (const label of z) { continue label; }`,
	"hoisted names and inner functions": `
		early(); function early() { late; return function early() { early; }; } const late = 1;
		function outer() { inner(); function inner() {} var late = () => late; return late; }
		const arrow = (early = late) => { var late = early; return late; };`,
	types: `
		type U<T> = T extends infer V ? V : never; type V = U<string>;
		type M<K extends string> = { [P in K as U<P>]: V } & { [key: string]: V };
		type Fn = <K extends V>(this: V, k: K, v: V) => asserts v is V; type Tup = [first: V, ...rest: U<V>[]];
		type Tpl = \`\${V}-x\`; type Q = typeof value; type Q2 = typeof value.deep; const value = { deep: 1 as const satisfies V };
		interface G<T = V> { new (x: T): G; (y: V): void; method<V>(v: V): V; readonly [Symbol.iterator]: V }
		function guard(x: unknown): x is V { return !!x; } let un: unique symbol; abstract class X { abstract get v(): V }
		let cast = <V>(<unknown>value); let inst = guard<V>; guard;`,
	"imports of every form": `
		import def, { named, other as renamed, type T1, default as again } from "./a"; import * as ns from "./b";
		import type { T2 } from "./c"; import type D2 from "./d"; import eq = require("./e"); import "./side";
		let t: T1 | T2 | D2 | ns.T3 | ns.deep.T4 | eq.T5; def(named, renamed, again); ns.a.b(); ns["c"]; eq(); eq.x; typeof ns;
		export { def, named as alias, ns }; export type { T1 }; export default renamed; { const named = ns; named; }`,
	"default exports": `export default function named() { named(); } named;`,
	"a default class": `export default class Named { x = Named; y!: Named }`,
	"an export assignment": `class Whole { w!: Whole } namespace Whole { export const x = 1 } export = Whole;`,
	"lists of exports": `const a = 1, b = 2; function c() {} export { a, b as bb, c as default }; export { a as again };`,
	"names in doc comments": `
		/** See {@link target}, {@linkcode Other.x} and {@link https://target}. */
		export function target() {} interface Other { x: 1 }
		/** @param {Other} o the other target @returns {target} */ function documented(o: any) {}
		/* {@link target} */ documented;`,
	"templates, tags and optional chains": `
		const tag: any = null; tag\`a \${tag} \${(tag: any) => tag}\`; tag?.x?.[tag]?.(tag); tag!.tag; ({ tag: tag, [tag]: 1, tag() {} });`,
	augmentations: `
		import { Foo } from "./foo"; interface Local { l: Foo }
		declare module "./foo" { interface Foo { added: Local } interface Own { o: Foo } }
		declare global { interface Window { local: Local } var g: Foo; } export const w: Foo = null!;`,
};

describe("references to the names of the top level", () => {
	test.each(Object.entries(SOURCES))("agree with TypeScript: %s", (_, source) => {
		expect(disagreements("/file.ts", source)).toEqual([]);
	});

	test("agree with TypeScript in JSX", () => {
		const source = `
			import * as ui from "./ui"; import React, { Button } from "./react";
			const button = 1; function Card({ title }: { title: string }) { return <div title={title}>{button}</div>; }
			const view = <Card title="x"><ui.Panel.Head button={button} {...button} /><Button<string>>text button</Button><button /></Card>;
			function inner(Card: any) { return <Card></Card>; } const generic = <T,>(x: T) => <React.Fragment>{x}</React.Fragment>;
			export { view, inner, generic };`;
		expect(disagreements("/file.tsx", source)).toEqual([]);
	});

	test("agree with TypeScript in plain JavaScript", () => {
		const source = `
			import { a } from "./a"; let x = a; class K { constructor() { this.x = x; } m() { return new K(this.x); } }
			/** @type {K} */ const typed = null; /** @param {import("./b").B} b */ function f(b, K) { return <K b={b} x={typed} />; }
			export { f }; export default x;`;
		expect(disagreements("/file.jsx", source)).toEqual([]);
	});

	test("agree with TypeScript in a declaration file", () => {
		const source = `
			export interface A { b: B } declare class B { a: A; static c: typeof d } declare const d: A; export as namespace Lib;
			declare function e(x: A): B; declare namespace N { interface I { a: A } function f(i: I): void; } export { e, N };`;
		expect(disagreements("/file.d.ts", source)).toEqual([]);
	});

	test("agree with TypeScript in this folder's own sources", { tags: "slow" }, () => {
		const folder = fileURLToPath(new URL("../../../src/codeindex/extract", import.meta.url));
		const files = globSync("*.ts", { cwd: folder });
		expect(files.length).toBeGreaterThan(10);
		const found = files.flatMap((file) =>
			disagreements(`/${file}`, readFileSync(join(folder, file), "utf8")),
		);
		expect(found).toEqual([]);
	});

	test("columns count UTF-16 units, and lines end with a line feed only", () => {
		const source = 'const é = "𝒳"; é;\r\n/* 𝒳 */ é;\u2028é;';
		expect(placesOf(extractFacts("a.ts", source), "é")).toEqual(["1:7", "1:17", "2:10", "2:13"]);
	});

	test("say how a name is used", () => {
		const source = `
			import { x, I } from "./x"; class A extends x implements I {}
			x(); new x(); x = 1; x\`\`; let a: x; typeof x; <x.y />; <X />; function X() {} export { A };`;
		const facts = extractFacts("a.tsx", source);
		const usages = facts.references.map(
			({ binding, usage }) => `${facts.bindings[binding]?.name} ${usage}`,
		);
		expect(usages).toEqual([
			...["x extends", "I implements", "x call", "x new", "x write", "x call", "x type", "x read"],
			...["x jsx", "X jsx"],
		]);
	});
});
