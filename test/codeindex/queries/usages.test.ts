import { describe, expect, test } from "vitest";
import { usages } from "../../../src/codeindex/queries/usages.ts";
import { indexProject } from "../memory-project.ts";

const reader = indexProject({
	"log.ts": [
		"export class Log { warn(text: string) { return text; } }",
		"export class Quiet extends Log { override warn(text: string) { return super.warn(text); } }",
		"export function parse(text: string) { return text; }",
	].join("\n"),
	"other.ts": "function parse() {}\nparse();\nexport const settings = { warn: true };\n",
	"index.ts": "export { Log, parse as read } from './log';\n",
	"app.ts": [
		"import { Log, read } from './index';",
		"const log = new Log();",
		"log.warn(read('x'));",
		"export function run(anything: any) { anything.warn(); }",
	].join("\n"),
	"test/log.test.ts": "import { Log } from '../log';\nnew Log().warn('x');\n",
});

const places = (of: {
	usages: readonly { path: string; line: number; column: number; kind: string }[];
}) => of.usages.map(({ path, line, column, kind }) => `${path}:${line}:${column} ${kind}`);

describe("usages", () => {
	test("every thing of a name has a section of its own, exported ones first", () => {
		const { definitions } = usages(reader, { symbol: "parse" });
		expect(definitions.map(({ path, exported }) => [path, exported])).toEqual([
			["log.ts", true],
			["other.ts", false],
		]);
		expect(definitions.map(places)).toEqual([
			[
				"app.ts:1:15 import",
				"app.ts:3:10 call",
				"index.ts:1:15 re-export",
				"index.ts:1:24 re-export",
			],
			["other.ts:2:1 call"],
		]);
	});

	test("a member is found by its owner, with what overrides it and with what could not be followed", () => {
		const { definitions } = usages(reader, { symbol: "Log.warn" });
		expect(definitions).toHaveLength(1);
		const [warn] = definitions;
		expect(warn).toMatchObject({ path: "log.ts", line: 1, owner: "Log", kind: "method" });
		expect(warn && places(warn)).toEqual([
			"app.ts:3:5 call",
			"log.ts:2:43 declaration",
			"log.ts:2:77 call",
			"test/log.test.ts:2:11 call",
		]);
		expect(warn?.possible).toEqual({ count: 1, files: ["app.ts"], counts: [1] });
	});

	test("each use names the symbol around it, imports and uses at the top level do not", () => {
		const [warn] = usages(reader, { symbol: "Log.warn" }).definitions;
		expect(warn?.usages.map(({ path, line, within }) => [path, line, within])).toEqual([
			["app.ts", 3, undefined],
			["log.ts", 2, "Quiet.warn"],
			["log.ts", 2, "Quiet.warn"],
			["test/log.test.ts", 2, undefined],
		]);
		const around = indexProject({
			"a.ts": "export function used() {}\nexport class Box {\n\topen() {\n\t\tused();\n\t}\n}\n",
			"b.ts":
				"import { used } from './a';\nexport const list = [used];\nfunction outer() {\n\tused();\n}\nouter();\n",
		});
		const [used] = usages(around, { symbol: "used" }).definitions;
		expect(used?.usages.map(({ path, line, within }) => [path, line, within])).toEqual([
			["a.ts", 4, "Box.open"],
			["b.ts", 1, undefined],
			["b.ts", 2, "list"],
			["b.ts", 4, "outer"],
		]);
	});

	test("of a name with several definitions the most used one comes first", () => {
		const many = indexProject({
			"a.ts": "export class A { render() {} }\n",
			"b.ts": "export class B { render() {} }\nconst b = new B();\nb.render();\nb.render();\n",
			"c.ts": "export function render() {}\n",
			"test/d.ts": "export function render() {}\nrender();\nrender();\nrender();\n",
		});
		const { definitions } = usages(many, { symbol: "render" });
		expect(definitions.map(({ path }) => path)).toEqual(["b.ts", "c.ts", "a.ts", "test/d.ts"]);
	});

	test("a member names its family: the interface, and how many others implement it", () => {
		const family = indexProject({
			"part.ts": "export interface Part { draw(): void }\n",
			"a.ts": "import type { Part } from './part';\nexport class A implements Part { draw() {} }\n",
			"b.ts":
				"import type { Part } from './part';\nexport class B implements Part { draw() {} }\nexport class C extends B { draw() {} }\n",
		});
		const of = (symbol: string) => usages(family, { symbol }).definitions[0]?.family;
		expect(of("A.draw")).toEqual({
			above: [{ name: "Part.draw", path: "part.ts", line: 1 }],
			below: [],
			beside: 2,
		});
		expect(of("Part.draw")).toMatchObject({ above: [], below: [{ name: "A.draw" }, {}, {}] });
		expect(of("B.draw")).toMatchObject({ below: [{ name: "C.draw" }], beside: 1 });
		expect(usages(family, { symbol: "Part" }).definitions[0]).not.toHaveProperty("family");
	});

	test("a member of a plain object is not mixed with methods of the same name", () => {
		const { definitions } = usages(reader, { symbol: "warn" });
		expect(definitions.map(({ owner, path }) => `${owner} ${path}`)).toEqual([
			"Log log.ts",
			"Quiet log.ts",
			"settings other.ts",
		]);
		expect(definitions[2]?.usages).toEqual([]);
	});

	test("tests can be left out", () => {
		const [log] = usages(reader, { symbol: "Log", includeTests: false }).definitions;
		expect(log?.usages.map(({ path }) => path)).not.toContain("test/log.test.ts");
		expect(log?.usages.length).toBeGreaterThan(0);
	});

	test("a file that only imports the name or passes it on leads to the definition", () => {
		for (const [symbol, file] of [
			["parse", "log.ts"],
			["read", "index.ts"],
			["read", "app.ts"],
		] as const) {
			const { definitions } = usages(reader, { symbol, file });
			expect(definitions.map(({ path, line }) => `${path}:${line}`)).toEqual(["log.ts:3"]);
		}
	});

	test("a name that nothing bears comes with names that were perhaps meant", () => {
		expect(usages(reader, { symbol: "pasre" })).toEqual({
			symbol: "pasre",
			definitions: [],
			suggestions: ["parse"],
		});
		expect(usages(reader, { symbol: "Log.nothing" }).definitions).toEqual([]);
		expect(usages(reader, { symbol: "  " }).definitions).toEqual([]);
	});

	test("of a name with very many bearers a hundred are listed, and the rest counted", () => {
		const many = indexProject({
			"many.ts": Array.from({ length: 130 }, (_, n) => `export const o${n} = { id: ${n} };`).join(
				"\n",
			),
		});
		const answer = usages(many, { symbol: "id" });
		expect(answer.definitions).toHaveLength(100);
		expect(answer.omittedDefinitions).toBe(30);
	});

	test("a name of more than a thousand members is refused with what to ask instead", () => {
		const many = indexProject({
			"many.ts": Array.from({ length: 1200 }, (_, n) => `export const o${n} = { id: ${n} };`).join(
				"\n",
			),
		});
		expect(() => usages(many, { symbol: "id" })).toThrow(
			"1200 things have a member id: ask for Owner.id, or name the file.",
		);
		expect(usages(many, { symbol: "o7.id" }).definitions).toHaveLength(1);
	});

	test("private names are names", () => {
		const one = indexProject({
			"a.ts": "export class A { #own = 1; get() { return this.#own; } }",
		});
		for (const symbol of ["#own", "A.#own"]) {
			expect(usages(one, { symbol }).definitions[0]?.usages).toMatchObject([
				{ line: 1, column: 48 },
			]);
		}
	});

	test("of names of a file that is no module it is said that they are global", () => {
		const global = indexProject({
			"globals.d.ts": "interface Settings { depth: number }\n",
			"module.ts": "export let own: Settings;\nown.depth;\n",
		});
		for (const symbol of ["Settings", "Settings.depth"]) {
			expect(usages(global, { symbol }).definitions).toMatchObject([{ global: true }]);
		}
		expect(usages(global, { symbol: "own" }).definitions[0]).not.toHaveProperty("global");
	});

	test("a member that several parts of a union have is possible for each", () => {
		const shapes = indexProject({
			"shapes.ts": [
				"export interface Circle { radius: number; label: string }",
				"export interface Square { side: number; label: string }",
				"export type Shape = Circle | Square;",
			].join("\n"),
			"user.ts": [
				"import type { Shape } from './shapes';",
				"export const show = (shape: Shape) => shape.label;",
				"export const size = (shape: Shape) => ('side' in shape ? shape.side : shape.radius);",
			].join("\n"),
		});
		const { definitions } = usages(shapes, { symbol: "label" });
		expect(
			definitions.map(({ owner, usages: all, possible }) => [owner, all.length, possible]),
		).toEqual([
			["Circle", 0, { count: 1, files: ["user.ts"], counts: [1] }],
			["Square", 0, { count: 1, files: ["user.ts"], counts: [1] }],
		]);
		const [side] = usages(shapes, { symbol: "Square.side" }).definitions;
		expect(side && places(side)).toEqual(["user.ts:3:64 read"]);
	});
});

