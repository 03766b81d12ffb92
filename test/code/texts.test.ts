/** How each tool's answer reads. */
import { describe, expect, test } from "vitest";
import { depsForms, impactForms, taskContextForms } from "../../src/code/files-text.ts";
import { buildText, progressText, statusText } from "../../src/code/index-text.ts";
import {
	COMMAND_ADVICE,
	coverageLine,
	fitText,
	type Outline,
	projectPaths,
	wholeText,
} from "../../src/code/outline.ts";
import { searchForms, usagesForms } from "../../src/code/symbols-text.ts";
import type { ToolCalls } from "../../src/code/tool-definitions.ts";
import {
	depsInput,
	searchInput,
	taskContextInput,
	usagesInput,
} from "../../src/code/tool-inputs.ts";
import type {
	DependenciesAnswer,
	ImpactAnswer,
	SearchAnswer,
	TaskContextAnswer,
	UsagesAnswer,
} from "../../src/codeindex/answers.ts";
import { coverage, file, NOW, symbol, usage } from "./fake-index.ts";

const paths = projectPaths("/project", "/project", () => true);
const find = (path: string) => path;

/** The texts of all forms, the fullest first. */
function texts(forms: readonly (() => Outline)[]): string[] {
	return forms.map((form) => wholeText(form()));
}

function lines(text = ""): string[] {
	return text.split("\n");
}

describe("kota_search", () => {
	const answer: SearchAnswer = {
		hits: [
			{
				path: "src/open.ts",
				isTest: false,
				symbols: [symbol("openThing", { line: 12 })],
				lines: [
					{
						first: 11,
						text: ["/** Opens. */", "export function openThing(): void {", "\tcall();"],
						matches: [12],
					},
					{ first: 39, text: ["", "\topenThing();", "}"], matches: [40] },
				],
				matchingLines: 2,
			},
			{
				path: "test/open.test.ts",
				isTest: true,
				symbols: [],
				lines: [{ first: 8, text: ["  it opens things"], matches: [8] }],
				matchingLines: 3,
			},
		],
		total: 31,
		coverage: coverage(),
	};
	const forms = (call: Partial<ToolCalls["kota_search"]>, given = answer) =>
		texts(searchForms(given, searchInput({ query: "open thing", ...call }), paths));

	test("compact shows under each path what it declares, or else a line that matches", () => {
		expect(lines(forms({})[0])).toEqual([
			'2 of 31 files for "open thing", best first',
			"src/open.ts",
			"  12 export function openThing(): void",
			"test/open.test.ts (test)",
			"  8: it opens things  (+2 lines)",
		]);
	});

	test("documents stand apart, below the code", () => {
		const documents = [
			{
				path: "README.md",
				isTest: false,
				symbols: [],
				lines: [{ first: 3, text: ["Opens things."], matches: [3] }],
				matchingLines: 1,
			},
		];
		expect(lines(forms({}, { ...answer, documents })[0]).slice(-3)).toEqual([
			"documents and settings (1):",
			"README.md",
			"  3: Opens things.",
		]);
		const [only] = forms({}, { ...answer, hits: [], total: 0, documents });
		expect(lines(only)[0]).toBe('0 files for "open thing", best first');
	});

	test("snippet shows the lines around, and what matches in them", () => {
		expect(lines(forms({ output: "snippet" })[0]).slice(1, 10)).toEqual([
			"src/open.ts",
			"  12 export function openThing(): void",
			"  11- /** Opens. */",
			"  12: export function openThing(): void {",
			"  13- \tcall();",
			"  --",
			"  39- ",
			"  40: \topenThing();",
			"  41- }",
		]);
	});

	test("snippets fall back to matching lines, then compact, then names, then paths", () => {
		const all = forms({ output: "snippet" });
		expect(all).toHaveLength(6);
		for (const [at, text] of all.entries()) {
			const next = all[at + 1];
			if (next) expect(Buffer.byteLength(next)).toBeLessThanOrEqual(Buffer.byteLength(text));
		}
		expect(lines(all[4]).slice(1)).toEqual([
			"src/open.ts  openThing:12",
			"test/open.test.ts (test)  line 8",
		]);
		expect(lines(all.at(-1)).slice(1)).toEqual(["src/open.ts", "test/open.test.ts (test)"]);
		expect(forms({ output: "paths" })).toEqual([all.at(-1)]);
	});

	test("an empty answer says why and what to try", () => {
		const empty = { ...answer, hits: [], total: 0 };
		expect(forms({}, empty)[0]).toMatch(/Nothing matches "open thing"\..*Try with scope .* fewer/s);
		expect(forms({ filters: { glob: "x/**" } }, empty)[0]).toMatch(
			/within the filters.*without filters/s,
		);
		expect(forms({}, { ...empty, coverage: coverage({ files: 0 }) })[0]).toMatch(
			/^The project has no source files in a language that is indexed/,
		);
		expect(forms({}, { ...empty, coverage: coverage({ files: 0, complete: false }) })[0]).toMatch(
			/^Nothing is indexed yet/,
		);
	});

	test("files that only have parts of a name are not passed off as having it", () => {
		const [text] = forms({ query: "openThings" }, { ...answer, inexact: true });
		expect(lines(text)[0]).toBe(
			'No file contains "openThings"; 2 of 31 files with parts of it, best first',
		);
	});

	test("a line of a minified file is shortened", () => {
		const hit = {
			path: "a.js",
			isTest: false,
			symbols: [],
			lines: [{ first: 1, text: ["x".repeat(5_000_000)], matches: [1] }],
		};
		const [text = ""] = forms({ output: "snippet" }, { ...answer, hits: [hit] });
		expect(Buffer.byteLength(text)).toBeLessThan(400);
	});

	test("of one more line it says line", () => {
		const [hit] = answer.hits.slice(1);
		const two = hit ? [{ ...hit, matchingLines: 2 }] : [];
		expect(forms({}, { ...answer, hits: two })[0]).toContain("it opens things  (+1 line)");
	});
});

