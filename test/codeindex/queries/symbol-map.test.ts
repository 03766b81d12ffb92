import { describe, expect, test } from "vitest";
import { symbolMap } from "../../../src/codeindex/queries/symbol-map.ts";
import { fc } from "../../support/property.ts";
import { indexProject, type ProjectFiles } from "../memory-project.ts";

const files: ProjectFiles = {
	"src/log.ts": [
		"export class Log { #secret = 1; private inner = 2; level = 1; warn(text: string) { return text + this.#secret + this.inner; } }",
		"export function open(path: string): Log { return new Log(); }",
		"const internal = 1;",
	].join("\n"),
	"src/index.ts": "export * from './log';",
	"src/app.ts": "import { Log, open } from './index'; export const app: Log = open('x');",
	"src/other.ts": "import * as all from './index'; all.open('y'); export type Other = number;",
	"src/main.ts": "import './app';",
	"test/log.test.ts": "import { Log } from '../src/log'; export const fake = new Log();",
};

describe("the symbol map", () => {
	test("has a block for each file that declares exports, by path, with its users through barrels", () => {
		const map = symbolMap(indexProject(files), { budgetTokens: 1000 });
		expect(map.blocks.map(({ path, references }) => [path, references])).toEqual([
			["src/app.ts", 0],
			["src/log.ts", 3],
			["src/other.ts", 0],
		]);
		expect(map.blocks[1]?.text).toBe(
			"src/log.ts:\n  class Log\n    level, warn()\n  function open(path: string): Log\n",
		);
		// Files that declare no exports are not missing.
		expect(map.omittedFiles).toBe(0);
	});

	test("the most important files come first where the budget is small", () => {
		const map = symbolMap(indexProject(files), { budgetTokens: 25 });
		expect(map.blocks.map(({ path }) => path)).toEqual(["src/log.ts"]);
		expect(map.omittedFiles).toBeGreaterThanOrEqual(2);
	});

	test("files that are in view anyway are left out", () => {
		const map = symbolMap(indexProject(files), { budgetTokens: 1000, exclude: ["src/log.ts"] });
		expect(map.blocks.map(({ path }) => path)).toEqual(["src/app.ts", "src/other.ts"]);
	});

	test("minified files are left out, unless there is nothing else", () => {
		const minified = { "dist/a.min.js": "export const a=1,b=2;" };
		const pathsOf = (all: ProjectFiles) => {
			return symbolMap(indexProject(all), { budgetTokens: 1000 }).blocks.map(({ path }) => path);
		};
		expect(pathsOf({ ...files, ...minified })).toEqual(pathsOf(files));
		expect(pathsOf(minified)).toEqual(["dist/a.min.js"]);
	});

	test("the budget is never exceeded, and the same content gives the same text", () => {
		const reader = indexProject(files);
		const reversed = indexProject(Object.fromEntries(Object.entries(files).reverse()));
		fc.assert(
			fc.property(fc.nat(120), (budgetTokens) => {
				const map = symbolMap(reader, { budgetTokens });
				const sum = map.blocks.reduce((total, { tokens }) => total + tokens, 0);
				expect(sum).toBeLessThanOrEqual(budgetTokens);
				expect(symbolMap(reversed, { budgetTokens })).toEqual(map);
			}),
		);
	});

	test("a change of one file leaves the text of the others as it was", () => {
		const before = symbolMap(indexProject(files), { budgetTokens: 1000 });
		const more = {
			...files,
			"src/new.ts": "import { open } from './log'; export const z = open('z');",
		};
		const after = symbolMap(indexProject(more), { budgetTokens: 1000 });
		const textOf = new Map(after.blocks.map(({ path, text }) => [path, text]));
		for (const { path, text } of before.blocks) expect(textOf.get(path)).toBe(text);
	});
});
