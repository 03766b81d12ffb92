import { describe, expect, test } from "vitest";
import { fc, runs } from "../../support/property.ts";
import type { MemoryProject } from "./typescript-oracle.ts";
import { resolverOf, typescriptFinds, weFind } from "./typescript-oracle.ts";

const json = JSON.stringify;
const bundler = json({ compilerOptions: { module: "esnext", moduleResolution: "bundler" } });

/** Source files without content, besides those given with one. */
function project(paths: string, files: Record<string, string> = {}): MemoryProject {
	const sources = paths.split(/\s+/).filter((path) => path !== "");
	return { files: { ...Object.fromEntries(sources.map((path) => [path, ""])), ...files } };
}

function options(compilerOptions: object, more: object = {}): Record<string, string> {
	return {
		"tsconfig.json": json({
			compilerOptions: { module: "esnext", moduleResolution: "bundler", ...compilerOptions },
			...more,
		}),
	};
}

/** `from specifier -> file`, a dash where nothing is to be found. */
function expectAgreement(given: MemoryProject, cases: string, tsconfig = "tsconfig.json"): void {
	for (const line of cases.trim().split("\n")) {
		const [from = "", specifier = "", , path] = line.trim().split(/\s+/);
		const expected = path === "-" ? undefined : path;
		expect([line.trim(), typescriptFinds(given, from, specifier, { tsconfig })]).toEqual([
			line.trim(),
			expected,
		]);
		expect([line.trim(), weFind(given, from, specifier)]).toEqual([line.trim(), expected]);
	}
}

