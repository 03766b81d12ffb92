import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import type { EdgeKind } from "../../../src/codeindex/facts.ts";
import { createConfigReader } from "../../../src/codeindex/resolve/config-files.ts";
import { ModuleResolver } from "../../../src/codeindex/resolve/resolver.ts";
import { tempDir } from "../../support/temp.ts";
import { scanTree } from "../scan/fresh-scan.ts";
import { resolverOf, weFind } from "./typescript-oracle.ts";

const json = JSON.stringify;
const value: EdgeKind[] = ["value"];

function resolve(files: Record<string, string>, from: string, specifier: string) {
	return resolverOf({ files }).resolve(from, specifier, value);
}

describe("packages of the project are found in their sources", () => {
	const app = { "package.json": json({ workspaces: ["packages/*"] }), "app.ts": "" };

	test.each<[string, object, string, string, object?]>([
		["main in dist", { main: "dist/index.js" }, "", "src/index.ts"],
		["main without extension", { main: "./dist/index" }, "", "src/index.ts"],
		["types in a nested folder", { types: "dist/types/index.d.ts" }, "", "src/index.ts"],
		["exports with conditions", { exports: { import: "./dist/index.mjs" } }, "", "src/index.ts"],
		["an output of TSX", { exports: { "./*": "./dist/esm/*.js" } }, "/view", "src/view.tsx"],
		["a bundled folder", { exports: { "./*": "./dist/*.js" } }, "/feature", "src/feature/index.ts"],
		["a deep path into the outputs", {}, "/dist/view.js", "src/view.tsx"],
		["only a source condition", { exports: { source: "./src/view.tsx" } }, "", "src/view.tsx"],
		["a source field", { main: "x.js", source: "src/view.tsx" }, "", "src/view.tsx"],
		["nothing at all", {}, "", "src/index.ts"],
		["a path that only src knows", {}, "/view", "src/view.tsx"],
		[
			"a file that exports do not list",
			{ exports: "./dist/index.js" },
			"/src/view",
			"src/view.tsx",
		],
		[
			"folders that the configuration names",
			{ main: "js/view.js" },
			"",
			"source/view.ts",
			{ outDir: "js", rootDir: "source" },
		],
		[
			"a separate folder for declarations",
			{ types: "decl/view.d.ts" },
			"",
			"src/view.tsx",
			{ declarationDir: "decl", rootDir: "src" },
		],
	])("by %s", (_, manifest, subpath, expected, compilerOptions = {}) => {
		const files = {
			...app,
			"packages/p/package.json": json({ name: "@s/p", ...manifest }),
			"packages/p/tsconfig.json": json({ compilerOptions }),
			"packages/p/src/index.ts": "",
			"packages/p/src/view.tsx": "",
			"packages/p/src/feature/index.ts": "",
			"packages/p/source/view.ts": "",
		};
		expect(weFind({ files }, "app.ts", `@s/p${subpath}`)).toBe(`packages/p/${expected}`);
	});

	test("rather than in outputs that are part of the project", () => {
		const files = {
			...app,
			"packages/p/package.json": json({ name: "p", main: "dist/index.js" }),
			"packages/p/tsconfig.json": json({ compilerOptions: { outDir: "dist", rootDir: "src" } }),
			"packages/p/dist/index.js": "",
			"packages/p/dist/index.d.ts": "",
			"packages/p/src/index.ts": "",
		};
		expect(weFind({ files }, "app.ts", "p")).toBe("packages/p/src/index.ts");
		const bin = { ...files, "packages/p/bin/cli.js": "", "packages/p/src/cli.ts": "" };
		const found = weFind({ files: bin }, "packages/p/bin/cli.js", "../dist/cli.js");
		expect(found).toBe("packages/p/src/cli.ts");
	});

	test.each<[string, Record<string, string>]>([
		["npm", { "package.json": json({ workspaces: ["libs/*", "!libs/out"] }) }],
		["yarn", { "package.json": json({ workspaces: { packages: ["./libs/{in,other}/"] } }) }],
		[
			"pnpm",
			{ "pnpm-workspace.yaml": "# where\npackages:\n  - 'libs/*'  # all\n  - \"!libs/out\"\n" },
		],
		["pnpm in one line", { "pnpm-workspace.yaml": 'packages: ["libs/in", other]\ncatalog: {}\n' }],
	])("in workspaces of %s, and no other package", (_, workspace) => {
		const files = {
			"app.ts": "",
			"libs/in/package.json": json({ name: "in" }),
			"libs/in/index.ts": "",
			"libs/out/package.json": json({ name: "out" }),
			"libs/out/index.ts": "",
			...workspace,
		};
		expect(resolve(files, "app.ts", "in")).toEqual({ kind: "file", path: "libs/in/index.ts" });
		expect(resolve(files, "app.ts", "out")).toEqual({ kind: "external", name: "out" });
	});

	test("by the place that a dependency names, and not if it names another package", () => {
		const files = {
			...app,
			"package.json": json({
				workspaces: ["packages/*"],
				dependencies: { linked: "file:./elsewhere/l", p: "npm:other@1" },
			}),
			"elsewhere/l/package.json": json({ name: "whatever" }),
			"elsewhere/l/index.ts": "",
			"packages/p/package.json": json({ name: "p" }),
			"packages/p/index.ts": "",
		};
		expect(weFind({ files }, "app.ts", "linked")).toBe("elsewhere/l/index.ts");
		expect(resolve(files, "app.ts", "p")).toEqual({ kind: "external", name: "p" });
	});

	test("without a declared workspace, every named package counts, nearer to the root first", () => {
		const files = {
			"a/package.json": json({ name: "p" }),
			"a/index.ts": "",
			"b/fixtures/p/package.json": json({ name: "p" }),
			"b/fixtures/p/index.ts": "",
		};
		expect(weFind({ files }, "b/x.ts", "p")).toBe("a/index.ts");
	});
});

