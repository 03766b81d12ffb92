import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { main } from "../../src/cli/main.ts";
import { tempDir } from "../support/temp.ts";

let project: string;

beforeEach(() => {
	vi.stubEnv("XDG_CACHE_HOME", tempDir());
	project = tempDir();
	write("package.json", "{}");
	write(
		"src/shape.ts",
		"export interface Shape {\n\tarea(): number;\n}\n\nexport function total(shapes: Shape[]): number {\n\treturn shapes.length;\n}\n",
	);
	write("src/index.ts", 'export { total as sum, type Shape } from "./shape.ts";\n');
	write("src/main.ts", 'import { sum } from "./index.ts";\nimport "./missing.ts";\n\nsum([]);\n');
	write("test/main.test.ts", 'import { sum } from "../src/index.ts";\n\nsum([]);\n');
	return () => vi.unstubAllEnvs();
});

function write(path: string, text: string): void {
	mkdirSync(dirname(join(project, path)), { recursive: true });
	writeFileSync(join(project, path), text);
}

function strata(...argv: string[]) {
	return answering(undefined, ...argv);
}

/** Like {@link strata}, at a terminal with colours. */
function coloured(...argv: string[]) {
	return answering("colours", ...argv);
}

/** Like {@link strata}, with somebody at the terminal who answers questions. */
async function answering(answer: boolean | "colours" | undefined, ...argv: string[]) {
	const out: string[] = [];
	const errors: string[] = [];
	const status = await main(argv, {
		cwd: project,
		env: { PI_CODING_AGENT_DIR: join(project, "agent") },
		print: (line) => void out.push(line),
		write: (text) => void out.push(text),
		printError: (line) => void errors.push(line),
		...(typeof answer === "boolean" && { confirm: async () => answer }),
		isColoured: answer === "colours",
	});
	const text = out.join("\n");
	return { status, text, errors: errors.join("\n"), json: () => JSON.parse(text) };
}

describe("before a project is indexed", () => {
	test("questions fail with one line that says what to do", { tags: "slow" }, async () => {
		const { status, errors } = await strata("usages", "total");
		expect(status).toBe(1);
		expect(errors).toContain("strata index");
		expect(errors.split("\n")).toHaveLength(1);
	});

	test("who declines to index it is told how to do it after all", async () => {
		const { status, errors } = await answering(false, "usages", "total");
		expect(status).toBe(1);
		expect(errors).toMatch(/was not indexed.*strata index/);
		expect(errors).not.toContain("kota");
	});

	test("a question is answered first, and the rest of the index follows", {
		tags: "slow",
	}, async () => {
		const first = await answering(true, "outline", "src/shape.ts");
		expect(first).toMatchObject({ status: 0, errors: "" });
		expect(first.text).toContain("export function total");
		expect(first.text).toMatch(
			/\[references and texts of 4 of 4 files are still being read; .*\]$/,
		);
		const second = await strata("outline", "src/shape.ts");
		expect(second.text).toMatch(/\[4 files indexed; .*\]$/);
	});

	test("strata index indexes it, and says how much", { tags: "slow" }, async () => {
		const first = await strata("index");
		expect(first).toMatchObject({ status: 0, errors: "" });
		expect(first.text).toMatch(/^The index is up to date: 4 files, 4 added/);
		const again = await strata("index", "--json");
		expect(again.json()).toMatchObject({
			added: 0,
			changed: 0,
			removed: 0,
			coverage: { files: 4 },
		});
	});
});

test("names that would steer a terminal are not printed as they are", {
	tags: "slow",
}, async () => {
	write("\u001b[2Jfolder/odd.ts", 'export const odd: "\u001b[2J" = 1 as never;\n');
	await strata("index");
	const map = await strata("map");
	const wrong = await strata("deps", "odd.js");
	const found = await strata("search", "odd", "--output", "snippet");
	expect(map.text).toContain("odd.ts");
	expect(wrong.errors).toContain("folder/odd.ts");
	expect(map.text + wrong.errors + found.text).not.toContain("\u001b");
});