describe("like TypeScript, we find", () => {
	test("sources by the extension that they will have once compiled", () => {
		const given = project(
			"a.ts b.tsx c.mts d.cts e.d.ts f.jsx g.d.mts h.js h.d.ts i.js j.tsx j.ts",
			{ "tsconfig.json": bundler },
		);
		expectAgreement(
			given,
			`a.ts ./a.js -> a.ts
			a.ts ./b.js -> b.tsx
			a.ts ./b.jsx -> b.tsx
			a.ts ./c.mjs -> c.mts
			a.ts ./d.cjs -> d.cts
			a.ts ./e.js -> e.d.ts
			a.ts ./f -> f.jsx
			a.ts ./f.jsx -> f.jsx
			a.ts ./f.js -> f.jsx
			a.ts ./g.mjs -> g.d.mts
			a.ts ./h -> h.d.ts
			a.ts ./h.js -> h.d.ts
			a.ts ./i -> i.js
			a.ts ./i.jsx -> i.js
			a.ts ./j -> j.ts
			a.ts ./j.jsx -> j.tsx
			a.ts ./a.ts -> a.ts
			a.ts ./a.mjs -> -
			a.ts ./b.ts -> b.tsx
			a.ts ./missing -> -`,
		);
	});

	test("folders by their index or what their package.json names", () => {
		const given = project(
			`src/a.ts src/x/index.ts src/x.ts src/y/index.tsx src/z/lib/main.ts src/z/index.ts
			src/t/types.d.ts src/t/main.js src/m/main/index.ts src/only/index.js index.ts`,
			{
				"tsconfig.json": bundler,
				"src/z/package.json": json({ main: "lib/main.js" }),
				"src/t/package.json": json({ main: "main.js", types: "./types.d.ts" }),
				"src/m/package.json": json({ main: "main" }),
			},
		);
		expectAgreement(
			given,
			`src/a.ts ./x -> src/x.ts
			src/a.ts ./x/ -> src/x/index.ts
			src/a.ts ./x/index.js -> src/x/index.ts
			src/a.ts ./y -> src/y/index.tsx
			src/a.ts ./z -> src/z/lib/main.ts
			src/a.ts ./t -> src/t/types.d.ts
			src/a.ts ./m -> src/m/main/index.ts
			src/a.ts ./only -> src/only/index.js
			src/x/index.ts .. -> -
			src/a.ts .. -> index.ts
			src/a.ts ../ -> index.ts
			src/y/index.tsx . -> src/y/index.tsx
			src/y/index.tsx ./ -> src/y/index.tsx
			src/y/index.tsx ../x/../y -> src/y/index.tsx`,
		);
	});

	test("TypeScript before JavaScript everywhere, if the configuration asks for the older way", () => {
		const sources = "a.ts x.js x/index.ts";
		const older = { compilerOptions: { module: "commonjs", moduleResolution: "node10" } };
		expectAgreement(project(sources, { "tsconfig.json": json(older) }), "a.ts ./x -> x/index.ts");
		expectAgreement(project(sources, { "tsconfig.json": bundler }), "a.ts ./x -> x.js");
	});

	test("files through paths: exact ones first, then the longest text before the star", () => {
		const given = project(
			`src/a.ts src/lib/x.ts src/lib/x/deep.ts src/special.ts src/exact.ts other/x.ts second/y.ts
			src/ext.mts src/pre/z-post.ts src/all/fallback.ts`,
			options({
				paths: {
					"@/*": ["./src/*"],
					"@/lib/*": ["./missing/*", "./src/lib/*"],
					"@/lib/x": ["./other/x"],
					exact: ["./src/exact.ts"],
					ext: ["./src/ext.mts"],
					"multi/*": ["./first/*", "./second/*"],
					"pre-*-post": ["./src/pre/*-post"],
					"*": ["./src/all/*"],
				},
			}),
		);
		expectAgreement(
			given,
			`src/a.ts @/lib/x -> other/x.ts
			src/a.ts @/lib/x/deep -> src/lib/x/deep.ts
			src/a.ts @/lib/x.js -> src/lib/x.ts
			src/a.ts @/special -> src/special.ts
			src/a.ts @/exact.ts -> src/exact.ts
			src/a.ts exact -> src/exact.ts
			src/a.ts ext -> src/ext.mts
			src/a.ts multi/y -> second/y.ts
			src/a.ts pre-z-post -> src/pre/z-post.ts
			src/a.ts fallback -> src/all/fallback.ts
			src/a.ts @/missing -> -
			src/a.ts @/ -> -
			src/a.ts @/../other/x -> other/x.ts`,
		);
	});

	test("files through baseUrl, and paths relative to it", () => {
		const given = project(
			"src/a.ts src/components/button.tsx src/utils/index.ts lib/x.ts src/fs.ts",
			options({ baseUrl: "src", paths: { "~lib/*": ["../lib/*"] } }),
		);
		expectAgreement(
			given,
			`src/a.ts components/button -> src/components/button.tsx
			src/a.ts utils -> src/utils/index.ts
			src/a.ts ~lib/x -> lib/x.ts
			src/a.ts fs -> src/fs.ts
			src/a.ts components/missing -> -`,
		);
	});

	test("paths relative to the configuration that declares them, through a chain of extends", () => {
		const given = project(
			"packages/a/src/x.ts packages/a/src/y.ts shared/s.ts config/local.ts packages/a/gen/g.ts",
			{
				"config/base.json": json({
					compilerOptions: {
						module: "esnext",
						moduleResolution: "bundler",
						paths: {
							"shared/*": ["../shared/*"],
							local: ["./local"],
							"gen/*": [`\${configDir}/gen/*`],
						},
					},
				}),
				"config/middle.json": `\uFEFF// a comment\n{ "extends": "./base", /* more */ }`,
				"packages/a/tsconfig.json": `{ "extends": ["./missing.json", "../../config/middle.json"], }`,
			},
		);
		expectAgreement(
			given,
			`packages/a/src/x.ts shared/s -> shared/s.ts
			packages/a/src/x.ts local -> config/local.ts
			packages/a/src/x.ts gen/g -> packages/a/gen/g.ts
			packages/a/src/x.ts ./y.js -> packages/a/src/y.ts`,
			"packages/a/tsconfig.json",
		);
	});

	test("a base configuration in a package, installed or of the workspace", () => {
		const paths = { "@/*": [`\${configDir}/src/*`] };
		const base = json({
			compilerOptions: { module: "esnext", moduleResolution: "bundler", paths },
		});
		for (const extended of ["@tsconfig/strict", "@tsconfig/strict/tsconfig.json"]) {
			const given = project("src/a.ts src/b.ts", {
				"tsconfig.json": json({ extends: extended }),
				"node_modules/@tsconfig/strict/package.json": json({ name: "@tsconfig/strict" }),
				"node_modules/@tsconfig/strict/tsconfig.json": base,
			});
			expectAgreement(given, "src/a.ts @/b -> src/b.ts");
			expect([...useAll(given).lookedFor]).toContain("node_modules/@tsconfig/strict/tsconfig.json");
		}
		const linked: MemoryProject = {
			files: {
				"package.json": json({ workspaces: ["packages/*"] }),
				"packages/config/package.json": json({ name: "@repo/config" }),
				"packages/config/react.json": base,
				"packages/a/tsconfig.json": json({ extends: "@repo/config/react.json" }),
				"packages/a/src/a.ts": "",
				"packages/a/src/b.ts": "",
			},
			links: { "node_modules/@repo/config": "packages/config" },
		};
		const found = "packages/a/src/a.ts @/b -> packages/a/src/b.ts";
		expectAgreement(linked, found, "packages/a/tsconfig.json");
	});

	test("files in merged root folders", () => {
		const given = project(
			"src/views/a.ts generated/views/b.ts src/views/c.ts generated/views/c.ts",
			options({ rootDirs: ["src", "generated"] }),
		);
		expectAgreement(
			given,
			`src/views/a.ts ./b -> generated/views/b.ts
			generated/views/b.ts ./a -> src/views/a.ts
			generated/views/b.ts ./c -> generated/views/c.ts
			src/views/a.ts ./c -> src/views/c.ts`,
		);
	});

	test("files with a suffix that the configuration asks for", () => {
		const given = project(
			"src/a.ts src/x.ios.ts src/x.ts src/y.ts src/z.native.tsx",
			options({ moduleSuffixes: [".ios", ".native", ""] }),
		);
		expectAgreement(
			given,
			`src/a.ts ./x -> src/x.ios.ts
			src/a.ts ./y -> src/y.ts
			src/a.ts ./z.js -> src/z.native.tsx`,
		);
	});

	test("what imports of the package name, with patterns, conditions and fallbacks", () => {
		const given = project(
			`src/a.ts src/internal/x.ts src/internal/y/z.ts src/types.d.ts src/node.ts src/default.ts
			src/second.ts src/old/o.ts`,
			{
				"tsconfig.json": bundler,
				"package.json": json({
					name: "me",
					imports: {
						"#x": "./src/internal/x.js",
						"#internal/*": "./src/internal/*.js",
						"#js/*.js": "./src/internal/*.ts",
						"#typed": { types: "./src/types.d.ts", default: "./src/default.js" },
						"#conditional": { node: "./src/node.js", default: "./src/default.js" },
						"#nested": { import: { missing: "./no.js", default: "./src/second.js" } },
						"#list": ["./src/missing.js", "./src/second.js"],
						"#nothing": null,
						"#outside": "../x.js",
						"#old/": "./src/old/",
						"#again": "#x",
					},
				}),
			},
		);
		expectAgreement(
			given,
			`src/a.ts #x -> src/internal/x.ts
			src/a.ts #internal/x -> src/internal/x.ts
			src/a.ts #internal/y/z -> src/internal/y/z.ts
			src/a.ts #js/x.js -> src/internal/x.ts
			src/a.ts #typed -> src/types.d.ts
			src/a.ts #conditional -> src/default.ts
			src/a.ts #nested -> src/second.ts
			src/a.ts #list -> src/second.ts
			src/a.ts #nothing -> -
			src/a.ts #outside -> -
			src/a.ts #old/o.js -> src/old/o.ts
			src/a.ts #again -> src/internal/x.ts
			src/a.ts #unknown -> -
			src/a.ts #internal/../x -> -`,
		);
	});

	test("the package itself by its name, if it has exports", () => {
		const exports = { ".": "./src/index.ts", "./sub/*": "./src/sub/*.js", "./no": null };
		const sources = "src/index.ts src/a.ts src/sub/x.ts src/no.ts";
		const given = project(sources, {
			"tsconfig.json": bundler,
			"package.json": json({ name: "@me/pkg", exports }),
		});
		expectAgreement(
			given,
			`src/a.ts @me/pkg -> src/index.ts
			src/a.ts @me/pkg/sub/x -> src/sub/x.ts
			src/a.ts @me/pkg/no -> -
			src/a.ts @me/pkgs -> -`,
		);
	});

	test("the source of an output of the package itself", () => {
		const given = project("src/index.ts src/a.ts src/sub.mts", {
			...options({ outDir: "dist", rootDir: "src" }),
			"package.json": json({
				name: "me",
				exports: { ".": { types: "./dist/index.d.ts", import: "./dist/index.js" } },
				imports: { "#sub": "./dist/sub.mjs" },
			}),
		});
		expectAgreement(given, "src/a.ts me -> src/index.ts\nsrc/a.ts #sub -> src/sub.mts");
	});

	test("sources of workspace packages behind their links", () => {
		const given: MemoryProject = {
			files: {
				"tsconfig.json": bundler,
				"package.json": json({ workspaces: ["packages/*"] }),
				"app/a.ts": "",
				"packages/plain/package.json": json({ name: "plain", main: "./lib/main.js" }),
				"packages/plain/lib/main.ts": "",
				"packages/plain/lib/other.ts": "",
				"packages/typed/package.json": json({ name: "@s/typed", types: "t.d.ts", main: "m.js" }),
				"packages/typed/t.d.ts": "",
				"packages/typed/m.js": "",
				"packages/exp/package.json": json({
					name: "exp",
					exports: {
						".": { import: "./src/esm.ts", require: "./src/cjs.ts" },
						"./*": "./src/*.ts",
						"./feature/*.js": "./src/feature/*.ts",
					},
				}),
				"packages/exp/src/esm.ts": "",
				"packages/exp/src/cjs.ts": "",
				"packages/exp/src/feature/f.ts": "",
				"packages/index/package.json": json({ name: "index" }),
				"packages/index/index.ts": "",
				"packages/index/sub/package.json": json({ main: "./inner.js" }),
				"packages/index/sub/inner.ts": "",
			},
			links: Object.fromEntries(
				["plain", "exp", "index"]
					.map((name) => [`node_modules/${name}`, `packages/${name}`])
					.concat([["node_modules/@s/typed", "packages/typed"]]),
			),
		};
		expectAgreement(
			given,
			`app/a.ts plain -> packages/plain/lib/main.ts
			app/a.ts plain/lib/other -> packages/plain/lib/other.ts
			app/a.ts plain/lib/other.js -> packages/plain/lib/other.ts
			app/a.ts @s/typed -> packages/typed/t.d.ts
			app/a.ts exp -> packages/exp/src/esm.ts
			app/a.ts exp/cjs -> packages/exp/src/cjs.ts
			app/a.ts exp/feature/f.js -> packages/exp/src/feature/f.ts
			app/a.ts index -> packages/index/index.ts
			app/a.ts index/sub -> packages/index/sub/inner.ts
			app/a.ts not-there -> -`,
		);
		const required = typescriptFinds(given, "app/a.ts", "exp", { mode: "require" });
		expect(weFind(given, "app/a.ts", "exp", ["require"])).toBe(required);
		expect(required).toBe("packages/exp/src/cjs.ts");
	});

	test("by the format of the asking file, where TypeScript follows Node", () => {
		const exports = {
			".": { import: "./esm.ts", require: "./cjs.ts" },
			"./n": { node: "./n.ts", default: "./d.ts" },
		};
		const given = project("a.ts b.mts c.cts esm.ts cjs.ts n.ts d.ts", {
			"tsconfig.json": json({ compilerOptions: { module: "nodenext" } }),
			"package.json": json({ name: "me", exports }),
		});
		expectAgreement(
			given,
			`a.ts me -> cjs.ts
			b.mts me -> esm.ts
			c.cts me -> cjs.ts
			a.ts me/n -> n.ts`,
		);
		expect(weFind(given, "a.ts", "me", ["dynamic"])).toBe("esm.ts");
	});

	test("nothing for specifiers that no file has", () => {
		const given = project("a.ts", { "tsconfig.json": bundler });
		expectAgreement(
			given,
			`a.ts react -> -
			a.ts node:fs -> -
			a.ts ../a -> -
			a.ts ./a/b -> -
			a.ts .a -> -
			a.ts @ -> -`,
		);
	});
});

