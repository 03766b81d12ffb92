import { describe, expect, test } from "vitest";
import { AnswerPart, projectFiles } from "../../../src/code/external/answer-part.ts";
import {
	QUESTIONS,
	type Query,
	type Question,
	type QuestionName,
} from "../../../src/code/external/questions.ts";

const ROOT = "/projects/shop";
const THERE = ["src/cart.ts", "src/price.ts", "src/main.ts", "src/latest.ts", "test/cart.test.ts"];
const files = projectFiles(ROOT, (path) => THERE.includes(path.slice(ROOT.length + 1)));

function readAnswer<N extends QuestionName>(
	name: N,
	data: unknown,
	query: Query<N>,
	there = files,
) {
	const { tool, read }: Question<N> = QUESTIONS[name];
	return read(new AnswerPart(tool, data), query, there);
}

describe("search", () => {
	test("asks for lines only where they are wanted, and passes filters on in KotaDB's words", () => {
		expect(QUESTIONS.search.args({ query: "cart" }, files)).toEqual({
			query: "cart",
			scope: ["code", "symbols"],
			limit: 15,
			output: "compact",
			filters: {},
		});
		expect(
			QUESTIONS.search.args(
				{
					query: "cart",
					scope: ["symbols"],
					contextLines: 40,
					limit: 50,
					includeTests: false,
					glob: "src/**",
					exclude: ["dist/**"],
					language: "typescript",
					symbolKinds: ["variable", "class"],
					exportedOnly: true,
				},
				files,
			),
		).toEqual({
			query: "cart",
			scope: ["symbols"],
			limit: 100,
			output: "snippet",
			context_lines: 10,
			filters: {
				glob: "src/**",
				exclude: ["dist/**"],
				language: "typescript",
				symbol_kind: ["class", "variable", "constant"],
				exported_only: true,
			},
		});
	});

	test("joins symbols and code by file, declarations first, tests last, deleted files never", () => {
		const answer = readAnswer(
			"search",
			{
				query: "cart",
				results: {
					code: [
						{ path: "test/cart.test.ts", match_count: 1 },
						{ path: "src/deleted.ts", match_count: 1 },
						{ path: "../elsewhere/x.ts" },
						"./src/main.ts",
						{ path: `${ROOT}/src/cart.ts`, match_count: 1 },
					],
					symbols: [
						{
							id: "1",
							name: "Cart",
							kind: "class",
							signature: "class Cart",
							documentation: "A cart.",
							location: { file: "src/cart.ts", line_start: 3, line_end: 9 },
							is_exported: true,
						},
						{ name: "LIMIT", kind: "constant", file: "src/price.ts", line: 2 },
						"src/price.ts",
					],
				},
				counts: { total: 6 },
			},
			{ query: "cart" },
			files,
		);
		expect(answer.hits.map(({ path, isTest }) => [path, isTest])).toEqual([
			["src/cart.ts", false],
			["src/price.ts", false],
			["src/main.ts", false],
			["test/cart.test.ts", true],
		]);
		expect(answer.hits[0]?.symbols).toEqual([
			{
				name: "Cart",
				kind: "class",
				line: 3,
				endLine: 9,
				exported: true,
				signature: "class Cart",
				doc: "A cart.",
			},
		]);
		expect(answer.hits[1]?.symbols).toMatchObject([
			{ name: "LIMIT", kind: "variable", line: 2, endLine: 2, exported: false, signature: "LIMIT" },
		]);
		expect(answer).toMatchObject({ total: 4 });
		expect(answer.atLeast).toBeUndefined();
	});

	test("joins lines around matches that overlap", () => {
		const match = (line: number, before: string[], content: string, after: string[]) => ({
			line,
			content,
			context_before: before,
			context_after: after,
		});
		const { hits } = readAnswer(
			"search",
			{
				results: {
					code: [
						{
							path: "src/cart.ts",
							matches: [
								match(1, [], "one", ["two"]),
								match(3, ["two"], "three", ["four"]),
								match(9, ["eight"], "nine", []),
							],
						},
					],
				},
			},
			{ query: "e", contextLines: 1 },
			files,
		);
		expect(hits).toMatchObject([
			{
				lines: [
					{ first: 1, text: ["one", "two", "three", "four"], matches: [1, 3] },
					{ first: 8, text: ["eight", "nine"], matches: [9] },
				],
				matchingLines: 3,
			},
		]);
	});

	test("says that there may be more where KotaDB stopped at the limit", () => {
		const answer = readAnswer(
			"search",
			{ results: { code: THERE } },
			{ query: "cart", limit: 5, includeTests: true },
			files,
		);
		expect(answer).toMatchObject({ total: 5, atLeast: true });
	});
});