describe("kota_deps", () => {
	const answer: DependenciesAnswer = {
		file: "src/a.ts",
		dependents: [
			file("src/ui/b.ts"),
			file("src/ui/c.ts", { kinds: ["type", "re-export"] }),
			file("test/a.test.ts", { isTest: true }),
			file("src/main.ts", { depth: 2, via: "src/ui/b.ts" }),
		],
		dependencies: [file("src/d.ts")],
		cycles: [["src/a.ts", "src/d.ts"]],
		unresolved: [{ specifier: "./gone.ts", line: 4 }],
		external: ["node:fs", "typebox"],
		coverage: coverage(),
	};
	const input = (call: Partial<ToolCalls["kota_deps"]> = {}) =>
		depsInput({ file_path: "src/a.ts", depth: 2, ...call }, find);

	test("shows both directions by depth, how each file asks, cycles, packages and what leads nowhere", () => {
		const [text] = texts(depsForms(answer, input(), paths));
		expect(lines(text)).toEqual([
			"src/a.ts: 4 dependents, 1 dependency (depth 2)",
			"dependents (3):",
			"  src/ui/b.ts  value",
			"  src/ui/c.ts  type, re-export",
			"  test/a.test.ts (test)  value",
			"dependents at depth 2 (1):",
			"  src/main.ts  value via src/ui/b.ts",
			"dependencies (1):",
			"  src/d.ts  value",
			"cycles (1):",
			"  src/a.ts, src/d.ts",
			"imports that lead nowhere (1):",
			"  ./gone.ts  line 4",
			"packages (2):",
			"  node:fs, typebox",
		]);
	});

	test("a briefer form writes each folder once", () => {
		const [, text] = texts(depsForms(answer, input(), paths));
		expect(text).toContain("  src/ui/: b.ts, c.ts\n  test/: a.test.ts");
	});

	test("the briefest has numbers by folder", () => {
		const text = texts(depsForms(answer, input(), paths)).at(-1);
		expect(text).toContain("dependents by folder:\n  src/ui/  2 files\n");
	});

	test("one direction leaves the other out", () => {
		const [text] = texts(depsForms(answer, input({ direction: "dependents" }), paths));
		expect(text).toContain("4 dependents (depth 2)");
		expect(text).not.toMatch(/dependencies|packages|nowhere/);
	});

	test("a file that nobody imports is explained", () => {
		const alone = { ...answer, dependents: [], dependencies: [] };
		const [text] = texts(depsForms(alone, input(), paths));
		expect(text).toMatch(/No file of the project imports it.*include_tests/);
		expect(text).toContain("It imports no file of the project, only 2 packages.");
		const [all] = texts(depsForms(alone, input({ include_tests: true }), paths));
		expect(all).not.toContain("include_tests");
	});

	test("one is one: a single dependent is not called dependents", () => {
		const [only] = answer.dependents;
		const one = { ...answer, dependents: only ? [only] : [], dependencies: [file("src/x.ts")] };
		const [text] = texts(depsForms(one, input(), paths));
		expect(lines(text)[0]).toMatch(/: 1 dependent, 1 dependency \(depth 2\)$/);
	});
});