describe("over random projects", () => {
	test("whatever TypeScript finds, we find; and no other file where only its rules apply", {
		tags: "slow",
	}, () => {
		fc.assert(
			fc.property(randomProject, ({ given, requests }) => {
				const resolver = resolverOf(given);
				for (const { from, specifier } of requests) {
					const expected = typescriptFinds(given, from, specifier);
					const find = (kind: "value" | "type") => {
						const resolution = resolver.resolve(from, specifier, [kind]);
						return resolution.kind === "file" ? resolution.path : undefined;
					};
					const found = find("value");
					if (found === expected || isQuirk(given, specifier, expected)) continue;
					// JavaScript depends on what a package loads, which may be in another folder than its types.
					if ([from, found].every(isJavaScript) && find("type") === expected) continue;
					if (expected === undefined && found !== undefined && isIntended(specifier, found))
						continue;
					expect({ from, specifier, found }).toEqual({ from, specifier, found: expected });
				}
			}),
			{ numRuns: runs(200) },
		);
	});
});

function isJavaScript(path: string | undefined): boolean {
	return path !== undefined && /\.[cm]?jsx?$/.test(path);
}

/**
 * Where we go further than TypeScript: files whose extension it wants to see written, packages of the project that are
 * found in their sources, and paths that begin at the root.
 */