describe("dependencies", () => {
	const side = (direct: unknown[], indirect = {}, cycles: unknown[] = []) => ({
		direct,
		indirect,
		cycles,
		count: direct.length,
	});

	test("asks with tests, which are sorted out here, since KotaDB takes latest.ts for one", () => {
		expect(
			QUESTIONS.dependencies.args(
				{ path: "src/cart.ts", depth: 9, kinds: ["type", "re-export"], includeTests: false },
				files,
			),
		).toEqual({
			file_path: "src/cart.ts",
			direction: "both",
			depth: 5,
			include_tests: true,
			reference_types: ["import", "re_export", "export_all"],
		});
		const { dependents } = readAnswer(
			"dependencies",
			{
				dependents: side(["src/latest.ts", "test/cart.test.ts"]),
				dependencies: side([]),
			},
			{ path: "src/cart.ts", includeTests: false },
			files,
		);
		expect(dependents.map(({ path }) => path)).toEqual(["src/latest.ts"]);
	});

	test("gives each file once, at its least depth, and each cycle once", () => {
		const answer = readAnswer(
			"dependencies",
			{
				file_path: "src/cart.ts",
				dependents: side(
					["src/main.ts"],
					{ depth_2: ["src/main.ts", "test/cart.test.ts"], depth_3: [{ path: "src/price.ts" }] },
					[["src/cart.ts", "src/main.ts", "src/cart.ts"]],
				),
				dependencies: side(["src/price.ts", "src/gone.ts"], {}, [["src/main.ts", "src/cart.ts"]]),
				unresolved_imports: ["./nowhere", { import_source: "./lost", line: 4 }],
			},
			{ path: "src/cart.ts", depth: 3 },
			files,
		);
		const brief = answer.dependents.map(({ path, depth, isTest }) => [path, depth, isTest]);
		expect(brief).toEqual([
			["src/main.ts", 1, false],
			["test/cart.test.ts", 2, true],
			["src/price.ts", 3, false],
		]);
		expect(answer.dependencies.map(({ path }) => path)).toEqual(["src/price.ts"]);
		expect(answer.cycles).toHaveLength(1);
		expect(answer.unresolved).toEqual([
			{ specifier: "./nowhere", line: 1 },
			{ specifier: "./lost", line: 4 },
		]);
	});

	test("a direction that was not asked for need not be answered", () => {
		const answer = readAnswer(
			"dependencies",
			{ dependents: side(["src/main.ts"]) },
			{ path: "src/cart.ts", direction: "dependents" },
			files,
		);
		expect(answer.dependents).toHaveLength(1);
		expect(answer.dependencies).toEqual([]);
	});

	test("a file that KotaDB does not know is an error, not an empty answer", () => {
		const message = "File not found: src/cart.ts";
		expect(() => readAnswer("dependencies", { message }, { path: "src/cart.ts" }, files)).toThrow(
			expect.objectContaining({ code: "unknown-file" }),
		);
	});

	test.each([
		["../secret.ts", "outside-project"],
		["/etc/passwd", "outside-project"],
		["", "outside-project"],
		["src/none.ts", "unknown-file"],
	])("a question about %j is refused with the code %s", (path, code) => {
		expect(() => QUESTIONS.dependencies.args({ path }, files)).toThrow(
			expect.objectContaining({ code }),
		);
	});

	test("kinds of edges that KotaDB does not see are refused", () => {
		const query = { path: "src/cart.ts", kinds: ["require" as const] };
		expect(() => QUESTIONS.dependencies.args(query, files)).toThrow(/no edges of the kind require/);
	});
});