describe("what is not a file of the project", () => {
	const files = {
		"tsconfig.json": json({ compilerOptions: { baseUrl: "src", paths: { "@/*": ["./*"] } } }),
		"package.json": json({ dependencies: { "@/real": "1", lib: "1" } }),
		"src/a.ts": "",
		"src/lib/x.ts": "",
		"src/ui/x.ts": "",
	};

	test.each([
		["react", "react"],
		["react/jsx-runtime", "react"],
		["@scope/pkg/deep/file.js", "@scope/pkg"],
		["fs", "node:fs"],
		["node:fs/promises", "node:fs/promises"],
		["bun:test", "bun:test"],
		["virtual:pages", "virtual:pages"],
		["https://esm.sh/react?dev", "https://esm.sh/react"],
		["data:text/javascript,1", "data:"],
		["lib/not-mine", "lib"],
		["pkg/style.css", "pkg"],
		["./logo.svg", "asset:src/logo.svg"],
		["../data.json", "asset:data.json"],
		["./page.vue?raw", "asset:src/page.vue"],
		["raw-loader!./notes.md", "asset:src/notes.md"],
		["@/logo.svg", "asset:@/logo.svg"],
		["../../../../package.json", "asset:../../../../package.json"],
	])("%s is external: %s", (specifier, name) => {
		expect(resolve(files, "src/a.ts", specifier)).toEqual({ kind: "external", name });
	});

	test.each([
		["./missing", "src/missing is not in the project"],
		["../../outside", "points outside the project"],
		["@/missing", "paths in tsconfig.json"],
		["ui/missing", "src/ui/missing is not in the project"],
		["~/x", "no configuration maps it to a file"],
		["#x", "imports"],
		["/abs/x", "not in the project"],
		["", "empty"],
		["./a\0b", "NUL"],
		["x".repeat(10_000), "longer than"],
	])("%j leads nowhere, and the reason says why", (specifier, reason) => {
		const resolution = resolve(files, "src/a.ts", specifier);
		expect(resolution.kind === "unresolved" && resolution.reason).toContain(reason);
	});

	test("the same words behind a loader mean another file in another folder", () => {
		const resolver = resolverOf({
			files: { ...files, "other/a.ts": "", "other/b.ts": "", "src/b.ts": "" },
		});
		for (const folder of ["src", "other"]) {
			const found = resolver.resolve(`${folder}/a.ts`, "loader!./b", value);
			expect(found).toEqual({ kind: "file", path: `${folder}/b.ts` });
		}
	});

	test("a file behind the hints of a bundler is a file", () => {
		expect(weFind({ files }, "src/a.ts", "./lib/x?worker")).toBe("src/lib/x.ts");
		expect(weFind({ files }, "src/a.ts", "worker-loader!./lib/x")).toBe("src/lib/x.ts");
		expect(weFind({ files }, "src/a.ts", "/src/a.ts")).toBe("src/a.ts");
		expect(weFind({ files }, "src/a.ts", "/project/src/a")).toBe("src/a.ts");
	});
});