describe("a wrong call", () => {
	test.each([
		[["deps"], "no file given"],
		[["usages"], "no symbol given"],
		[["search"], "no words to search for"],
		[["usages", " "], "no symbol given"],
		[["search", "", "  "], "no words to search for"],
		[["impact"], "no changed file given"],
		[["context"], "no file given"],
		[
			["deps", "src/main.ts", "--depth", "0"],
			'--depth must be a whole number of at least 1, got "0"',
		],
		[
			["search", "x", "--output", "all"],
			'--output must be one of paths, compact, snippet, got "all"',
		],
	])("is answered with the usage: %j", async (argv, error) => {
		const { status, errors } = await strata(...argv);
		expect(status).toBe(2);
		expect(errors).toContain(error);
		expect(errors).toContain(`usage: strata ${argv[0]}`);
	});

	test.each(["index", "map"])("strata %s with a folder leads to --root", async (command) => {
		const { status, errors } = await strata(command, "src");
		expect(status).toBe(2);
		expect(errors).toContain(
			`unexpected argument "src"; use --root for a project: strata ${command} --root src`,
		);
	});

	test("a surplus file is not taken for a project", async () => {
		const { errors } = await strata("deps", "src/main.ts", "src/index.ts");
		expect(errors).toMatch(/unexpected argument "src\/index\.ts"$/m);
	});
});

describe("of an indexed project", () => {
	beforeEach(async () => {
		await strata("index");
	});

	test("context of a file that is not there fails as dependencies do", {
		tags: "slow",
	}, async () => {
		const [context, deps] = [await strata("context", "nope.ts"), await strata("deps", "nope.ts")];
		expect(context).toMatchObject({ status: 1, text: "" });
		expect(context.errors).toBe(deps.errors.replace("strata deps", "strata context"));
		expect(context.errors).toMatch(/^strata context: nope\.ts is not in the index\./);
		const some = await strata("context", "nope.ts", "src/main.ts");
		expect(some).toMatchObject({ status: 0, errors: "" });
		expect(some.text).toContain("not in the index (1):\n  nope.ts");
	});

	test("usages are told for each definition, through barrels and new names", {
		tags: "slow",
	}, async () => {
		const { json } = await strata("usages", "total", "--json");
		expect(json()).toMatchObject({
			symbol: "total",
			definitions: [
				{
					path: "src/shape.ts",
					line: 5,
					column: 17,
					kind: "function",
					exported: true,
					usages: [
						{ path: "src/index.ts", line: 1, column: 10, kind: "re-export" },
						{ path: "src/index.ts", line: 1, column: 19, kind: "re-export" },
						{ path: "src/main.ts", line: 1, column: 10, kind: "import" },
						{ path: "src/main.ts", line: 4, column: 1, kind: "call" },
						{ path: "test/main.test.ts", line: 1, column: 10, kind: "import" },
						{ path: "test/main.test.ts", line: 3, column: 1, kind: "call" },
					],
				},
			],
		});
		const { text } = await strata("usages", "total", "--no-tests");
		expect(text).toContain("src/main.ts  1:10 import, 4:1 call");
		expect(text).not.toContain("main.test.ts");
	});

	test("dependencies are told in both directions, with what leads nowhere", {
		tags: "slow",
	}, async () => {
		const { json } = await strata("deps", "src/index.ts", "--depth", "2", "--json");
		expect(json()).toMatchObject({
			file: "src/index.ts",
			dependents: [
				{ path: "src/main.ts", depth: 1, kinds: ["value"] },
				{ path: "test/main.test.ts", depth: 1, kinds: ["value"] },
			],
			dependencies: [{ path: "src/shape.ts", depth: 1 }],
			cycles: [],
			unresolved: [],
		});
		const main = await strata("deps", "src/main.ts", "--json");
		expect(main.json().unresolved).toEqual([{ specifier: "./missing.ts", line: 2 }]);
	});

	test("an edit is seen by the next question", { tags: "slow" }, async () => {
		write("src/other.ts", 'import { total } from "./shape.ts";\n\ntotal([]);\n');
		const { json } = await strata("deps", "src/shape.ts", "--direction", "dependents", "--json");
		const paths = json().dependents.map(({ path }: { path: string }) => path);
		expect(paths).toEqual(["src/index.ts", "src/other.ts"]);
	});

	test("search, impact, context and map answer too, as text and as objects", {
		tags: "slow",
	}, async () => {
		expect((await strata("search", "total", "shapes")).text).toContain("src/shape.ts");
		expect((await strata("search", "total", "--json")).json().hits[0].path).toBe("src/shape.ts");
		expect((await strata("impact", "src/shape.ts")).text).toMatch(
			/^risk: .*\n(.*\n)*.*test\/main\.test\.ts/,
		);
		expect((await strata("impact", "src/shape.ts", "--json")).json().tests).toHaveLength(1);
		expect((await strata("context", "src/index.ts", "--symbols")).text).toContain("src/main.ts");
		expect((await strata("map", "--tokens", "200")).text).toContain("function total(");
	});

	test("advice names commands, not tools", { tags: "slow" }, async () => {
		const unknown = await strata("usages", "nowhere");
		expect(unknown.text).toContain("strata search");
		const alone = await strata("deps", "test/main.test.ts", "--no-tests");
		expect(alone.text).toContain("--no-tests");
		const nothing = await strata("search", "zzzz", "--glob", "*.ts");
		expect(nothing.text).toContain("without --glob");
		expect(unknown.text + alone.text + nothing.text).not.toMatch(/kota_|include_tests/);
	});

	test("a file too large for the index says that there is a limit", {
		tags: "slow",
	}, async () => {
		write("src/big.ts", `export const big = "${"x".repeat(8 * 1024 * 1024)}";\n`);
		const { status, errors } = await strata("deps", "src/big.ts");
		expect(status).toBe(1);
		expect(errors).toContain("src/big.ts is not in the index");
		expect(errors).toContain("up to 8 MiB");
	});

	test("a file that is not there, or outside, is one clear line", { tags: "slow" }, async () => {
		for (const path of ["src/nowhere.ts", "../elsewhere.ts"]) {
			const { status, errors } = await strata("deps", path);
			expect(status).toBe(1);
			expect(errors).toContain(path.slice(3));
		}
	});

	test("what is to be created outside of the project is called that", {
		tags: "slow",
	}, async () => {
		const { status, errors } = await strata("impact", "--create", "../out.ts");
		expect(status).toBe(1);
		expect(errors).toContain("../out.ts is outside of the project");
		const both = await strata("impact", "src/shape.ts", "--create", "../out.ts");
		expect(both.text).toContain("../out.ts is outside of the project");
	});

	test("a map that has everything does not speak of more files", { tags: "slow" }, async () => {
		write("src/empty.ts", "");
		expect((await strata("map", "--tokens", "99999999")).text).not.toContain("more file");
		expect((await strata("map", "--tokens", "1")).text).toContain("more file");
	});

	test("a root that is a file, or not there, is not taken for the project around it", {
		tags: "slow",
	}, async () => {
		mkdirSync(join(project, ".git"));
		for (const [root, why] of [
			["src/main.ts", ": not a folder"],
			["nowhere", ": no such folder"],
		] as const) {
			const { status, errors } = await strata("search", "total", "--root", join(project, root));
			expect(status).toBe(2);
			expect(errors).toContain(why);
		}
	});
});

