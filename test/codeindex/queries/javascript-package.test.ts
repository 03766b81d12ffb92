import { describe, expect, test } from "vitest";
import { dependencies, taskContext } from "../../../src/codeindex/queries/dependencies.ts";
import { impact } from "../../../src/codeindex/queries/impact.ts";
import { search } from "../../../src/codeindex/queries/search.ts";
import { symbolMap } from "../../../src/codeindex/queries/symbol-map.ts";
import { usages } from "../../../src/codeindex/queries/usages.ts";
import { indexProject } from "../memory-project.ts";

/** A package in JavaScript with its types beside its entry, and tests that ask for it in several ways. */
const files = {
	"package.json": '{ "name": "page-reader", "main": "index.js", "types": "index.d.ts" }',
	"index.js":
		"var Reader = require('./Reader');\nvar isReadable = require('./Reader-readable');\n\nmodule.exports = {\n\tReader,\n\tisReadable,\n};\n",
	"index.d.ts":
		"import type { Options } from './types';\nexport function isReadable(page: string): boolean;\nexport class Reader {\n\tconstructor(page: string, options?: Options);\n\tparse(): string;\n}\n",
	"types.ts": "export interface Options {\n\tdepth: number;\n}\n",
	"Reader.js":
		"function Reader(page) {\n\tthis.page = page;\n}\n\nif (typeof module === 'object') {\n\tmodule.exports = Reader;\n}\n",
	"Reader-readable.js":
		"function isReadable(page) {\n\treturn page !== '';\n}\n\nif (typeof module === 'object') {\n\tmodule.exports = isReadable;\n}\n",
	"Parser.js":
		"(function (global) {\n\tglobal.Parser = function () {};\n})(this);\n\nif (typeof module === 'object') {\n\tmodule.exports = this.Parser;\n}\n",
	"test/test-reader.js":
		"var { Reader } = require('../index');\nvar Parser = require('../Parser');\nnew Reader(new Parser()).parse();\n",
	"test/test-readable.js": "var { isReadable } = require('../index.js');\nisReadable('x');\n",
	"test/test-direct.js": "var Reader = require('../Reader.js');\nnew Reader('x');\n",
};
const reader = indexProject(files);
const dependents = (path: string) =>
	dependencies(reader, { path }).dependents.map((one) => `${one.path} ${one.kinds.join()}`);

