import { describe, expect, test } from "vitest";
import { linkerOf } from "../../../src/codeindex/link/linker.ts";
import type { Entity } from "../../../src/codeindex/link/modules.ts";
import { importersOfSymbol, usagesOfSymbol } from "../../../src/codeindex/link/usages.ts";
import { indexProject, type ProjectFiles } from "../memory-project.ts";

function link(files: ProjectFiles) {
	const reader = indexProject(files);
	const linker = linkerOf(reader);
	const idOf = (path: string) => reader.fileAt(path)?.id as never;
	const show = (entity: Entity | undefined): string => {
		if (entity?.kind === "namespace") return `all of ${reader.files.get(entity.file)?.path}`;
		if (entity?.kind === "external") return `package ${entity.name}`;
		if (entity?.kind !== "declared" && entity?.kind !== "member") return entity?.kind ?? "nothing";
		const binding = reader.bindings(entity.file)[entity.binding];
		const member = entity.kind === "member" ? `.${linker.memberAt(entity)?.name}` : "";
		return `${reader.files.get(entity.file)?.path} ${binding?.name}${member}`;
	};
	return {
		reader,
		linker,
		idOf,
		exported: (path: string, name: string) => show(linker.resolveExport(idOf(path), name)),
		bound: (path: string, name: string) => {
			const binding = reader.bindings(idOf(path)).findIndex((one) => one.name === name);
			return show(linker.resolveBinding({ file: idOf(path), binding }));
		},
	};
}

describe("following exports", () => {
	test("a name is followed through re-exports, stars, aliases and imports to its declaration", () => {
		const { exported, bound } = link({
			"a.ts": "export const one = 1; export default function run() {}",
			"b.ts":
				"export * from './a'; export { default as start } from './a'; export * as all from './a';",
			"c.ts":
				"import { one as first, start, all } from './b'; export { first as last }; export default start; all;",
		});
		expect(exported("b.ts", "one")).toBe("a.ts one");
		expect(exported("b.ts", "default")).toBe("nothing");
		expect(exported("c.ts", "last")).toBe("a.ts one");
		expect(exported("c.ts", "default")).toBe("a.ts run");
		expect(bound("c.ts", "all")).toBe("all of a.ts");
	});

	test("chains that run in a circle end, and what they lead past is found all the same", () => {
		const { exported } = link({
			"a.ts": "export { x } from './b'; export * from './b';",
			"b.ts": "export { x } from './a'; export * from './a'; export * from './c';",
			"c.ts": "export * from './a'; export const found = 1;",
		});
		expect(exported("a.ts", "x")).toBe("unknown");
		expect(exported("b.ts", "x")).toBe("unknown");
		expect(exported("a.ts", "found")).toBe("c.ts found");
		expect(exported("a.ts", "missing")).toBe("nothing");
	});

	test("what was asked before does not change what a circle gives later", () => {
		const files = {
			"a.ts": "export * from './b';",
			"b.ts": "export * from './a'; export * from './c';",
			"c.ts": "export const found = 1;",
		};
		const first = link(files);
		expect([first.exported("a.ts", "found"), first.exported("b.ts", "found")]).toEqual([
			"c.ts found",
			"c.ts found",
		]);
		const second = link(files);
		expect([second.exported("b.ts", "found"), second.exported("a.ts", "found")]).toEqual([
			"c.ts found",
			"c.ts found",
		]);
	});

	test("what a package or a missing file exports is not guessed, and own files come before packages", () => {
		const { exported, bound } = link({
			"package.json": '{ "dependencies": { "pkg": "1" } }',
			"a.ts": "export * from 'pkg'; export * from './b'; export * from './gone';",
			"b.ts": "export const own = 1;",
			"c.ts":
				"import { own, other } from './a'; import { x } from 'pkg'; import { y } from './gone'; own; other; x; y;",
		});
		expect(exported("a.ts", "own")).toBe("b.ts own");
		expect(bound("c.ts", "other")).toBe("package pkg");
		expect(bound("c.ts", "x")).toBe("package pkg");
		expect(bound("c.ts", "y")).toBe("unknown");
	});

	test("a module that is one thing as a whole offers its members", () => {
		const { bound } = link({
			"whole.cjs": "const api = { run() {} };\nmodule.exports = api;\n",
			"user.mjs": "import api, { run } from './whole.cjs'; api; run;",
			"old.cjs": "const all = require('./whole.cjs'); all;",
		});
		expect(bound("user.mjs", "api")).toBe("whole.cjs api");
		expect(bound("user.mjs", "run")).toBe("whole.cjs api.run");
		expect(bound("old.cjs", "all")).toBe("whole.cjs api");
	});

	test("a thousand barrels one behind the other are followed", () => {
		const files: Record<string, string> = { "m0.ts": "export const deep = 1;" };
		for (let n = 1; n <= 1000; n++) files[`m${n}.ts`] = `export * from './m${n - 1}';`;
		expect(link(files).exported("m1000.ts", "deep")).toBe("m0.ts deep");
	});
});

