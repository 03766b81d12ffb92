import { describe, expect, test } from "vitest";
import { CodeIndexError } from "../../../src/codeindex/code-index.ts";
import { dependencies } from "../../../src/codeindex/queries/dependencies.ts";
import { indexProject } from "../memory-project.ts";

const reader = indexProject({
	"package.json": '{ "dependencies": { "react": "1" } }',
	"core.ts": "export const core = 1; export type Core = number;",
	"barrel.ts": "export * from './core';",
	"types.ts": "import type { Core } from './core'; export type T = Core;",
	"app.ts": "import { core } from './barrel'; import './types'; core;",
	"main.ts": "import './app'; import fs from 'node:fs'; import 'react'; import './gone'; fs;",
	"lazy.ts": "export const load = () => import('./core');",
	"test/core.test.ts": "import { core } from '../core'; core;",
});

describe("dependencies", () => {
	test("dependents are listed by depth and path, with how the nearest step asks and over which file", () => {
		expect(dependencies(reader, { path: "core.ts", depth: 3 }).dependents).toEqual([
			{ path: "barrel.ts", depth: 1, kinds: ["re-export"], isTest: false },
			{ path: "lazy.ts", depth: 1, kinds: ["dynamic"], isTest: false },
			{ path: "test/core.test.ts", depth: 1, kinds: ["value"], isTest: true },
			{ path: "types.ts", depth: 1, kinds: ["type"], isTest: false },
			{ path: "app.ts", depth: 2, kinds: ["value"], isTest: false, via: "barrel.ts" },
			{ path: "main.ts", depth: 3, kinds: ["side-effect"], isTest: false, via: "app.ts" },
		]);
	});

	test("only as deep as asked for, in the direction asked for", () => {
		const answer = dependencies(reader, { path: "app.ts", direction: "dependencies" });
		expect(answer.dependents).toEqual([]);
		expect(answer.dependencies.map(({ path }) => path)).toEqual(["barrel.ts", "types.ts"]);
	});

	test("types and tests can be left out, and nothing is reached through them", () => {
		const kinds = ["value", "re-export", "dynamic", "side-effect"] as const;
		const answer = dependencies(reader, { path: "core.ts", depth: 3, kinds, includeTests: false });
		expect(answer.dependents.map(({ path }) => path)).toEqual([
			"barrel.ts",
			"lazy.ts",
			"app.ts",
			"main.ts",
		]);
	});

	test("packages and imports that lead nowhere are named", () => {
		const answer = dependencies(reader, { path: "main.ts" });
		expect(answer.external).toEqual(["node:fs", "react"]);
		expect(answer.unresolved).toEqual([{ specifier: "./gone", line: 1 }]);
	});

	test("cycles of the file come first, then those of files nearby", () => {
		const cyclic = indexProject({
			"a.ts": "import './b';",
			"b.ts": "import './a'; import './x';",
			"x.ts": "import './y';",
			"y.ts": "import './x';",
		});
		expect(dependencies(cyclic, { path: "b.ts" }).cycles).toEqual([
			["a.ts", "b.ts"],
			["x.ts", "y.ts"],
		]);
	});

	test("an unknown file is an error that names similar ones", () => {
		const ask = () => dependencies(reader, { path: "src/core.js" });
		expect(ask).toThrow(CodeIndexError);
		expect(ask).toThrow("src/core.js is not in the index. Did you mean core.ts?");
	});

	test("of a file that is no module it is said that its names are global", () => {
		const global = indexProject({
			"globals.ts": "var shared = 1;\n",
			"module.ts": "export const own = shared;\n",
		});
		expect(dependencies(global, { path: "globals.ts" }).global).toBe(true);
		expect(dependencies(global, { path: "module.ts" })).not.toHaveProperty("global");
	});
});