describe("a declaration file beside JavaScript stands for it", () => {
	test("what imports the module depends on the JavaScript, and on the declarations for their types", () => {
		expect(dependents("index.js")).toEqual([
			"test/test-readable.js require",
			"test/test-reader.js require",
		]);
		expect(dependents("index.d.ts")).toEqual([
			"test/test-readable.js type",
			"test/test-reader.js type",
		]);
		const needed = dependencies(reader, { path: "test/test-reader.js", depth: 2 }).dependencies;
		expect(needed.map(({ path, depth, kinds }) => `${depth} ${path} ${kinds.join()}`)).toEqual([
			"1 Parser.js require",
			"1 index.d.ts type",
			"1 index.js require",
			"2 Reader-readable.js require",
			"2 Reader.js require",
			"2 types.ts type",
		]);
	});

	test("a change reaches what imports the module, and the tests of it", () => {
		const { affected, tests, warnings } = impact(reader, { modify: ["Reader.js"] });
		expect(affected.map(({ path, depth }) => `${depth} ${path}`)).toEqual([
			"1 index.js",
			"1 test/test-direct.js",
			"2 test/test-readable.js",
			"2 test/test-reader.js",
		]);
		expect(tests.map(({ path }) => path)).toEqual([
			"test/test-direct.js",
			"test/test-readable.js",
			"test/test-reader.js",
		]);
		expect(warnings).toEqual([]);
		const both = ["index.js", "index.d.ts"].map((path) => impact(reader, { modify: [path] }));
		expect(both.map(({ tests }) => tests.length)).toEqual([2, 2]);
	});

	test("where only some exports change, files that use others are not reached", () => {
		const { affected, symbols } = impact(reader, { modify: ["Reader.js"], symbols: ["Reader"] });
		expect(affected.map(({ path }) => path)).toEqual([
			"index.d.ts",
			"index.js",
			"test/test-direct.js",
			"test/test-reader.js",
		]);
		const [found] = usages(reader, { symbol: "Reader" }).definitions;
		expect(symbols).toMatchObject([
			{ name: "Reader", usages: found?.usages.length, otherFiles: 4 },
		]);
	});

	test("a name that the module passes on counts for those who ask the module for it", () => {
		const { affected } = impact(reader, { modify: ["index.js"], symbols: ["Reader"] });
		expect(affected.map(({ path }) => path)).toEqual(["test/test-reader.js"]);
	});

	test("what a name means is one thing, used through either file", () => {
		const { definitions } = usages(reader, { symbol: "Reader" });
		expect(definitions).toHaveLength(1);
		expect(definitions[0]).toMatchObject({ path: "Reader.js", line: 1, exported: true });
		const places = (of = definitions[0]) =>
			of?.usages.map(({ path, line, kind }) => `${path}:${line} ${kind}`);
		expect(places()).toEqual([
			"Reader.js:6 re-export",
			"index.d.ts:3 declaration",
			"index.js:1 import",
			"index.js:5 re-export",
			"test/test-direct.js:1 import",
			"test/test-direct.js:2 new",
			"test/test-reader.js:1 import",
			"test/test-reader.js:3 new",
		]);
		const [declared] = usages(reader, { symbol: "Reader", file: "index.d.ts" }).definitions;
		expect(declared).toMatchObject({ path: "index.d.ts", line: 3 });
		expect(places(declared)).toEqual([
			"Reader.js:1 declaration",
			...(places() ?? []).filter((place) => !place.startsWith("index.d.ts")),
		]);
	});

	test("members are found by their types", () => {
		const { definitions } = usages(reader, { symbol: "Reader.parse" });
		expect(definitions).toMatchObject([
			{ path: "index.d.ts", line: 5, usages: [{ path: "test/test-reader.js", line: 3 }] },
		]);
	});

	test("a member that only the types have may be meant by what asks for the JavaScript itself", () => {
		const more = {
			...files,
			"test/test-parse.js":
				"new (require('../Reader.js'))('x').parse();\nvar R = require('../Reader');\nnew R('x').parse();\n",
		};
		const [parse] = usages(indexProject(more), { symbol: "Reader.parse" }).definitions;
		expect(parse?.usages.map(({ path }) => path)).toEqual(["test/test-reader.js"]);
		expect(parse?.possible?.files).toEqual(["test/test-parse.js"]);
	});

	test("members of a class and of its declaration are one", () => {
		const classes = indexProject({
			"page.mjs":
				"export class Page {\n\tprint() { return this.title(); }\n\ttitle() { return ''; }\n}\n",
			"page.d.mts": "export class Page {\n\tprint(): string;\n\ttitle(): string;\n}\n",
			"user.mjs": "import { Page } from './page.mjs';\nnew Page().title();\n",
		});
		const { definitions } = usages(classes, { symbol: "title" });
		expect(definitions).toHaveLength(1);
		expect(definitions[0]?.usages.map(({ path, line, kind }) => `${path}:${line} ${kind}`)).toEqual(
			["page.d.mts:3 declaration", "page.mjs:2 call", "user.mjs:2 call"],
		);
	});

	test("a task context and the map know its dependents", () => {
		const { targets, tests } = taskContext(reader, { files: ["index.js", "index.d.ts"] });
		expect(targets.map(({ path, dependentCount }) => [path, dependentCount])).toEqual([
			["index.js", 2],
			["index.d.ts", 2],
		]);
		expect(tests).toEqual(["test/test-readable.js", "test/test-reader.js"]);
		const { blocks } = symbolMap(reader, { budgetTokens: 1000 });
		expect(blocks.find(({ path }) => path === "Reader.js")?.references).toBe(3);
	});

	test("an import breaks with the JavaScript, not with the declarations", () => {
		expect(impact(reader, { delete: ["index.js"] }).warnings).toEqual([
			"test/test-readable.js:1 imports ../index.js, which will be gone.",
			"test/test-reader.js:1 imports ../index, which will be gone.",
		]);
		expect(impact(reader, { delete: ["index.d.ts"] })).toMatchObject({ warnings: [] });
		expect(impact(reader, { create: ["Reader.d.ts"] })).toMatchObject({ warnings: [] });
		expect(impact(reader, { create: ["index.ts"] }).warnings).toEqual([
			'index.ts may take the place of index.js for 1 file asking for "index".',
		]);
	});

	test("beside TypeScript it stands for nothing", () => {
		const typed = indexProject({
			"a.ts": "export const a = 1;\n",
			"a.d.ts": "export const a: number;\n",
			"a.js": "exports.a = 1;\n",
			"user.ts": "import { a } from './a';\na;\n",
		});
		const count = (path: string) => dependencies(typed, { path }).dependents.length;
		expect(["a.ts", "a.d.ts", "a.js"].map(count)).toEqual([1, 0, 0]);
	});

	test.each([
		["a.d.ts", "a.jsx", "./a"],
		["a.d.mts", "a.mjs", "./a.mjs"],
		["a.d.cts", "a.cjs", "./a.cjs"],
	])("%s stands for %s", (declaration, plain, specifier) => {
		const pair = indexProject({
			[declaration]: "export const a: number;\n",
			[plain]: "export const a = 1;\n",
			"user.mts": `import { a } from '${specifier}';\na;\n`,
			"barrel.mts": `export * from '${specifier}';\n`,
			"far.mts": "import { a } from './barrel.mjs';\na;\n",
		});
		const found = dependencies(pair, { path: plain }).dependents.map(({ path }) => path);
		expect(found).toEqual(["barrel.mts", "user.mts"]);
		const { definitions } = usages(pair, { symbol: "a" });
		expect(definitions.map(({ path }) => path)).toEqual([plain]);
		expect(definitions[0]?.usages.map(({ path, line }) => `${path}:${line}`)).toEqual([
			`${declaration}:1`,
			"far.mts:1",
			"far.mts:2",
			"user.mts:1",
			"user.mts:2",
		]);
	});

	test("a name that only the JavaScript exports is found, and so is one that only the types have", () => {
		const pair = indexProject({
			"a.d.ts": "export interface Options { depth: number }\n",
			"a.js": "exports.hidden = function hidden() {};\n",
			"user.ts":
				"import { hidden, type Options } from './a';\nhidden();\nexport const x: Options = { depth: 1 };\n",
		});
		for (const [symbol, count] of [
			["hidden", 2],
			["Options", 2],
		] as const) {
			expect(usages(pair, { symbol }).definitions.map((one) => one.usages.length)).toEqual([count]);
		}
	});

	test("the types of all of a CommonJS module may be called its default", () => {
		for (const types of [
			"declare class Whole {}\nexport = Whole;\n",
			"export default class Whole {}\n",
		]) {
			const pair = indexProject({
				"whole.d.ts": types,
				"whole.js": "class Whole {}\nmodule.exports = Whole;\n",
				"user.js": "const Whole = require('./whole');\nnew Whole();\n",
				"user.mjs": "import Whole from './whole.js';\nnew Whole();\n",
			});
			const { definitions } = usages(pair, { symbol: "Whole" });
			expect(definitions.map(({ path }) => path)).toEqual(["whole.js"]);
			const users = new Set(definitions[0]?.usages.map(({ path }) => path));
			expect([...users]).toEqual(["user.js", "user.mjs", "whole.d.ts", "whole.js"]);
		}
	});
});