describe("at a terminal", () => {
	test("places are path:line, with colours; piped, nothing is coloured", {
		tags: "slow",
	}, async () => {
		await strata("index");
		const found = await coloured("usages", "total");
		expect(found.text).toContain("\u001b[35msrc/shape.ts\u001b[39m\u001b[32m:5:17:\u001b[39m");
		const bare = stripVTControlCharacters(found.text);
		expect(bare).toMatch(/^src\/shape\.ts:5:17: function, defined here /);
		expect(bare).toMatch(/^src\/main\.ts:4:1: call$/m);
		expect(bare).toMatch(/^test\/main\.test\.ts:3:1: call \(test\)$/m);
		const search = stripVTControlCharacters((await coloured("search", "sum")).text);
		expect(search).toMatch(/^src\/main\.ts:1: import \{ sum \}/m);
		expect((await coloured("deps", "src/index.ts")).text).toContain("\u001b[35msrc/");
		for (const command of [
			["usages", "total"],
			["search", "sum"],
			["deps", "src/index.ts"],
		]) {
			expect((await strata(...command)).text).not.toContain("\u001b");
		}
	});
});

describe("what is not there", () => {
	test("has status 3, so that a script can tell it from a failure", { tags: "slow" }, async () => {
		await strata("index");
		expect((await strata("search", "nowhereatall")).status).toBe(3);
		expect((await strata("usages", "nowhereatall")).status).toBe(3);
		expect((await strata("outline", "nowhereatall")).status).toBe(3);
		expect((await strata("symbol", "nowhereatall")).status).toBe(3);
		const json = await strata("usages", "nowhereatall", "--json");
		expect(json).toMatchObject({ status: 3 });
		expect(json.json()).toMatchObject({ definitions: [] });
		expect((await strata("deps", "nowhere.ts")).status).toBe(1);
	});
});