function isIntended(specifier: string, found: string): boolean {
	if (/\.[cm][jt]s$/.test(found)) return true;
	return /^(pkg|self)(\/|$)|^#|^\//.test(specifier);
}

/**
 * What TypeScript does without meaning it: with a suffix, it finds `x.ios.ts` and says `x.ts`; with `rootDirs`, the
 * folder `src/` may be the file `lib.ts`; and the older way of resolving prefers TypeScript in a package to JavaScript in
 * the place that `paths` name.
 */
function isQuirk({ files }: MemoryProject, specifier: string, found: string | undefined): boolean {
	if (found !== undefined && !Object.hasOwn(files, found)) return true;
	const isOlder = files["tsconfig.json"]?.includes("node10");
	if (isOlder && /^(pkg|self)/.test(specifier)) return true;
	return /[./]$/.test(specifier) && files["tsconfig.json"]?.includes("rootDirs") === true;
}

const name = fc.constantFrom("x", "y", "index", "lib");
const folder = fc.constantFrom(
	"",
	"src/",
	"src/x/",
	"src/y/",
	"lib/",
	"packages/pkg/",
	"packages/pkg/src/",
);
const extension = fc.constantFrom(
	...[".ts", ".tsx", ".d.ts", ".js", ".jsx", ".mts", ".cts", ".mjs", ".d.mts", ".ios.ts"],
);
const sourcePath = fc.tuple(folder, name, extension).map((parts) => parts.join(""));
const written = fc.constantFrom("", ".js", ".ts", ".jsx", ".mjs", ".tsx", "/", "/index", ".ios");
const specifier = fc.oneof(
	fc
		.tuple(fc.constantFrom("./", "../", "../src/", "./x/", "../../"), name, written)
		.map((parts) => parts.join("")),
	fc
		.tuple(fc.constantFrom("@/", "lib/", "", "pkg/", "#", "self/", "pkg/src/"), name, written)
		.map((parts) => parts.join("")),
	fc.constantFrom("pkg", "self", ".", "..", "./", "../", "exact", "#exact"),
);
const target = fc.constantFrom(
	"./src/*",
	"./lib/*",
	"./src/x/*",
	"./src/*/index",
	"./packages/pkg/*",
);
const compilerOptions = fc.record(
	{
		module: fc.constant("esnext"),
		moduleResolution: fc.constantFrom("bundler", "bundler", "node10"),
		baseUrl: fc.constantFrom(".", "src", "lib"),
		paths: fc.record(
			{
				"@/*": fc.array(target, { maxLength: 2 }),
				"*": fc.array(target, { maxLength: 2 }),
				"li*": fc.array(target, { maxLength: 1 }),
				exact: fc.constant(["./src/x.ts", "./lib/y"]),
			},
			{ requiredKeys: [] },
		),
		allowJs: fc.boolean(),
		rootDirs: fc.constant(["src", "lib"]),
		moduleSuffixes: fc.constant([".ios", ""]),
	},
	{ requiredKeys: ["module", "moduleResolution"] },
);
const entry = fc.constantFrom(
	"./src/index.js",
	"./lib/x.js",
	"./index.ts",
	"./src/x",
	"./y.js",
	"lib",
);
const packageJson = fc.record(
	{
		main: entry,
		types: entry,
		exports: fc.constantFrom<unknown>(
			"./src/index.js",
			{ ".": "./src/x.ts", "./*": "./src/*.js" },
			{ import: "./y.js", default: "./src/index.js" },
			{ ".": { types: "./src/x.d.ts", default: "./y.js" }, "./x": null, "./src/*": "./src/*.ts" },
		),
		imports: fc.constantFrom({ "#*": "./src/*.js", "#exact": ["./lib/x.js", "./src/y.ts"] }),
	},
	{ requiredKeys: [] },
);

const randomProject = fc
	.record({
		paths: fc.uniqueArray(sourcePath, { minLength: 3, maxLength: 14 }),
		compilerOptions,
		own: packageJson,
		pkg: packageJson,
		requests: fc.array(fc.tuple(fc.nat(), specifier), { minLength: 5, maxLength: 20 }),
	})
	.map(({ paths, compilerOptions: chosen, own, pkg, requests }) => {
		const files: Record<string, string> = Object.fromEntries(paths.map((path) => [path, ""]));
		files["tsconfig.json"] = json({ compilerOptions: chosen });
		files["package.json"] = json({ name: "self", workspaces: ["packages/*"], ...own });
		files["packages/pkg/package.json"] = json({ name: "pkg", ...pkg });
		const given: MemoryProject = { files, links: { "node_modules/pkg": "packages/pkg" } };
		return {
			given,
			requests: requests.map(([at, asked]) => {
				return { from: paths[at % paths.length] ?? "", specifier: asked };
			}),
		};
	});

function useAll(given: MemoryProject) {
	const resolver = resolverOf(given);
	for (const path of Object.keys(given.files)) resolver.resolve(path, "./a", []);
	return resolver;
}