describe("exports under a condition", () => {
	test("make a file a module, whose names are not global", () => {
		expect(dependencies(reader, { path: "Parser.js" })).not.toHaveProperty("global");
		expect(usages(reader, { symbol: "isReadable" }).definitions[0]).not.toHaveProperty("global");
	});
});

test("uses of what CommonJS exports are found if it is a variable as well", () => {
	const memory = indexProject({
		"app.js": "const App = module.exports = class { run() {} };\nApp.prototype;\n",
		"user.js": "const App = require('./app');\nnew App().run();\n",
	});
	const places = (symbol: string) =>
		usages(memory, { symbol }).definitions.map((one) =>
			one.usages.map(({ path, line, kind }) => `${path}:${line} ${kind}`),
		);
	expect(places("App")).toEqual([["app.js:2 read", "user.js:1 import", "user.js:2 new"]]);
	expect(places("App.run")).toEqual([["user.js:2 call"]]);
});

test("a search for a name gives only files that have it", () => {
	const answer = search(
		reader,
		{ query: "isReadable" },
		(path) => files[path as keyof typeof files],
	);
	expect(answer.hits.map(({ path }) => path).sort()).toEqual([
		"Reader-readable.js",
		"index.d.ts",
		"index.js",
		"test/test-readable.js",
	]);
});