describe("usages", () => {
	const usage = (file: string, line: number, type = "call") => ({
		file,
		line,
		column: 0,
		usage_type: type,
		context: "add(item)",
	});

	test("are sorted, with the definition where KotaDB saw it", () => {
		const answer = readAnswer(
			"usages",
			{
				symbol: "add",
				defined_in: "src/cart.ts:12",
				kind: "function",
				usages: [
					usage("src/price.ts", 3, "type_reference"),
					usage("src/main.ts", 9),
					usage("src/main.ts", 2, "import"),
					usage("src/gone.ts", 1),
					usage("test/cart.test.ts", 5, "something new"),
				],
				total_usages: 5,
			},
			{ symbol: "add" },
			files,
		);
		expect(answer.definitions).toMatchObject([
			{ path: "src/cart.ts", line: 12, column: 1, kind: "function" },
		]);
		const brief = answer.definitions[0]?.usages.map((one) => [one.path, one.line, one.kind]);
		expect(brief).toEqual([
			["src/main.ts", 2, "import"],
			["src/main.ts", 9, "call"],
			["src/price.ts", 3, "type"],
			["test/cart.test.ts", 5, "read"],
		]);
	});

	test("of a member are only possible ones, as KotaDB goes by the name alone", () => {
		const query = { symbol: "Cart.add", includeTests: false };
		expect(QUESTIONS.usages.args(query, files)).toMatchObject({ symbol: "add" });
		const { definitions } = readAnswer(
			"usages",
			{
				defined_in: "src/cart.ts:4",
				kind: "method",
				usages: [usage("src/main.ts", 1), usage("src/main.ts", 2), usage("test/cart.test.ts", 1)],
			},
			query,
			files,
		);
		expect(definitions).toMatchObject([
			{ owner: "Cart", usages: [], possible: { count: 2, files: ["src/main.ts"] } },
		]);
	});

	test("without a definition are told from those with one; nothing at all has no definition", () => {
		const query = { symbol: "fetch" };
		const without = { defined_in: null, usages: [usage("src/main.ts", 7)] };
		expect(readAnswer("usages", without, query, files).definitions[0]).toMatchObject({
			path: "src/main.ts",
			line: 7,
			signature: expect.stringContaining("does not say where it is declared"),
		});
		expect(readAnswer("usages", { usages: [] }, query, files).definitions).toEqual([]);
	});
});

describe("impact", () => {
	const answer = {
		affected_files: [
			{ path: "src/cart.ts", reason: "modified" },
			{ path: "src/main.ts", reason: "Directly depends on src/cart.ts" },
			{ path: "src/latest.ts", reason: "Indirectly depends on src/cart.ts" },
			{ path: "src/gone.ts", reason: "depends" },
		],
		test_scope: {
			test_files: ["test/cart.test.ts"],
			recommended_test_files: ["test/cart.test.ts", "src/__tests__/cart.test.ts"],
		},
		architectural_warnings: ["Touches the core"],
		conflicts: [{ description: "Somebody else changes it" }],
		risk_level: "critical",
		summary: "Two files",
	};

	test("leaves out the changed files themselves and tests that nobody wrote", () => {
		const query = { modify: ["src/cart.ts", "src/none.ts"] };
		const impact = readAnswer("impact", answer, query, files);
		expect(impact.risk).toBe("high");
		expect(impact.affected.map(({ path, depth }) => [path, depth])).toEqual([
			["src/main.ts", 1],
			["src/latest.ts", 2],
		]);
		expect(impact.tests).toEqual([{ path: "test/cart.test.ts", depth: 1, via: "import" }]);
		expect(impact.warnings).toEqual([
			"src/none.ts does not exist",
			"Touches the core",
			"Somebody else changes it",
		]);
	});

	test("fills in what KotaDB requires, and lets no path out of the project", () => {
		expect(
			QUESTIONS.impact.args(
				{ modify: ["src/cart.ts"], create: ["src/new.ts"], symbols: ["add"] },
				files,
			),
		).toEqual({
			change_type: "refactor",
			description: "Change of add in src/cart.ts, src/new.ts",
			files_to_modify: ["src/cart.ts"],
			files_to_create: ["src/new.ts"],
			files_to_delete: [],
		});
		expect(() => QUESTIONS.impact.args({ delete: ["../x"] }, files)).toThrow(
			"is not in the project",
		);
	});
});

