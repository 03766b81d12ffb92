/** The kota tools with the engine that is built in, in a real pi. */
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import strata from "../../src/extension/index.ts";
import { type KotaOptions, startKota } from "../support/kota-session.ts";
import { mcpKota } from "../support/mcp-kota.ts";
import { startPi } from "../support/pi-session.ts";
import { atEnd, tempDir } from "../support/temp.ts";

// Indexes lie in the user's cache folder, which the engine finds by this.
beforeEach(() => setForTest("XDG_CACHE_HOME", tempDir()));

/** Sets a variable of the environment until the test ends. */
function setForTest(variable: string, value: string): void {
	const before = process.env[variable];
	process.env[variable] = value;
	atEnd(() => {
		if (before === undefined) delete process.env[variable];
		else process.env[variable] = before;
	});
}

const FILES: Record<string, string> = {
	"src/shape.ts": [
		"/** Something with an area. */",
		"export interface Shape {",
		"\tarea(): number;",
		"}",
		"export function describeShape(shape: Shape): string {",
		"\treturn String(shape.area());",
		"}",
		"",
	].join("\n"),
	"src/index.ts":
		'export { describeShape as describe } from "./shape.ts";\nexport type { Shape } from "./shape.ts";\n',
	"src/square.ts": [
		'import type { Shape } from "./index.ts";',
		"export class Square implements Shape {",
		"\tarea(): number {",
		"\t\treturn 4;",
		"\t}",
		"}",
		"",
	].join("\n"),
	"src/main.ts": [
		'import { describe } from "./index.ts";',
		'import { Square } from "./square.ts";',
		"console.log(describe(new Square()));",
		"",
	].join("\n"),
	"test/shape.test.ts":
		'import { describeShape } from "../src/shape.ts";\ndescribeShape({ area: () => 1 });\n',
	"README.md": "describeShape is documented here\n",
};

async function start(options: KotaOptions = {}) {
	const started = await startKota({ ...options, kota: { confirmIndex: false, ...options.kota } });
	for (const [path, content] of Object.entries(FILES)) started.pi.write(path, content);
	return started;
}

describe("in a project of a few files", () => {
	test("kota_search finds where something is declared", { tags: "slow" }, async () => {
		const { call } = await start();
		const { text, isError } = await call("kota_search", { query: "describe shape" });
		expect(isError).toBe(false);
		expect(text.split("\n").slice(1, 3)).toEqual(["src/shape.ts", expect.stringContaining("5 ")]);
		expect(text).toContain(
			"documents and settings (1):\nREADME.md\n  1: describeShape is documented here",
		);
		// The first question may come before references are read; its last line says so.
		expect(text).toMatch(/\[(references and texts of .*; )?5 files indexed; checked just now.*\]$/);
		const paths = await call("kota_search", { query: "Square", output: "paths", limit: 1 });
		expect(paths.text).toContain("\nsrc/square.ts\n");
	});

	test("kota_deps follows barrels in both directions, and leaves tests out unless asked", {
		tags: "slow",
	}, async () => {
		const { call } = await start();
		const { text } = await call("kota_deps", { file_path: "src/shape.ts", depth: 2 });
		expect(text).toContain("src/shape.ts: 3 dependents, 0 dependencies (depth 2)");
		expect(text).toMatch(/^ {2}src\/index\.ts {2}(type, re-export|re-export, type)$/m);
		expect(text).toContain("  src/main.ts  value via src/index.ts");
		const all = await call("kota_deps", { file_path: "src/shape.ts", include_tests: true });
		expect(all.text).toContain("  test/shape.test.ts (test)  value");
	});

	test("kota_usages goes through renamed re-exports", { tags: "slow" }, async () => {
		const { call } = await start();
		const { text } = await call("kota_usages", { symbol: "describeShape", include_tests: true });
		expect(text).toContain("function at src/shape.ts:5:17, exported");
		expect(text).toMatch(/^ {2}src\/main\.ts {2}.*3:13 call/m);
		expect(text).toMatch(/^ {2}test\/shape\.test\.ts \(test\) {2}.*2:1 call/m);
		const none = await call("kota_usages", { symbol: "describeShap" });
		expect(none.text).toMatch(/Nothing named describeShap.*\nClose to it: describeShape/);
	});

	test("kota_impact begins with the risk and names the tests that exist", {
		tags: "slow",
	}, async () => {
		const { call } = await start();
		const { text } = await call("kota_impact", {
			change_type: "refactor",
			description: "rename a function",
			files_to_modify: ["src/shape.ts"],
		});
		expect(text).toMatch(/^risk: (low|medium|high)\. /);
		expect(text).toMatch(/^tests to run \(1\)[^\n]*\n {2}test\/shape\.test\.ts/m);
		expect(text).toMatch(/^ {2}src\/index\.ts /m);
	});

	test("kota_task_context briefs on files", { tags: "slow" }, async () => {
		const { call } = await start();
		const { text } = await call("kota_task_context", {
			files: ["src/square.ts", "src/none.ts"],
			include_symbols: true,
		});
		expect(text).toMatch(/^src\/square\.ts: 1 dependent\n {2}imports src\/: index\.ts\n {2}2-6 /);
		expect(text).toContain("not in the index (1):\n  src/none.ts");
		expect(text).toMatch(/impacted files \(1\)[^\n]*\n {2}src\/main\.ts/);
	});

	test("an edit is seen by the next question", { tags: "slow" }, async () => {
		const { pi, call } = await start();
		await call("kota_index", {});
		pi.write("src/main.ts", 'import { Square } from "./square.ts";\nnew Square();\n');
		pi.write(
			"src/circle.ts",
			'import { describe } from "./index.ts";\ndescribe({ area: () => 3 });\n',
		);
		rmSync(`${pi.cwd}/test/shape.test.ts`);
		const { text } = await call("kota_usages", { symbol: "describeShape", include_tests: true });
		expect(text).toMatch(/^ {2}src\/circle\.ts {2}.*2:1 call/m);
		expect(text).not.toContain("src/main.ts");
		expect(text).not.toContain("shape.test.ts");
		expect(text).toContain("changes taken in");
	});

	test("the project itself is never written to", { tags: "slow" }, async () => {
		const { pi, call } = await start();
		await call("kota_search", { query: "area" });
		expect(readdirSync(pi.cwd).toSorted()).toEqual(["README.md", "src", "test"]);
	});

	test("a path outside of the project, and one that is not there, are errors", {
		tags: "slow",
	}, async () => {
		const { call } = await start();
		for (const file_path of ["../../etc/passwd.ts", "/etc/passwd.ts", "src/none.ts"]) {
			const { text, isError } = await call("kota_deps", { file_path });
			expect([isError, text.length < 500]).toEqual([true, true]);
		}
	});

	test("autoContext briefs on a file that the prompt names", { tags: "slow" }, async () => {
		const { pi } = await start({ kota: { autoContext: "onPaths" } });
		await pi.run("please change src/square.ts:2", ["ok"]);
		const context = JSON.stringify(pi.lastContext());
		expect(context).toContain(
			"Context of src/square.ts\\nimports:\\n  src/index.ts\\nused by:\\n  src/main.ts\\ntests: nothing\\n",
		);
	});
});