describe("a module for several loaders", () => {
	const universal = indexProject({
		"lib.js": [
			"(function (root, factory) {",
			"	if (typeof define === 'function' && define.amd) define([], factory);",
			"	else if (typeof module === 'object' && module.exports) module.exports = factory();",
			"	else root.lib = factory();",
			"})(this, function () {",
			"	function parse() { return check(); }",
			"	function check() { return parse; }",
			"	return { parse: parse, check };",
			"});",
		].join("\n"),
		"whole.js":
			"(function (factory) { module.exports = factory(); })(function () {\n\tfunction Whole() {}\n\treturn Whole;\n});\n",
		"test/lib.test.js":
			"const { parse } = require('../lib');\nconst Whole = require('../whole');\nparse(); new Whole();\n",
	});
	const places = (symbol: string) =>
		usages(universal, { symbol }).definitions.map(({ path, line, usages }) => [
			`${path}:${line}`,
			...usages.map((one) => `${one.path}:${one.line}:${one.column} ${one.kind}`),
		]);

	test("exports what its factory returns", () => {
		expect(places("parse")).toEqual([
			[
				"lib.js:6",
				"lib.js:7:28 read",
				"lib.js:8:18 re-export",
				"test/lib.test.js:1:9 import",
				"test/lib.test.js:3:1 call",
			],
		]);
		expect(places("Whole")).toEqual([
			[
				"whole.js:2",
				"test/lib.test.js:2:7 import",
				"test/lib.test.js:3:14 new",
				"whole.js:3:9 re-export",
			],
		]);
	});

	test("reaches its tests by symbol", () => {
		const { tests } = impact(universal, { modify: ["lib.js"], symbols: ["check"] });
		expect(tests.map(({ path }) => path)).toEqual(["test/lib.test.js"]);
	});
});

describe("a package whose declarations are in another folder than its entry", () => {
	const library = {
		"package.json": '{ "name": "flags", "main": "./index.js", "types": "typings/index.d.ts" }',
		"index.js": "const { Flags } = require('./lib/flags.js');\nexports.Flags = Flags;\n",
		"lib/flags.js": "class Flags {\n\tread() {}\n}\nexports.Flags = Flags;\n",
		"typings/index.d.ts": "export class Flags {\n\tread(): void;\n}\n",
		"tests/flags.test.js": "const { Flags } = require('../');\nnew Flags().read();\n",
		"tests/whole.test.mjs": "import * as flags from '../index.js';\nnew flags.Flags();\n",
		"tests/types.test-d.ts":
			"import { Flags } from '..';\nexport const flags: Flags = new Flags();\n",
	};
	const index = indexProject(library);

	test("JavaScript that imports it depends on the entry, TypeScript on the declarations", () => {
		const importers = (path: string) =>
			dependencies(index, { path }).dependents.map((one) => one.path);
		expect(importers("index.js")).toEqual(["tests/flags.test.js", "tests/whole.test.mjs"]);
		expect(importers("typings/index.d.ts")).toEqual(["tests/types.test-d.ts"]);
	});

	test("tests and usages are those of the JavaScript", () => {
		const { tests } = impact(index, { modify: ["lib/flags.js"] });
		expect(tests.map(({ path }) => path)).toEqual(["tests/flags.test.js", "tests/whole.test.mjs"]);
		const [flags] = usages(index, { symbol: "Flags", file: "lib/flags.js" }).definitions;
		const files = flags?.usages.filter(({ kind }) => kind === "new").map(({ path }) => path);
		expect(files).toEqual(["tests/flags.test.js", "tests/whole.test.mjs"]);
	});

	test("a package of the workspace is found by its name in the same way", () => {
		const workspace = Object.fromEntries(
			Object.entries(library).map(([path, text]) => [`packages/flags/${path}`, text]),
		);
		const found = indexProject({
			...workspace,
			"package.json": '{ "workspaces": ["packages/*"] }',
			"packages/app/package.json": '{ "name": "app", "dependencies": { "flags": "*" } }',
			"packages/app/main.js": "const { Flags } = require('flags');\nnew Flags();\n",
			"packages/app/types.ts": "import type { Flags } from 'flags';\nexport type F = Flags;\n",
		});
		const needs = (path: string) =>
			dependencies(found, { path }).dependencies.map((one) => one.path);
		expect(needs("packages/app/main.js")).toEqual(["packages/flags/index.js"]);
		expect(needs("packages/app/types.ts")).toEqual(["packages/flags/typings/index.d.ts"]);
	});
});

describe("tests that are not named like tests", () => {
	const project = {
		"index.js": "module.exports = require('./lib/app');\n",
		"lib/app.js": "module.exports = function app() {};\n",
		"test/app.js":
			"require('./support/env');\nvar app = require('..');\nvar pages = require('./pages');\n",
		"test/pages.js": "module.exports = require('../lib/app');\n",
		"test/support/env.js": "require('../..');\n",
		"test/support/late.js": "require('../..');\n",
	};

	test("are those of a test folder that nothing imports, without helpers", () => {
		const { tests } = impact(indexProject(project), { modify: ["lib/app.js"] });
		expect(tests.map(({ path }) => path)).toEqual(["test/app.js"]);
	});

	test("are helpers where other files of the folder have such names", () => {
		const named = { ...project, "test/app.test.js": "require('..');\n" };
		const { tests } = impact(indexProject(named), { modify: ["lib/app.js"] });
		expect(tests.map(({ path }) => path)).toEqual(["test/app.test.js"]);
	});
});
