import { describe, expect, test } from "vitest";
import { impact } from "../../../src/codeindex/queries/index.ts";
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
			{ path: "src/core.ts", name: "used", kind: "function", files: 1, usages: 2 },
			{ path: "src/core.ts", name: "alone", kind: "function", files: 1, usages: 1 },
			{ path: "src/core.ts", name: "hidden", kind: "variable", files: 0, usages: 0 },
		]);
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
});