describe("the first indexing", () => {
	test("is asked for once, and the index is there for the next session", {
		tags: "slow",
	}, async () => {
		let asked = 0;
		const { pi, call, ask } = await start({
			kota: { confirmIndex: true },
			mode: "rpc",
			uiContext: {
				confirm: async () => {
					asked++;
					return true;
				},
			},
		});
		expect(await ask("/kota status")).toMatch(/^kota: running.*\n.*\nindexed: no/);
		expect((await call("kota_search", { query: "area" })).isError).toBe(false);
		await pi.newSession();
		expect((await call("kota_search", { query: "area" })).isError).toBe(false);
		expect(asked).toBe(1);
		expect(await ask("/kota status")).toMatch(/indexed: yes\ncontents: 5 files/);
	});

	test("without a user is refused, and nothing is indexed", { tags: "slow" }, async () => {
		const { call } = await start({ kota: { confirmIndex: true } });
		const { text, isError } = await call("kota_index", {});
		expect([isError, text]).toEqual([true, expect.stringMatching(/kota\.confirmIndex/)]);
		const after = await call("kota_search", { query: "area" });
		expect([after.isError, after.text]).toEqual([true, expect.stringMatching(/strata index/)]);
	});
});

test("the whole extension has the tools, and says so", { tags: "slow" }, async () => {
	const agentDir = tempDir();
	writeFileSync(join(agentDir, "strata.json"), '{ "kota": { "confirmIndex": false } }');
	const extensions = [{ name: "strata", factory: strata }];
	const pi = await startPi({ extensions, agentDir, mode: "json" });
	for (const [path, content] of Object.entries(FILES)) pi.write(path, content);
	await pi.run("go", [
		[
			{ tool: "kota_usages", args: { symbol: "Square" }, id: "usages" },
			{ tool: "kota_deps", args: { file_path: "src/main.ts" }, id: "deps" },
		],
		"done",
	]);
	pi.write("src/odd#name.ts", "export const odd = 1;\n");
	await pi.run("read on", [
		[
			{ tool: "read", args: { path: "src/shape.ts#describeShape" }, id: "symbol" },
			{ tool: "read", args: { path: "src/odd#name.ts" }, id: "file" },
			{ tool: "read", args: { path: "src/gone.ts#name" }, id: "gone" },
		],
		"done",
	]);
	expect(pi.textOf("symbol")).toMatch(/^src\/shape\.ts:5-7 {2}function describeShape\n/);
	expect(pi.textOf("file")).toBe("export const odd = 1;\n");
	expect(pi.textOf("gone")).toMatch(/ENOENT|not found|no such file/i);
	expect(pi.textOf("usages")).toContain("class at src/square.ts:2:14, exported");
	expect(pi.textOf("deps")).toContain("src/main.ts: 0 dependents, 2 dependencies (depth 1)");
	await pi.command("/strata");
	expect(JSON.stringify(pi.reports.at(-1)?.data)).toMatch(/on {3}kota +code questions/);
});

