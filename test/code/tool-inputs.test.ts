import { describe, expect, test } from "vitest";
import { projectPaths } from "../../src/code/outline.ts";
import {
	depsInput,
	impactQuery,
	searchInput,
	searchQuery,
	taskContextInput,
	usagesInput,
} from "../../src/code/tool-inputs.ts";

const find = (path: string) => path;

describe("the defaults are those of the specification", () => {
	test("of kota_search", () => {
		expect(searchInput({ query: " auth " })).toEqual({
			query: "auth",
			scope: ["code"],
			output: "compact",
			limit: 15,
			contextLines: 1,
			filters: {},
		});
	});

	test("of kota_deps, kota_usages and kota_task_context", () => {
		expect(depsInput({ file_path: "a.ts" }, find)).toEqual({
			path: "a.ts",
			direction: "both",
			depth: 1,
			includeTests: false,
		});
		expect(usagesInput({ symbol: "x" }, find)).toEqual({ symbol: "x", includeTests: false });
		expect(taskContextInput({ files: ["a.ts"] }, find)).toEqual({
			files: ["a.ts"],
			includeTests: true,
			includeSymbols: false,
			maxImpactedFiles: 20,
		});
	});
});

describe("the hard caps", () => {
	test("lower what is too much, and raise what is too little", () => {
		const search = (limit: number, context_lines: number) => {
			const input = searchInput({ query: "x", limit, context_lines });
			return [input.limit, input.contextLines];
		};
		expect(search(1000, 1000)).toEqual([50, 5]);
		expect(search(-3, -3)).toEqual([1, 0]);
		expect(search(2.7, 2.7)).toEqual([2, 2]);
		expect(search(Number.NaN, Number.POSITIVE_INFINITY)).toEqual([15, 5]);
		expect(depsInput({ file_path: "a.ts", depth: 99 }, find).depth).toBe(3);
		expect(
			taskContextInput({ files: ["a.ts"], max_impacted_files: 1e9 }, find).maxImpactedFiles,
		).toBe(200);
	});

	test("refuse more files than one question can be about", () => {
		const files = Array.from({ length: 51 }, (_, at) => `f${at}.ts`);
		expect(() => taskContextInput({ files }, find)).toThrow(/51 files are too many/);
	});
});

test("only what is shown is looked up: no lines for paths, none around them for compact", () => {
	const contextLines = (output: "paths" | "compact" | "snippet") =>
		searchQuery(searchInput({ query: "x", output, context_lines: 3 })).contextLines;
	expect([contextLines("paths"), contextLines("compact"), contextLines("snippet")]).toEqual([
		undefined,
		0,
		3,
	]);
});

test("filters reach the index by its own names", () => {
	const filters = {
		glob: "src/**",
		exclude: ["**/gen/**"],
		language: "typescript" as const,
		symbol_kind: ["class" as const],
		exported_only: true,
		include_tests: false,
	};
	expect(searchQuery(searchInput({ query: "x", filters }))).toMatchObject({
		glob: "src/**",
		exclude: ["**/gen/**"],
		language: "typescript",
		symbolKinds: ["class"],
		exportedOnly: true,
		includeTests: false,
	});
});

describe("a call that asks nothing", () => {
	test.each([
		["an empty query", () => searchInput({ query: "  " }), /query is empty/],
		["an empty symbol", () => usagesInput({ symbol: "" }, find), /symbol is empty/],
		["an empty path", () => depsInput({ file_path: " " }, find), /file_path is empty/],
		["no files", () => taskContextInput({ files: [" "] }, find), /at least one path/],
		[
			"no change",
			() => impactQuery({ change_type: "fix", files_to_modify: [] }, find),
			/files_to_modify/,
		],
	])("%s is refused with what to do", (_name, call, message) => {
		expect(call).toThrow(message);
	});
});

test("files named twice count once", () => {
	expect(
		impactQuery({ files_to_modify: ["a.ts", " a.ts"], files_to_delete: ["b.ts"] }, find),
	).toEqual({
		modify: ["a.ts"],
		create: [],
		delete: ["b.ts"],
	});
});

describe("paths", () => {
	const there = new Set([
		"/project/packages/web/src/a.ts",
		"/project/src/b.ts",
		"/project/@scope/c.ts",
	]);
	const paths = projectPaths("/project", "/project/packages/web", (path) => there.has(path));

	test.each([
		["src/a.ts", "packages/web/src/a.ts"],
		["./src/a.ts", "packages/web/src/a.ts"],
		["@src/a.ts", "packages/web/src/a.ts"],
		["/project/src/b.ts", "src/b.ts"],
		["src/b.ts", "src/b.ts"],
		["@scope/c.ts", "@scope/c.ts"],
		["src/new.ts", "packages/web/src/new.ts"],
		["../../../etc/passwd", "../etc/passwd"],
		["/etc/passwd", "../etc/passwd"],
	])("%s is %s in the index", (given, expected) => {
		expect(paths.find(given)).toBe(expected);
	});

	test.each([
		["/", "project/src/b.ts"],
		["/elsewhere/deep", "../../project/src/b.ts"],
	])("from %s, outside the project, a path leads into it: %s", (cwd, shown) => {
		expect(projectPaths("/project", cwd, () => true).show("src/b.ts")).toBe(shown);
	});

	test("what is shown is found again", () => {
		for (const path of ["packages/web/src/a.ts", "src/b.ts"]) {
			expect(paths.find(paths.show(path))).toBe(path);
		}
	});
});