describe("a long answer", () => {
	test("is cut between lines, unless --all asks for everything", { tags: "slow" }, async () => {
		const names = Array.from({ length: 300 }, (_, at) => `a-file-with-a-long-name-${at}`);
		for (const name of names)
			write(`src/${name}.ts`, 'import { total } from "./shape.ts";\ntotal([]);\n');
		await strata("index");
		const cut = await strata("usages", "total");
		expect(Buffer.byteLength(cut.text)).toBeLessThanOrEqual(16_000);
		expect(cut.text).toMatch(/^… \d+ more lines; --all prints everything$/m);
		const all = await strata("usages", "total", "--all");
		expect(all.text.split("\n").length).toBeGreaterThan(300);
		expect(all.text.startsWith(cut.text.split("\n").slice(0, -1).join("\n"))).toBe(true);
		const short = await strata("usages", "total", "--max-bytes", "500");
		expect(Buffer.byteLength(short.text)).toBeLessThanOrEqual(500);
		expect(await strata("usages", "total", "--max-bytes", "9")).toMatchObject({ status: 2 });
		expect(await strata("usages", "total", "--max-bytes", "500", "--all")).toMatchObject({
			status: 2,
		});
	});
});

describe("strata impact --changed", () => {
	const git = (...args: string[]) =>
		execFileSync("git", ["-c", "user.name=me", "-c", "user.email=me@example.org", ...args], {
			cwd: project,
			stdio: "pipe",
		});

	test("asks about what git sees as changed, and prints the tests to run", {
		tags: "slow",
	}, async () => {
		git("init", "-q", "-b", "main");
		git("add", "-A");
		git("commit", "-qm", "one");
		await strata("index");
		const none = await strata("impact", "--changed", "--tests");
		expect(none).toMatchObject({ status: 3, text: "", errors: "no file of the index has changed" });
		write("README.md", "words");
		expect(await strata("impact", "--changed")).toMatchObject({ status: 3 });
		write("src/shape.ts", "export interface Shape {}\nexport function total() {}\n");
		write("src/new.ts", 'import "./shape.ts";\n');
		const tests = await strata("impact", "--changed", "--tests");
		expect(tests).toMatchObject({ status: 0, text: "test/main.test.ts", errors: "" });
		const whole = await strata("impact", "--changed");
		expect(whole.text).toMatch(/^risk: .* Changing 2 files/);

		git("checkout", "-q", "-b", "work");
		git("add", "-A");
		git("commit", "-qm", "two");
		expect(await strata("impact", "--changed", "--tests")).toMatchObject({ status: 3 });
		const branch = await strata("impact", "--changed", "--since", "main", "--tests");
		expect(branch).toMatchObject({ status: 0, text: "test/main.test.ts" });
		const wrong = await strata("impact", "--changed", "--since", "nowhere");
		expect(wrong.status).toBe(1);
		expect(wrong.errors).toContain('--since "nowhere": git knows no such commit or branch in ');
		expect(await strata("impact", "--since", "main")).toMatchObject({ status: 2 });
	});

	test("without git says so", { tags: "slow" }, async () => {
		await strata("index");
		const { status, errors } = await strata("impact", "--changed");
		expect(status).toBe(1);
		expect(errors).toMatch(/^strata impact: .* is not in a git repository, .*: name the files$/);
	});

	test("before the first commit every file is new", { tags: "slow" }, async () => {
		git("init", "-q", "-b", "main");
		git("add", "src");
		await strata("index");
		const tests = await strata("impact", "--changed", "--tests");
		expect(tests).toMatchObject({ status: 0, text: "test/main.test.ts", errors: "" });
		const since = await strata("impact", "--changed", "--since", "main");
		expect(since).toMatchObject({
			status: 1,
			errors: expect.stringContaining('"main": git knows'),
		});
	});
});