describe("kota_usages", () => {
	const answer: UsagesAnswer = {
		symbol: "render",
		definitions: [
			{
				path: "src/render.ts",
				line: 3,
				column: 17,
				kind: "function",
				exported: true,
				signature: "export function render(): void",
				usages: [
					usage("src/a.ts", 1, { kind: "import", column: 10 }),
					usage("src/a.ts", 9),
					usage("src/a.ts", 12),
					usage("test/r.test.ts", 5, { isTest: true }),
				],
			},
			{
				path: "src/view.ts",
				line: 20,
				column: 3,
				kind: "method",
				owner: "View",
				exported: false,
				signature: "render(): string",
				usages: [],
				possible: { count: 7, files: ["src/x.ts", "src/y.ts"] },
			},
		],
		coverage: coverage(),
	};
	const input = (call: Partial<ToolCalls["kota_usages"]> = {}) =>
		usagesInput({ symbol: "render", ...call }, find);

	test("has a part for each definition, with places and what is not certain", () => {
		expect(lines(texts(usagesForms(answer, input(), paths))[0])).toEqual([
			"render: 2 definitions, 4 usages in 2 files, tests not counted",
			"function at src/render.ts:3:17, exported",
			"  export function render(): void",
			"  4 usages in 2 files: 3 call, 1 import",
			"  src/a.ts  1:10 import, 9:5 call, 12:5 call",
			"  test/r.test.ts (test)  5:5 call",
			"method of View at src/view.ts:20:3",
			"  render(): string",
			expect.stringMatching(/^ {2}no usage is certain; .*include_tests counts them$/),
			"  possibly 7 more, on values whose type is not known, in src/x.ts, src/y.ts",
		]);
	});

	test("names who uses it, and the family of a member", () => {
		const [first, second] = answer.definitions;
		const family = {
			above: [{ name: "Part.render", path: "src/part.ts", line: 4 }],
			below: [],
			beside: 43,
		};
		const grouped = {
			...answer,
			definitions: [
				{
					...(first as NonNullable<typeof first>),
					usages: [
						usage("src/a.ts", 1, { kind: "import" }),
						usage("src/a.ts", 9, { within: "Screen.paint" }),
						usage("src/a.ts", 12, { within: "Screen.paint", kind: "type" }),
						usage("src/a.ts", 30, { within: "main" }),
						usage("src/b.ts", 2),
					],
				},
				{ ...(second as NonNullable<typeof second>), family },
			],
		};
		const [text = ""] = texts(usagesForms(grouped, input(), paths));
		expect(lines(text).slice(4, 6)).toEqual([
			"  src/a.ts  import 1; Screen.paint 9, 12 type; main 30",
			"  src/b.ts  call 2",
		]);
		expect(text).toContain(
			"  implements or overrides Part.render (src/part.ts:4), as 43 others do: ask for that one",
		);
	});

	test("with tests counted, the numbers are those of kota_impact", () => {
		const [text] = texts(usagesForms(answer, input({ include_tests: true }), paths));
		expect(lines(text)[0]).toBe("render: 2 definitions, 4 usages in 2 files");
	});

	test("briefer forms have lines by kind, numbers by file, and folders", () => {
		const all = texts(usagesForms(answer, input(), paths));
		expect(all[1]).toContain("  src/a.ts  import 1; call 9, 12\n");
		expect(all[2]).toContain("  src/: a.ts 3\n  test/: r.test.ts 1\n");
		expect(all[3]).toContain(
			"  by folder:\n  src/  3 usages in 1 file\n  test/  1 usage in 1 file\n",
		);
	});

	test("of a name with many definitions, the briefest form is a line for each", () => {
		const [one] = answer.definitions;
		const definitions = Array.from({ length: 69 }, (_, at) => ({
			...(one as NonNullable<typeof one>),
			path: `src/v${at}.ts`,
		}));
		const text = fitText(
			usagesForms({ ...answer, definitions, omittedDefinitions: 11 }, input(), paths),
			3000,
		);
		expect(lines(text)[0]).toBe(
			"render: 80 definitions (69 looked at: name a file, or Owner.member), 276 usages in 2 files, tests not counted",
		);
		expect(text).toContain("  function at src/v3.ts:3:17, exported: 4 usages in 2 files");
		expect(text).toMatch(/… \d+ more$/);
	});

	test("a name that nothing has is explained, with names close to it", () => {
		const none = { ...answer, definitions: [], suggestions: ["renderer", "rerender"] };
		const [text] = texts(usagesForms(none, input({ symbol: "rendr", file: "src/a.ts" }), paths));
		expect(text).toContain("Nothing named rendr is declared in src/a.ts");
		expect(text).toContain("Close to it: renderer, rerender.");
		expect(text).toContain("kota_search");
	});
});

