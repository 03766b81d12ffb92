import { describe, expect, test } from "vitest";
import { impact } from "../../../src/codeindex/queries/impact.ts";
import { usages } from "../../../src/codeindex/queries/usages.ts";
import { indexProject } from "../memory-project.ts";

const reader = indexProject({
	"src/core.ts":
		"export function used() {}\nexport function alone() {}\nexport const hidden = 1;\n",
	"src/index.ts": "export * from './core';\n",
	"src/app.ts": "import { used } from './index';\nused(); used();\n",
	"src/page.ts": "import { alone } from './core';\nalone();\nexport const page = 1;\n",
	"src/site.ts": "import { page } from './page';\npage;\n",
	"src/loop-a.ts": "import './loop-b';\n",
	"src/loop-b.ts": "import './loop-a';\nimport './missing';\n",
	"src/folder/index.ts": "export const folder = 1;\n",
	"src/asker.ts": "import { folder } from './folder';\nfolder;\n",
	"test/page.test.ts": "import '../src/site';\n",
	"test/core.test.ts": "export {};\n",
	"test/helper.ts": "import '../src/core';\n",
});

describe("impact", () => {
	test("a change reaches everything that rests on the file, and names the exports that others use", () => {
		const answer = impact(reader, { modify: ["src/core.ts"] });
		expect(answer.affected.map(({ path, depth }) => `${depth} ${path}`)).toEqual([
			"1 src/index.ts",
			"1 src/page.ts",
			"1 test/helper.ts",
			"2 src/app.ts",
			"2 src/site.ts",
			"3 test/page.test.ts",
		]);
		expect(answer.symbols).toEqual([
			{ path: "src/core.ts", name: "used", kind: "function", usages: 3, files: 1, otherFiles: 1 },
			{ path: "src/core.ts", name: "alone", kind: "function", usages: 2, files: 1, otherFiles: 1 },
			{ path: "src/core.ts", name: "hidden", kind: "variable", usages: 0, files: 0, otherFiles: 0 },
		]);
	});

	test("of a member, what uses its owner is followed, and said so", () => {
		const project = indexProject({
			"store.ts": "export class Store { read() {} }\nexport function other() {}\n",
			"make.ts": "import { Store } from './store';\nexport const make = () => new Store();\n",
			"user.ts": "import { make } from './make';\nexport const text = make().read();\n",
			"page.ts": "import { other } from './store';\nother();\n",
		});
		const answer = impact(project, { modify: ["store.ts"], symbols: ["Store.read"] });
		expect(answer.affected.map(({ path }) => path)).toEqual(["make.ts", "user.ts"]);
		expect(answer.symbols.map(({ name }) => name)).toEqual(["Store"]);
		expect(answer.warnings).toEqual(["Store.read is a member: what uses Store is followed."]);
		const unknown = impact(project, { modify: ["store.ts"], symbols: ["Nothing.read"] });
		expect(unknown.warnings.join()).toContain("exports nothing named Nothing.read");
	});

	test("usages are as many as the question about usages finds, own file and imports included", () => {
		const own = indexProject({
			"src/a.ts":
				"export function twice(n: number) { return n > 9 ? n : twice(n * 2); }\nexport function alone() {}\nalone();\nexport default class {}\n",
			"src/barrel.ts":
				"export * from './a';\nexport { twice as again, default as Thing } from './a';\n",
			"src/b.ts":
				"import { twice, again, Thing } from './barrel';\ntwice(1); again(2); new Thing();\n",
			"test/a.test.ts": "import * as a from '../src/a';\na.twice(1);\n",
		});
		const { symbols } = impact(own, { modify: ["src/a.ts"] });
		expect(symbols.map(({ name }) => name).sort()).toEqual(["alone", "default", "twice"]);
		for (const { name, path, usages: count, files, otherFiles } of symbols) {
			const [found] = usages(own, { symbol: name, file: path }).definitions;
			const users = new Set(found?.usages.map((one) => one.path));
			expect([name, count, files]).toEqual([name, found?.usages.length, users.size]);
			expect(otherFiles).toBe(users.size - (users.has(path) ? 1 : 0));
		}
	});

	test("tests that exist are found by imports and by name; helpers are none", () => {
		expect(impact(reader, { modify: ["src/core.ts"] }).tests).toEqual([
			{ path: "test/core.test.ts", depth: 0, via: "name" },
			{ path: "test/page.test.ts", depth: 3, via: "import" },
		]);
	});

	test("where only some exports change, files that use others are not reached", () => {
		const answer = impact(reader, { modify: ["src/core.ts"], symbols: ["alone"] });
		expect(answer.affected.map(({ path }) => path)).toEqual([
			"src/page.ts",
			"src/site.ts",
			"test/page.test.ts",
		]);
		expect(answer.symbols.map(({ name }) => name)).toEqual(["alone"]);
	});

	test("a change of symbols is followed by symbol: through the bodies that use them", () => {
		const chain = indexProject({
			"src/a.ts":
				"export function one() {}\nexport function two() { helper(); }\nfunction helper() { one(); }\nexport function three() {}\n",
			"src/b.ts":
				"import { one } from './a';\nexport function usesOne() { one(); }\nexport function other() {}\n",
			"src/c.ts": "import { usesOne } from './b';\nexport const c = () => usesOne();\n",
			"src/d.ts": "import { other } from './b';\nexport const d = () => other();\n",
			"src/e.ts": "import { two } from './a';\nexport const e = two;\n",
			"src/f.ts": "import { three } from './a';\nthree();\n",
			"src/start.ts": "import { one } from './a';\none();\nexport const started = 1;\n",
			"src/g.ts": "import './start';\n",
			"test/c.test.ts": "import { c } from '../src/c';\nc();\n",
			"test/d.test.ts": "import { d } from '../src/d';\nd();\n",
		});
		const answer = impact(chain, { modify: ["src/a.ts"], symbols: ["one"] });
		expect(answer.affected.map(({ path, depth }) => `${depth} ${path}`)).toEqual([
			"1 src/b.ts",
			"1 src/e.ts",
			"1 src/start.ts",
			"2 src/c.ts",
			"2 src/g.ts",
			"3 test/c.test.ts",
		]);
		expect(answer.tests.map(({ path }) => path)).toEqual(["test/c.test.ts"]);
		expect(answer.summary).toContain(
			"Changing these symbols of 1 file reaches 6 files (3 directly) and 1 test. All of what they export reaches 9 files and 2 tests.",
		);
	});

	test("the summary says what is reached and why the risk is what it is", () => {
		expect(impact(reader, { modify: ["src/core.ts"] })).toMatchObject({
			risk: "low",
			summary:
				"Changing 1 file reaches 6 files (3 directly) and 2 tests. Risk low: little rests on it.",
		});
		expect(impact(reader, { modify: ["src/folder/index.ts"] })).toMatchObject({
			risk: "medium",
			summary:
				"Changing 1 file reaches 1 file (1 directly) and 0 tests. Risk medium: no test reaches it.",
		});
	});

	test("deleting what others import is a high risk, and every import that breaks is named", () => {
		const answer = impact(reader, { delete: ["src/page.ts"] });
		expect(answer.risk).toBe("high");
		expect(answer.warnings).toEqual(["src/site.ts:1 imports ./page, which will be gone."]);
		const both = impact(reader, { delete: ["src/page.ts", "src/site.ts", "test/page.test.ts"] });
		expect(both.warnings).toEqual([]);
	});

	test("a new file that stands before another, or that is asked for already, is told of", () => {
		expect(impact(reader, { create: ["src/folder.ts"] }).warnings).toEqual([
			'src/folder.ts may take the place of src/folder/index.ts for 1 file asking for "folder".',
		]);
		expect(impact(reader, { create: ["src/missing.ts"] }).warnings).toEqual([
			"src/missing.ts is asked for already, by 1 file: src/loop-b.ts.",
		]);
		expect(impact(reader, { create: ["src/core.ts"] }).warnings).toEqual([
			"src/core.ts exists already.",
		]);
	});

	test("a change of nothing but unknown paths is no change of low risk", () => {
		const unknown = "lib/core.ts is not in the index. Did you mean src/core.ts?";
		expect(() => impact(reader, { modify: ["lib/core.ts"] })).toThrow(unknown);
		expect(() => impact(reader, { delete: ["lib/core.ts", "b.ts"] })).toThrow(unknown);
		expect(impact(reader, { modify: ["lib/core.ts"], create: ["b.ts"] }).warnings).toContain(
			unknown,
		);
	});

	test("unknown paths and cycles are told of", () => {
		const answer = impact(reader, { modify: ["lib/core.ts", "src/loop-a.ts"] });
		expect(answer.warnings).toEqual([
			"lib/core.ts is not in the index. Did you mean src/core.ts?",
			"Import cycle of 2 files: src/loop-a.ts, src/loop-b.ts.",
		]);
	});

	describe("where only some exports change", () => {
		const partly = indexProject({
			"src/a.ts": "export const a1 = 1;\nexport const a2 = 2;\n",
			"src/b.ts": "export const b1 = 1;\n",
			"src/barrel.ts":
				"export * from './a';\nexport { b1 as b } from './b';\nimport { b1 } from './b';\nexport { b1 as again };\nexport * as all from './b';\n",
			"src/far.ts": "export * from './barrel';\n",
			"src/uses-a1.ts": "import { a1 } from './a';\nexport const x = a1;\n",
			"src/uses-a2.ts": "import { a2 } from './barrel';\na2;\n",
			"src/uses-a2-far.ts": "import * as far from './far';\nfar.a2;\n",
			"src/uses-b.ts": "import { b } from './barrel';\nb;\n",
			"src/uses-again.ts": "import { again } from './barrel';\nagain;\n",
			"src/uses-all.ts": "import { all } from './barrel';\nall.b1;\n",
			"src/uses-b1.ts": "import { b1 } from './b';\nb1;\n",
			"src/whole.js": "class Kept { static make() {} }\nmodule.exports = Kept;\n",
			"src/uses-whole.js": "const Kept = require('./whole');\nKept.make();\n",
			"test/x.test.ts": "import { x } from '../src/uses-a1';\nx;\n",
		});
		const affected = (query: Parameters<typeof impact>[1]) =>
			impact(partly, query).affected.map(({ path }) => path);

		test("a name that the file does not export is told of, and the whole file counts if there is no other", () => {
			const whole = impact(partly, { modify: ["src/b.ts"] });
			const answer = impact(partly, { modify: ["src/b.ts"], symbols: ["nosuch"] });
			expect(answer).toEqual({
				...whole,
				warnings: [
					"src/b.ts exports nothing named nosuch (it exports b1): all of the file is taken as changed.",
				],
			});
			const one = impact(partly, { modify: ["src/a.ts"], symbols: ["a1", "a1x", "a2x"] });
			expect(one.symbols.map(({ name }) => name)).toEqual(["a1"]);
			expect(one.warnings).toEqual([
				"src/a.ts exports nothing named a1x, a2x (it exports a1, a2).",
			]);
		});

		test("of several files, those that export none of the names count whole if a name is unknown", () => {
			const modify = ["src/a.ts", "src/b.ts"];
			expect(impact(partly, { modify, symbols: ["a1"] })).toMatchObject({ warnings: [] });
			const answer = impact(partly, { modify, symbols: ["a1", "bx"] });
			expect(answer.symbols.map(({ name }) => name)).toEqual(["b1", "a1"]);
			expect(answer.affected.map(({ path }) => path)).toContain("src/uses-b1.ts");
			expect(answer.warnings).toEqual([
				"src/b.ts exports nothing named bx (it exports b1): all of the file is taken as changed.",
			]);
		});

		test("a name that the file passes on counts for those who ask this file for it", () => {
			const modify = ["src/barrel.ts"];
			expect(affected({ modify, symbols: ["a2"] })).toEqual([
				"src/uses-a2-far.ts",
				"src/uses-a2.ts",
			]);
			expect(affected({ modify, symbols: ["b"] })).toEqual(["src/uses-b.ts"]);
			expect(affected({ modify, symbols: ["again"] })).toEqual(["src/uses-again.ts"]);
			expect(affected({ modify, symbols: ["all"] })).toEqual(["src/uses-all.ts"]);
			expect(impact(partly, { modify, symbols: ["a2"] })).toMatchObject({
				symbols: [{ path: "src/barrel.ts", name: "a2", kind: "variable", usages: 3, files: 2 }],
				warnings: [],
			});
			expect(impact(partly, { modify, symbols: ["nosuch"] }).warnings).toEqual([
				"src/barrel.ts exports nothing named nosuch (it exports a1, a2, again, all, b): all of the file is taken as changed.",
			]);
		});

		test("a name that could come from a package is known if someone asks for it", () => {
			const packages = indexProject({
				"a.ts": "export * from 'some-package';\nexport const own = 1;\n",
				"b.ts": "import { theirs, own } from './a';\ntheirs; own;\n",
			});
			const ask = (name: string) => impact(packages, { modify: ["a.ts"], symbols: [name] });
			expect(ask("theirs")).toMatchObject({ affected: [{ path: "b.ts" }], warnings: [] });
			expect(ask("thiers").warnings).toEqual([
				"a.ts exports nothing named thiers (it exports own): all of the file is taken as changed.",
			]);
		});

		test("a part of what a CommonJS file exports as a whole counts as the whole", () => {
			expect(affected({ modify: ["src/whole.js"], symbols: ["make"] })).toEqual([
				"src/uses-whole.js",
			]);
		});

		test("files that are deleted count whole", () => {
			const answer = impact(partly, {
				modify: ["src/b.ts"],
				delete: ["src/uses-a1.ts"],
				symbols: ["b1"],
			});
			expect(answer.affected.map(({ path }) => path)).toContain("src/uses-b1.ts");
			expect(answer.affected.map(({ path }) => path)).toContain("test/x.test.ts");
			expect(answer.tests).toEqual([{ path: "test/x.test.ts", depth: 1, via: "import" }]);
			expect(answer.symbols.map(({ name }) => name)).toEqual(["b1", "x"]);
		});
	});

	test("of a file whose names are global it is said that their uses are not followed", () => {
		const global = indexProject({
			"src/globals.d.ts": "declare const VERSION: string;\n",
			"src/script.ts": "console.log(1);\n",
			"src/user.ts": "export const v = VERSION;\n",
		});
		expect(impact(global, { modify: ["src/globals.d.ts"] })).toMatchObject({
			risk: "medium",
			summary:
				"Changing 1 file reaches no other file and 0 tests. Risk medium: who uses its global names is not known.",
			warnings: [
				"src/globals.d.ts: this file's top level is global: uses in other files are not followed.",
			],
		});
		expect(impact(global, { modify: ["src/script.ts"] })).toMatchObject({ warnings: [] });
		expect(impact(global, { modify: ["src/user.ts"] })).toMatchObject({ warnings: [] });
	});

	test("a file outside of the project is called that, whatever is to happen to it", () => {
		const outside = "../out.ts is outside of the project";
		for (const query of [
			{ create: ["../out.ts"] },
			{ modify: ["../out.ts"] },
			{ delete: ["../out.ts"] },
		]) {
			expect(() => impact(reader, query)).toThrow(outside);
			const answer = impact(reader, { ...query, create: [...(query.create ?? []), "src/new.ts"] });
			expect(answer.warnings).toEqual([`${outside}.`]);
			expect(answer.summary).toMatch(/^Creating 1 file /);
		}
	});
});