test("types that are parts of each other end the search for a member", () => {
	const memory = indexProject({
		"parts.ts": [
			'export type A = B["x"];',
			'export interface B { x: A["y"]; }',
			'export type C = D["x"]["y"];',
			'export interface D { x: { y: C["z"] }; z: C["x"]; found(): void; }',
		].join("\n"),
		"user.ts":
			"import type { A, C, D } from './parts';\nexport function use(a: A, c: C, d: D) { a.y.x; c.z.x.y; c.found(); d.found(); }\n",
	});
	for (const symbol of ["x", "y", "z"])
		expect(usages(memory, { symbol }).definitions).toBeDefined();
	const [found] = usages(memory, { symbol: "found" }).definitions;
	expect(found?.usages.map(({ column }) => column)).toEqual([70]);
	expect(found?.possible?.count).toBe(1);
});

test("a member of either of two values is possible if their types differ", () => {
	const memory = indexProject({
		"shapes.ts":
			"export class One { draw() {} }\nexport class Two { draw() {} }\nexport const range = { first: { day: 1 }, last: { day: 2 } };\n",
		"user.ts": [
			"import { One, range, Two } from './shapes';",
			"export function use(flag: boolean, one: One, other: One) {",
			"	(flag ? new One() : new Two()).draw();",
			"	const edge = flag ? range.first : range.last;",
			"	edge.day;",
			"	(flag ? one : other).draw();",
			"}",
		].join("\n"),
	});
	const certain = (symbol: string) =>
		usages(memory, { symbol }).definitions.map(({ usages, possible }) => [
			usages.map(({ line }) => line),
			possible?.count ?? 0,
		]);
	expect(certain("One.draw")).toEqual([[[6], 1]]);
	expect(certain("Two.draw")).toEqual([[[], 1]]);
	expect(certain("range.first.day")).toEqual([[[], 1]]);
});

test("a member of the object that is a module is used through imports of its name", () => {
	const memory = indexProject({
		"symbols.js": "const keys = { first: 1, second: 2 };\nmodule.exports = keys;\n",
		"user.js":
			'const { first, second: other } = require("./symbols");\nconsole.log(first, other);\n',
	});
	const certain = (symbol: string) =>
		usages(memory, { symbol }).definitions.map(({ usages }) =>
			usages.map(({ path, line, column }) => `${path}:${line}:${column}`),
		);
	expect(certain("keys.first")).toEqual([["user.js:1:9", "user.js:2:13"]]);
	expect(certain("keys.second")).toEqual([["user.js:1:16", "user.js:1:24", "user.js:2:20"]]);
});

test("keys within an object of a declared type are uses of that type's members", () => {
	const memory = indexProject({
		"config.ts":
			"export interface Server { port: number }\nexport interface Config { server: Server }\nexport const config: Config = { server: { port: 1 } };\n",
	});
	const [port] = usages(memory, { symbol: "Server.port" }).definitions;
	expect(port?.usages.map(({ line, column }) => [line, column])).toEqual([[3, 43]]);
});