test("an external KotaDB answers through the same tools, and its complaints are in the status", {
	tags: "slow",
}, async () => {
	for (const variable of ["HOME", "USERPROFILE"]) setForTest(variable, tempDir());
	const found = { file: "src/main.ts", line: 3, column: 13, usage_type: "call", context: "" };
	const server = mcpKota({
		journal: join(tempDir(), "journal"),
		stderr: "warming up",
		tools: {
			get_index_statistics: { json: { files: 5, symbols: 3, references: 4 } },
			find_usages: {
				json: { symbol: "x", defined_in: "src/shape.ts:5", kind: "function", usages: [found] },
			},
		},
	});
	const { call, ask } = await start({ kota: { engine: "external", ...server }, mode: "json" });
	const { text, isError } = await call("kota_usages", { symbol: "x" });
	expect([isError, text]).toEqual([
		false,
		expect.stringMatching(/^ {2}src\/main\.ts {2}3:13 call$/m),
	]);
	expect((await call("kota_search", { query: "x" })).isError).toBe(true);
	const status = await ask("/kota status");
	expect(status).toMatch(/^kota: running \(external engine\)\n/);
	expect(status).toMatch(/it wrote:\n {2}warming up/);
});

test("a project without source files says so", { tags: "slow" }, async () => {
	const { pi, call } = await startKota({ kota: { confirmIndex: false } });
	pi.write("main.lua", "print(1)\n");
	for (const [tool, args] of [
		["kota_index", {}],
		["kota_search", { query: "print" }],
		["kota_usages", { symbol: "print" }],
	] as const) {
		const { text } = await call(tool, args);
		expect(text).toMatch(/^The project has no source files in a language that is indexed/);
	}
});

test("in a folder of a repository, paths are those of the folder", { tags: "slow" }, async () => {
	const root = tempDir();
	execFileSync("git", ["init", "-q"], { cwd: root });
	const { pi, call } = await startKota({ cwd: root, kota: { confirmIndex: false } });
	for (const [path, content] of Object.entries(FILES)) pi.write(`packages/web/${path}`, content);
	pi.write(
		"packages/api/use.ts",
		'import { Square } from "../web/src/square.ts";\nnew Square();\n',
	);
	const inner = await startKota({ cwd: `${root}/packages/web`, kota: { confirmIndex: false } });
	const { text } = await inner.call("kota_deps", { file_path: "src/square.ts" });
	expect(text).toContain("src/square.ts: 2 dependents");
	expect(text).toMatch(/^ {2}\.\.\/api\/use\.ts {2}value$/m);
	expect((await call("kota_search", { query: "Square", output: "paths" })).text).toContain(
		"packages/web/src/square.ts",
	);
});

test("a symbol used in a thousand files is told in 5,000 bytes, and the rest is kept", {
	tags: "slow",
}, async () => {
	const { pi, call } = await startKota({ kota: { confirmIndex: false } });
	pi.write("src/hub.ts", "export function hub(): void {}\n");
	for (let at = 0; at < 1000; at++) {
		pi.write(
			`src/part-${at % 20}/user-${at}.ts`,
			'import { hub } from "../hub.ts";\nhub();\nhub();\n',
		);
	}
	const { text, details } = await call("kota_usages", { symbol: "hub" });
	expect(Buffer.byteLength(text)).toBeLessThanOrEqual(5000);
	expect(text).toContain("3,000 usages in 1,000 files");
	const whole = readFileSync(String(details?.blobPath), "utf8");
	expect(whole.match(/user-\d+\.ts/g)).toHaveLength(1000);
	const deps = await call("kota_deps", { file_path: "src/hub.ts", depth: 3 });
	expect(Buffer.byteLength(deps.text)).toBeLessThanOrEqual(5000);
	expect(existsSync(String(deps.details?.blobPath))).toBe(true);
});