describe("kota_impact", () => {
	const answer: ImpactAnswer = {
		risk: "high",
		summary: "41 files depend on it, 3 of them entry points.",
		affected: [file("src/b.ts"), file("src/c.ts", { depth: 2, via: "src/b.ts" })],
		symbols: [
			{ path: "src/a.ts", name: "unused", kind: "function", usages: 0, files: 0, otherFiles: 0 },
			{ path: "src/a.ts", name: "helper", kind: "function", usages: 2, files: 1, otherFiles: 1 },
			{ path: "src/a.ts", name: "open", kind: "function", usages: 57, files: 12, otherFiles: 11 },
		],
		tests: [
			{ path: "test/a.test.ts", depth: 1, via: "import" },
			{ path: "test/other.test.ts", depth: 0, via: "name" },
		],
		warnings: ["src/b.ts will not find ./a.ts"],
		coverage: coverage(),
	};

	test("begins with the summary, in every form", () => {
		const all = texts(impactForms(answer, {}, paths));
		for (const text of all) {
			expect(lines(text)[0]).toBe("risk: high. 41 files depend on it, 3 of them entry points.");
		}
		expect(lines(all[0]).slice(1)).toEqual([
			"warnings (1):",
			"  src/b.ts will not find ./a.ts",
			"tests to run (2), nearest first:",
			"  test/a.test.ts  depth 1",
			"  test/other.test.ts  by its name",
			"exports used elsewhere, most used first (2):",
			"  open (function, src/a.ts)  57 usages in 12 files",
			"  helper (function, src/a.ts)  2 usages in 1 file",
			"affected files (1):",
			"  src/b.ts  value",
			"affected files at depth 2 (1):",
			"  src/c.ts  value via src/b.ts",
		]);
	});

	test("without tests or dependents says so", () => {
		const [text] = texts(impactForms({ ...answer, tests: [], affected: [] }, {}, paths));
		expect(text).toContain("No test reaches the change");
		expect(text).toContain("No other file is reached.");
	});
});