describe("going backwards", () => {
	const { linker, reader, idOf } = link({
		"a.ts": "export const thing = 1; export const other = 2;",
		"barrel.ts": "export * from './a';",
		"named.ts": "import { thing } from './barrel'; thing;",
		"space.ts": "import * as all from './barrel'; all.thing;",
		"elsewhere.ts": "import * as all from './barrel'; all.other;",
		"global.ts": "const thing = 3; thing;",
	});
	const thing = { kind: "declared", file: idOf("a.ts"), binding: 0 } as const;
	const pathsOf = (files: Iterable<never>) => [...files].map((id) => reader.files.get(id)?.path);

	test("the importers of a symbol are the files that name it, not those that pass it on or name another", () => {
		expect(pathsOf(importersOfSymbol(linker, thing) as Iterable<never>)).toEqual([
			"named.ts",
			"space.ts",
		]);
	});

	test("a name of the same spelling elsewhere is no use of it", () => {
		const files = new Set(
			usagesOfSymbol(linker, thing)
				.all()
				.map(({ file }) => file as never),
		);
		expect(pathsOf(files)).toEqual(["named.ts", "space.ts"]);
	});
});

describe("modules that CommonJS passes on as a whole", () => {
	const usesOf = (files: ProjectFiles, path: string, name: string) => {
		const { linker, reader, idOf } = link(files);
		const binding = reader.bindings(idOf(path)).findIndex((one) => one.name === name);
		return usagesOfSymbol(linker, { kind: "declared", file: idOf(path), binding })
			.all()
			.map(({ file, at, kind }) => `${reader.files.get(file)?.path}:${at.join(":")} ${kind}`)
			.filter((use) => !use.startsWith(path));
	};
	const library = {
		"lib.js": "const a = 1;\nmodule.exports = { a };\n",
		"same.js": "module.exports = require('./lib');\n",
		"again.js": "module.exports = require('./same');\n",
		"part.js": "exports.lib = require('./lib');\n",
		"named.mjs":
			"export { a } from './same.js';\nexport { default as lib } from './lib.js';\nexport { default as same } from './same.js';\nexport * as all from './same.js';\n",
	};

	test.each([
		["const { a } = require('./same'); a;", ["user.js:1:9 import", "user.js:1:34 read"]],
		["const same = require('./same'); same.a;", ["user.js:1:38 read"]],
		["require('./again').a;", ["user.js:1:20 read"]],
		["const { a } = require('./again'); a;", ["user.js:1:9 import", "user.js:1:35 read"]],
		["require('./part').lib.a;", ["user.js:1:23 read"]],
		["const { lib } = require('./part'); lib.a;", ["user.js:1:40 read"]],
		["import same from './same.js'; same.a;", ["user.js:1:36 read"]],
		["import { a } from './same.js'; a;", ["user.js:1:10 import", "user.js:1:32 read"]],
		["import * as same from './same.js'; same.a;", ["user.js:1:41 read"]],
		["import { a } from './named.mjs'; a;", ["user.js:1:10 import", "user.js:1:34 read"]],
		["import { lib } from './named.mjs'; lib.a;", ["user.js:1:40 read"]],
		["import { same } from './named.mjs'; same.a;", ["user.js:1:42 read"]],
		["import { all } from './named.mjs'; all.a;", ["user.js:1:40 read"]],
	])("%s is a use of what is behind it", (text, uses) => {
		const found = usesOf({ ...library, "user.js": text }, "lib.js", "a");
		expect(found.filter((use) => use.startsWith("user.js"))).toEqual(uses);
	});

	test("a name passed on out of the whole is a use as well", () => {
		expect(usesOf(library, "lib.js", "a")).toEqual(["named.mjs:1:10 re-export"]);
	});

	test("the default import of a CommonJS file in ES syntax is all of it, unless it has a default", () => {
		const files = {
			"lib.cts": "export const a = 1;\n",
			"types.d.cts": "export declare const a: 1;\n",
			"own.cts": "export const a = 1;\nexport default { a: 2 };\n",
			"user.mts": "import lib from './lib.cjs'; lib.a;\nimport own from './own.cjs'; own.a;\n",
			"typed.mts": "import types from './types.cjs'; types.a;\n",
		};
		expect(usesOf(files, "lib.cts", "a")).toEqual(["user.mts:1:34 read"]);
		expect(usesOf(files, "types.d.cts", "a")).toEqual(["typed.mts:1:40 read"]);
		expect(usesOf(files, "own.cts", "a")).toEqual([]);
	});

	test("a part of a thing that is passed on as a whole is none of the thing", () => {
		const files = {
			"whole.js": "class Whole {}\nmodule.exports = Whole;\n",
			"same.js": "module.exports = require('./whole');\n",
			"user.js": "const Same = require('./same'); new Same(); Same.a;\n",
			"more.mjs": "export { default } from './same.js';\nexport { a } from './same.js';\n",
			"last.mjs": "import Last from './more.mjs'; new Last();\n",
		};
		expect(usesOf(files, "whole.js", "Whole")).toEqual([
			"user.js:1:7 import",
			"user.js:1:37 new",
			"user.js:1:45 read",
			"more.mjs:1:10 re-export",
			"last.mjs:1:8 import",
			"last.mjs:1:36 new",
		]);
	});
});

describe("members", () => {
	test("classes that extend each other, and types that name each other, end", () => {
		const { reader, linker, idOf } = link({
			"a.ts": [
				"export class A extends B { own() {} }",
				"export class B extends A { other() {} }",
				"export type X = Y; export type Y = X; declare const x: X;",
				"new A().missing(); new A().other(); x.none;",
			].join("\n"),
		});
		const file = idOf("a.ts") as never;
		const reached = [0, 1, 2, 3, 4].flatMap((binding) =>
			reader.references({ file, binding }).flatMap((reference) => {
				return linker.followSteps({ file, binding }, reference).map((entity) => entity.kind);
			}),
		);
		expect(reached).toEqual(["member"]);
	});
});