describe("which configuration applies", () => {
	const mapping = (target: string, more: object = {}) =>
		json({ compilerOptions: { paths: { x: [target] } }, ...more });

	test("the nearest one, not the root's", () => {
		const files = {
			"tsconfig.json": mapping("./root.ts"),
			"a/tsconfig.json": mapping("./own.ts"),
			"b/jsconfig.json": mapping("./own.js"),
			"root.ts": "",
			"a/own.ts": "",
			"b/own.js": "",
		};
		expect(weFind({ files }, "main.ts", "x")).toBe("root.ts");
		expect(weFind({ files }, "a/deep/main.ts", "x")).toBe("a/own.ts");
		expect(weFind({ files }, "b/main.js", "x")).toBe("b/own.js");
	});

	test("of its references the one that includes the file", () => {
		const references = [{ path: "./tsconfig.app.json" }, { path: "./tsconfig.test.json" }];
		const files = {
			"tsconfig.json": json({ files: [], references }),
			"tsconfig.app.json": mapping("./app.ts", { include: ["src"], exclude: ["**/*.test.ts"] }),
			"tsconfig.test.json": mapping("./test.ts", { include: ["src/**/*.test.ts", "e2e/[id]"] }),
			"app.ts": "",
			"test.ts": "",
		};
		expect(weFind({ files }, "src/a.ts", "x")).toBe("app.ts");
		expect(weFind({ files }, "src/deep/a.test.ts", "x")).toBe("test.ts");
		expect(weFind({ files }, "e2e/[id]/a.ts", "x")).toBe("test.ts");
		expect(weFind({ files }, "other/a.ts", "x")).toBeUndefined();
	});
});