describe("kota_task_context", () => {
	const answer: TaskContextAnswer = {
		targets: [
			{
				path: "src/a.ts",
				dependencies: ["src/b.ts", "src/c.ts"],
				dependentCount: 57,
				symbols: [{ ...symbol("open"), members: [symbol("inner", { line: 11, endLine: 11 })] }],
			},
		],
		impacted: [file("src/d.ts")],
		impactedCount: 57,
		tests: ["test/a.test.ts"],
		unknown: ["src/new.ts"],
		coverage: coverage(),
	};
	const input = taskContextInput({ files: ["src/a.ts"], include_symbols: true }, find);

	test("shows what the files need, what needs them, and the tests", () => {
		expect(lines(texts(taskContextForms(answer, input, paths))[0])).toEqual([
			"src/a.ts: 57 dependents",
			"  imports src/: b.ts, c.ts",
			"  10-12 export function open(): void",
			"    11 export function inner(): void",
			"not in the index (1):",
			"  src/new.ts",
			"impacted files (1 of 57), most important first:",
			"  src/d.ts  value",
			"tests (1):",
			"  test/: a.test.ts",
		]);
	});

	test("shows some symbols of a file that has too many", () => {
		const symbols = Array.from({ length: 2000 }, (_, at) => symbol(`named${at}`));
		const [target] = answer.targets;
		const small = { ...answer.targets[0], path: "src/small.ts", symbols: [symbol("few")] };
		const large = { ...answer, targets: [{ ...target, symbols }, small] } as TaskContextAnswer;
		const text = fitText(taskContextForms(large, input, paths), 5000);
		expect(Buffer.byteLength(text)).toBeLessThanOrEqual(5000);
		expect(text).toContain("named19");
		expect(text).toContain("function few");
		expect(text).toMatch(/… 1,9\d\d symbols not shown/);
	});

	test("says what there is none of", () => {
		const none = { ...answer, impacted: [], impactedCount: 0, tests: [] };
		const [text] = texts(taskContextForms(none, input, paths));
		expect(text).toContain("No other file is impacted.\nNo test reaches these files.");
	});
});

