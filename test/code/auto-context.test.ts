import { describe, expect, test } from "vitest";
import {
	BRIEFING_BYTES,
	briefing,
	namedFiles,
	workedOnFiles,
} from "../../src/code/auto-context.ts";
import { projectPaths } from "../../src/code/outline.ts";
import type { TaskContextAnswer } from "../../src/codeindex/index.ts";
import { coverage, file } from "./fake-index.ts";

const FILES = [
	"/project/foo.ts",
	"/project/src/a.ts",
	"/project/src/b.tsx",
	"/project/src/my dir/c.ts",
	"/project/src/app/[id]/(group)/page.tsx",
	"/project/packages/@scope/x/y.ts",
	"/project/node_modules/@scope/x/y.ts",
	"/project/web/src/w.mts",
	"/project/README.md",
	"/etc/passwd.ts",
];
const isFile = (path: string) => FILES.includes(path);
const lookup = { paths: projectPaths("/project", "/project", isFile), isFile };
const named = (prompt: string) => namedFiles(prompt, lookup);

describe("files that a prompt names", () => {
	test.each([
		["what does src/a.ts do?", ["src/a.ts"]],
		["foo.ts", ["foo.ts"]],
		["fix ./src/a.ts.", ["src/a.ts"]],
		["look at /project/src/a.ts, please", ["src/a.ts"]],
		["@src/a.ts", ["src/a.ts"]],
		["packages/@scope/x/y.ts", ["packages/@scope/x/y.ts"]],
		['see `src/a.ts` and "src/b.tsx"', ["src/a.ts", "src/b.tsx"]],
		["in 'src/my dir/c.ts'", ["src/my dir/c.ts"]],
		["src/a.ts:12", ["src/a.ts"]],
		["at src/a.ts:12:5: error", ["src/a.ts"]],
		["src/a.ts#L3-L9", ["src/a.ts"]],
		["src/a.ts(12,5): error TS2345", ["src/a.ts"]],
		["(src/a.ts)", ["src/a.ts"]],
		["[a](src/a.ts)", ["src/a.ts"]],
		["src/a.ts,src/b.tsx", ["src/a.ts", "src/b.tsx"]],
		["src/app/[id]/(group)/page.tsx", ["src/app/[id]/(group)/page.tsx"]],
		["src/b.tsx then src/a.ts then src/b.tsx", ["src/b.tsx", "src/a.ts"]],
		["don't touch src/a.ts, it's fine", ["src/a.ts"]],
		["src\n/a.ts", []],
		["src/missing.ts", []],
		["README.md", []],
		["/etc/passwd.ts and ../../etc/passwd.ts", []],
		["https://example.com/src/a.ts", []],
		["e.g. this, i.e. that.ts", []],
		["", []],
	])("%j", (prompt, expected) => {
		expect(named(prompt)).toEqual(expected);
	});

	test("are looked for in the working folder first, then at the root", () => {
		const paths = projectPaths("/project", "/project/web", isFile);
		expect(namedFiles("src/w.mts and src/a.ts", { paths, isFile })).toEqual([
			"web/src/w.mts",
			"src/a.ts",
		]);
	});

	test("of a huge paste are found in bounded work", () => {
		let looked = 0;
		const counting = {
			paths: lookup.paths,
			isFile: (path: string) => {
				looked++;
				return isFile(path);
			},
		};
		const paste = Array.from({ length: 50_000 }, (_, at) => `gone-${at}.ts`).join(" ");
		expect(namedFiles(paste, counting)).toEqual([]);
		expect(looked).toBeLessThan(5000);
		expect(namedFiles(`${".".repeat(3_000_000)}.ts ${"'".repeat(100_000)}`, counting)).toEqual([]);
	});
});

describe("files of the last turn", () => {
	const call = (name: string, path: unknown) => ({ type: "toolCall", name, arguments: { path } });
	const assistant = (...content: unknown[]) => ({ role: "assistant", content });

	test("are those that tools read or changed since the last prompt, the latest first", () => {
		const messages = [
			{ role: "user", content: "earlier" },
			assistant(call("read", "foo.ts")),
			{ role: "user", content: "the last prompt" },
			assistant(
				{ type: "text", text: "src/b.tsx" },
				call("read", "src/a.ts:1-9"),
				call("bash", "x.ts"),
			),
			{ role: "toolResult", content: [] },
			assistant(call("edit", "/project/src/b.tsx"), call("write", "README.md"), call("read", 5)),
			assistant(call("read", "src/a.ts"), { type: "toolCall", name: "read" }),
		];
		expect(workedOnFiles(messages, lookup)).toEqual(["src/a.ts", "src/b.tsx"]);
	});

	test("are none after a turn without tools", () => {
		expect(workedOnFiles([{ role: "user" }, assistant("hello")], lookup)).toEqual([]);
		expect(workedOnFiles([], lookup)).toEqual([]);
	});
});

describe("the briefing", () => {
	const many = (prefix: string, length: number) =>
		Array.from({ length }, (_, at) => `${prefix}/file-${at}.ts`);
	const answer: TaskContextAnswer = {
		targets: [
			{
				path: "src/a.ts",
				dependencies: [...many("lib", 8), "src/b.ts"],
				dependentCount: 90,
				symbols: [],
			},
			{ path: "src/b.ts", dependencies: many("lib", 2), dependentCount: 3, symbols: [] },
		],
		impacted: many("ui", 20).map((path) => file(path)),
		impactedCount: 93,
		tests: many("test", 7),
		unknown: [],
		coverage: coverage(),
	};

	test("has 5 dependencies, 10 dependents, 5 tests and how to learn more", () => {
		expect(briefing(answer, lookup.paths)?.split("\n")).toEqual([
			"Context of src/a.ts, src/b.ts",
			"imports (5 of 8):",
			...many("  lib", 5),
			"used by (10 of 93):",
			...many("  ui", 10),
			"tests (5 of 7):",
			...many("  test", 5),
			"From the code index; more by kota_deps, or kota_search with output snippet.",
		]);
	});

	test("stays tiny with long paths", () => {
		const deep = "日本語/".repeat(300);
		const long = {
			...answer,
			targets: answer.targets.map((target) => ({ ...target, path: deep + target.path })),
			impacted: answer.impacted.map((one) => ({ ...one, path: deep + one.path })),
			tests: answer.tests.map((path) => deep + path),
		};
		const text = briefing(long, lookup.paths) ?? "";
		expect(Buffer.byteLength(text)).toBeLessThanOrEqual(BRIEFING_BYTES);
		expect(text).toContain("file-0.ts");
	});

	test("says what there is none of, and that the index is incomplete", () => {
		const bare = {
			...answer,
			targets: [{ path: "src/a.ts", dependencies: [], dependentCount: 0, symbols: [] }],
			impacted: [],
			impactedCount: 0,
			tests: [],
			coverage: coverage({ complete: false }),
		};
		expect(briefing(bare, lookup.paths)).toMatch(
			/^Context of src\/a\.ts\nimports: nothing\nused by: nothing\ntests: nothing\n.*incomplete/,
		);
	});

	test("is not made of files that the index does not have", () => {
		expect(
			briefing({ ...answer, targets: [], unknown: ["src/a.ts"] }, lookup.paths),
		).toBeUndefined();
	});
});