describe("bad configuration", () => {
	test("costs only what it would have said", () => {
		const files = {
			"package.json": "this is no JSON",
			"a/package.json": "[1, 2]",
			"tsconfig.json": json({
				extends: ["./tsconfig.json", "./loop.json", "missing", "../../out"],
			}),
			"loop.json": json({ extends: "./tsconfig.json", compilerOptions: { baseUrl: "src" } }),
			"src/x.ts": "",
			"src/y.ts": "",
		};
		const resolver = resolverOf({ files });
		expect(resolver.resolve("src/x.ts", "y", value)).toEqual({ kind: "file", path: "src/y.ts" });
		expect(resolver.problems.map(({ path }) => path).sort()).toEqual([
			"a/package.json",
			"package.json",
		]);
	});

	test("is read as far as it goes", () => {
		const text = `\uFEFF{ // comment, with "quotes"
			'compilerOptions': { "strict": tru, "paths": { "@/*": ["./src/*",], /* , */ } "x": 1, },
			"include": ["src" "test"]`;
		const resolver = resolverOf({ files: { "tsconfig.json": text, "src/x.ts": "" } });
		expect(resolver.resolve("a.ts", "@/x", value)).toEqual({ kind: "file", path: "src/x.ts" });
		expect(resolver.problems).toHaveLength(1);
	});

	test("of absurd shapes does no harm", () => {
		const paths = {
			"**": ["./src/*"],
			"a*b*c": ["./src/*"],
			"": ["./src/x"],
			"*": ["../../../etc/*", "/etc/*", "*/*/*", 7, null, "\0"],
			__proto__x: "no list",
			["k".repeat(5_000)]: ["./src/*"],
		};
		const manifest = {
			name: 7,
			main: {},
			exports: { "./*": { import: [null, { default: "./../../*" }, 1] }, ".": "../up.js" },
			imports: { "#loop": "#loop", "#a": "#b", "#b": "#a", "#/": "../" },
			workspaces: ["../*", "{a,b}{a,b}{a,b}{a,b}{a,b}", "**/**/**/**/x", 3],
			dependencies: { p: 1, q: "file:../../../etc" },
		};
		const files = {
			"tsconfig.json": json({
				compilerOptions: { paths, baseUrl: 5, rootDirs: "x" },
				references: {},
			}),
			"package.json": json(manifest),
			"a/package.json": `{"__proto__": {"main": "x.ts"}, "constructor": 1, "exports": {"__proto__": "./x.ts"}}`,
			"a/x.ts": "",
			"src/x.ts": "",
			"x.ts": "",
		};
		const resolver = resolverOf({ files });
		const asked = [
			"#loop",
			"#a",
			"#/x",
			"q",
			"p",
			"a/../../x",
			"passwd",
			"constructor",
			"./a",
			"**",
		];
		for (const specifier of asked) {
			const resolution = resolver.resolve("src/x.ts", specifier, value);
			if (resolution.kind === "file") expect(Object.keys(files)).toContain(resolution.path);
		}
		expect(resolver.resolve("src/x.ts", "#loop", value).kind).toBe("unresolved");
	});

	test("nested without end, or extending without end, is given up on", () => {
		const files: Record<string, string> = {
			"tsconfig.json": `${'{"a":'.repeat(50_000)}`,
			"b/tsconfig.json": json({ extends: ["./0.json", "./0.json"] }),
			"b/x.ts": "",
		};
		for (let at = 0; at < 40; at++) {
			files[`b/${at}.json`] = json({ extends: [`./${at + 1}.json`, `./${at + 1}.json`] });
		}
		const resolver = resolverOf({ files });
		expect(resolver.resolve("b/x.ts", "./x", value)).toEqual({ kind: "file", path: "b/x.ts" });
		expect(resolver.resolve("x.ts", "./b/x", value)).toEqual({ kind: "file", path: "b/x.ts" });
	});
});

describe("on disk", () => {
	test("a scan and a reader make a resolver; links within the project lead to their target", async () => {
		const root = tempDir();
		const write = (path: string, text = "") => {
			mkdirSync(dirname(join(root, path)), { recursive: true });
			writeFileSync(join(root, path), text);
		};
		write("shared/x.ts");
		write("app/a.ts");
		write("tsconfig.json", json({ extends: "@t/base" }));
		write(
			"node_modules/@t/base/tsconfig.json",
			json({ compilerOptions: { baseUrl: "../../../app" } }),
		);
		write("huge/tsconfig.json", " ".repeat(2 * 1024 * 1024));
		write("huge/h.ts");
		symlinkSync("../shared", join(root, "app/linked"));
		symlinkSync("loop", join(root, "app/loop"));
		const tree = await scanTree(root);
		const paths = (files: readonly { path: string }[]) => new Set(files.map(({ path }) => path));
		const resolver = new ModuleResolver({
			root,
			files: paths(tree.files),
			configs: paths(tree.configs),
			links: tree.links,
			readConfig: createConfigReader(root),
		});
		const found = (from: string, specifier: string) => resolver.resolve(from, specifier, value);
		expect(found("app/a.ts", "./linked/x")).toEqual({ kind: "file", path: "shared/x.ts" });
		expect(found("app/a.ts", "./loop/x").kind).toBe("unresolved");
		expect(found("shared/x.ts", "a")).toEqual({ kind: "file", path: "app/a.ts" });
		expect(found("huge/h.ts", "./h")).toEqual({ kind: "file", path: "huge/h.ts" });
		expect(resolver.problems).toMatchObject([{ path: "huge/tsconfig.json" }]);
		const also = await scanTree(root, { alsoConfigs: resolver.lookedFor });
		expect([...paths(also.configs)]).toContain("node_modules/@t/base/tsconfig.json");
	});
});