describe("task context", () => {
	test("asks for the files that are there and names the others", () => {
		const query = { files: ["src/cart.ts", "src/none.ts"], includeSymbols: true };
		expect(QUESTIONS.taskContext.args(query, files)).toEqual({
			files: ["src/cart.ts"],
			include_tests: true,
			include_symbols: true,
			max_impacted_files: 20,
		});
		const answer = readAnswer(
			"taskContext",
			{
				targetFiles: [
					{
						path: "src/cart.ts",
						dependentCount: 2,
						symbols: [{ name: "Cart", kind: "class", line: 3 }],
					},
				],
				impactedFiles: ["src/main.ts", { path: "src/price.ts" }, "src/gone.ts"],
				testFiles: ["test/cart.test.ts", "test/made-up.test.ts"],
				recentChanges: [],
			},
			{ ...query, maxImpactedFiles: 1 },
			files,
		);
		expect(answer).toMatchObject({
			targets: [
				{ path: "src/cart.ts", dependentCount: 2, dependencies: [], symbols: [{ name: "Cart" }] },
			],
			impacted: [{ path: "src/main.ts" }],
			impactedCount: 2,
			tests: ["test/cart.test.ts"],
			unknown: ["src/none.ts"],
		});
	});

	test("without a file that is there is refused", () => {
		expect(() => QUESTIONS.taskContext.args({ files: ["src/none.ts"] }, files)).toThrow(
			expect.objectContaining({ code: "unknown-file" }),
		);
	});
});

describe("answers of another shape", () => {
	const search = (data: unknown) => () =>
		readAnswer("search", data, { query: "x", contextLines: 1 }, files);
	const usages = (data: unknown) => () => readAnswer("usages", data, { symbol: "x" }, files);
	const deps = (data: unknown) => () =>
		readAnswer("dependencies", data, { path: "src/cart.ts" }, files);
	const impact = (data: unknown) => () => readAnswer("impact", data, { modify: [] }, files);
	const context = (data: unknown) => () => readAnswer("taskContext", data, { files: [] }, files);
	const scope = { test_files: [] };

	test.each([
		[search(null), /search.*the answer should be an object and is null/],
		[search([]), /the answer should be an object and is a list/],
		[search({}), /results should be an object and is missing/],
		[search({ results: { code: {} } }), /results\.code should be a list and is an object/],
		[search({ results: { code: [{}] } }), /results\.code\[0\]\.path should be text and is missing/],
		[
			search({ results: { code: [{ path: "src/cart.ts" }] } }),
			/code\[0\]\.matches should be a list/,
		],
		[
			search({ results: { code: [{ path: "src/cart.ts", matches: [{ line: "3" }] }] } }),
			/matches\[0\]\.line should be a number and is string/,
		],
		[search({ results: { symbols: [{ name: "a" }] } }), /symbols\[0\]\.path should be text/],
		[
			search({ results: { symbols: [{ location: { file: "src/cart.ts" } }] } }),
			/symbols\[0\]\.name should be text/,
		],
		[usages({}), /find_usages.*usages should be a list and is missing/],
		[usages({ usages: [{ file: "src/cart.ts" }] }), /usages\[0\]\.line should be a number/],
		[deps({}), /search_dependencies.*dependents should be an object and is missing/],
		[deps({ dependents: {} }), /dependents\.direct should be a list/],
		[
			deps({ dependents: { direct: [], indirect: { depth_2: 7 } } }),
			/dependents\.indirect\.depth_2 should be a list and is number/,
		],
		[impact({ test_scope: null }), /test_scope should be an object and is null/],
		[impact({ test_scope: scope }), /risk_level should be text/],
		[
			impact({ test_scope: scope, risk_level: "low", summary: "" }),
			/affected_files should be a list/,
		],
		[context({}), /generate_task_context.*targetFiles should be a list/],
		[context({ targetFiles: [{ path: "src/cart.ts" }] }), /dependentCount should be a number/],
		[context({ targetFiles: [] }), /impactedFiles should be a list/],
	])("%# is an error that names the place", (read, message) => {
		expect(read).toThrow(message);
		expect(read).toThrow(expect.objectContaining({ code: "failed" }));
	});
});