describe("the line on coverage", () => {
	test("of a sound index is short", () => {
		expect(coverageLine(coverage(), NOW)).toBe("[120 files indexed; checked just now]");
	});

	test("tells age, changes, what was not understood and what leads nowhere", () => {
		const poor = coverage({
			checkedMs: NOW - 3 * 60_000,
			refreshedFiles: 2,
			unparsed: { count: 9, paths: ["a.ts", "b.ts", "c.ts", "d.ts"] },
			unresolvedImports: 1,
		});
		expect(coverageLine(poor, NOW)).toBe(
			"[120 files indexed; checked 3 min ago; 2 changes taken in; 9 files not fully parsed (a.ts, b.ts, c.ts, …); 1 unresolved import]",
		);
	});

	test("begins with what matters most: that the index is half built", () => {
		expect(coverageLine(coverage({ complete: false }), NOW)).toMatch(/^\[INCOMPLETE, .*kota_index/);
	});

	test("begins with how many files are still being read", () => {
		expect(coverageLine(coverage({ pending: 80 }), NOW)).toBe(
			"[references and texts of 80 of 120 files are still being read; 120 files indexed; checked just now]",
		);
	});
});

describe("for a person at the command line", () => {
	const reader = { ...paths, advice: COMMAND_ADVICE };
	const partial = coverage({ complete: false, files: 0 });

	test("no advice names a tool or a parameter of one", () => {
		const nothing = { external: [], unresolved: [], cycles: [], coverage: coverage() };
		const deps = { file: "src/a.ts", dependents: [], dependencies: [], ...nothing };
		const usages = { symbol: "x", definitions: [], coverage: coverage() };
		const hits = { hits: [], total: 0, coverage: coverage() };
		const defined = { path: "a.ts", line: 1, column: 1, kind: "function", usages: [] } as const;
		const all = [
			...texts(depsForms(deps, depsInput({ file_path: "src/a.ts" }, find), reader)),
			...texts(usagesForms(usages, usagesInput({ symbol: "x" }, find), reader)),
			...texts(
				usagesForms(
					{ ...usages, definitions: [{ ...defined, exported: true, signature: "" }] },
					usagesInput({ symbol: "x" }, find),
					reader,
				),
			),
			...texts(
				searchForms(
					hits,
					searchInput({ query: "x", scope: ["code", "symbols"], filters: { glob: "*.ts" } }),
					reader,
				),
			),
			...texts(
				usagesForms({ ...usages, coverage: partial }, usagesInput({ symbol: "x" }, find), reader),
			),
			coverageLine(partial, NOW, COMMAND_ADVICE),
		].join("\n");
		expect(all).not.toMatch(/kota|include_tests|without filters/);
		for (const advice of ["strata search", "strata index", "--no-tests", "--glob"])
			expect(all).toContain(advice);
	});
});

describe("about the index", () => {
	test("a build says what it took in", () => {
		const report = { coverage: coverage(), added: 3, changed: 0, removed: 1, seconds: 0.25 };
		expect(buildText(report)).toBe(
			"The index is up to date: 120 files, 3 added, 1 removed (0.3 s).",
		);
		expect(buildText({ ...report, added: 0, removed: 0 })).toContain("nothing had changed");
		expect(buildText({ ...report, coverage: coverage({ files: 0 }) })).toMatch(
			/^The project has no/,
		);
	});

	test("progress is a line", () => {
		expect(progressText({ phase: "scanning", done: 0 })).toBe("indexing: scanning");
		expect(progressText({ phase: "parsing", done: 500, total: 2000 })).toBe(
			"indexing: parsing, 500 of 2,000 (25 %)",
		);
		expect(progressText({ phase: "storing", done: 0, total: 0 })).toContain("100 %");
	});

	test("the status tells what is there", () => {
		const status = {
			state: "ready" as const,
			root: "/project",
			database: "/cache/index.db",
			bytes: 1024 ** 2,
			files: 120,
			symbols: 900,
			updatedMs: NOW - 60 * 60_000,
		};
		expect(statusText(status, NOW)).toEqual([
			"project: /project",
			"indexed: yes",
			"contents: 120 files, 900 symbols, last changed 60 min ago",
			"database: /cache/index.db (1.0 MB)",
		]);
		expect(statusText({ ...status, state: "absent" }, NOW)).toHaveLength(2);
		expect(statusText({ ...status, pending: 80 }, NOW)).toContainEqual(
			expect.stringMatching(/^in progress: references and texts of 80 of .* are still being read$/),
		);
	});
});

test("paths are written from the working folder, so that they can be read as they stand", () => {
	const within = projectPaths("/project", "/project/packages/web", () => true);
	const [text] = texts(
		depsForms(
			{
				file: "packages/web/src/a.ts",
				dependents: [
					file("packages/api/b.ts"),
					file("tools.ts", { depth: 2, via: "packages/web/c.ts" }),
				],
				dependencies: [],
				cycles: [],
				unresolved: [],
				external: [],
				coverage: coverage(),
			},
			depsInput({ file_path: "src/a.ts", depth: 2 }, within.find),
			within,
		),
	);
	expect(lines(text).slice(0, 5)).toEqual([
		"src/a.ts: 2 dependents, 0 dependencies (depth 2)",
		"dependents (1):",
		"  ../api/b.ts  value",
		"dependents at depth 2 (1):",
		"  ../../tools.ts  value via c.ts",
	]);
});

describe("names that are global", () => {
	const note = "this file's top level is global: uses in other files are not followed";
	const path = "src/globals.d.ts";

	test("kota_usages does not call them unused", () => {
		const definition = {
			path,
			line: 1,
			column: 7,
			kind: "variable",
			exported: false,
			signature: "const a",
			global: true,
		} as const;
		const input = usagesInput({ symbol: "a" }, find);
		const told = (usages: UsagesAnswer["definitions"][number]["usages"]) =>
			texts(
				usagesForms(
					{ symbol: "a", definitions: [{ ...definition, usages }], coverage: coverage() },
					input,
					paths,
				),
			);
		for (const text of [...told([]), ...told([usage(path, 3)])]) expect(text).toContain(note);
		for (const text of told([])) expect(text).not.toContain("unused");
		const definitions = Array.from({ length: 9 }, () => ({ ...definition, usages: [] }));
		const brief = texts(
			usagesForms({ symbol: "a", definitions, coverage: coverage() }, input, paths),
		);
		expect(brief.at(-1)).toContain("0 usages in 0 files; global, other files are not followed");
	});

	test("kota_deps does not call the file unused", () => {
		const answer: DependenciesAnswer = {
			file: path,
			dependents: [],
			dependencies: [],
			cycles: [],
			unresolved: [],
			external: [],
			global: true,
			coverage: coverage(),
		};
		const input = depsInput({ file_path: path }, find);
		for (const text of texts(depsForms(answer, input, paths))) {
			expect(text).toContain(`No file of the project imports it, but ${note}.`);
			expect(text).not.toContain("unused");
		}
		const imported = { ...answer, dependents: [file("src/a.ts")] };
		expect(texts(depsForms(imported, input, paths))[0]).toContain(
			"This file's top level is global",
		);
	});
});
