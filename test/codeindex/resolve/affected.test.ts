import { describe, expect, test } from "vitest";
import { ModuleResolver } from "../../../src/codeindex/resolve/resolver.ts";
import { affectedBy } from "../../../src/codeindex/resolve/specifier.ts";
import { fc, runs } from "../../support/property.ts";

const json = JSON.stringify;

/** Configuration that maps about everything, so that a new file can be found in as many ways as there are. */
const configs: Record<string, string> = {
	"package.json": json({
		name: "self",
		workspaces: ["packages/*"],
		imports: { "#*": ["./src/*.js", "./lib/*/main.ts"], "#out": "./dist/x.js" },
		exports: { ".": "./dist/index.js", "./*": { import: "./lib/*.mjs", default: "./src/*.js" } },
	}),
	"tsconfig.json": json({
		compilerOptions: {
			baseUrl: ".",
			outDir: "dist",
			rootDirs: ["src", "lib"],
			moduleSuffixes: [".ios", ""],
			paths: { "@/*": ["./lib/*", "./src/*/main", "./src/*"], y: ["./src/x.ts", "./lib"] },
		},
	}),
	"packages/p/package.json": json({ name: "p", main: "dist/main.js", types: "dist/x.d.ts" }),
	"packages/q/package.json": json({ name: "q", exports: { "./*": "./build/esm/*.mjs" } }),
	"src/x/package.json": json({ main: "../y.js", types: "deep/er/y.js" }),
	"src/y/package.json": json({ main: "main" }),
	"tools/package.json": json({ main: "linked/main" }),
};
const links = [
	{ path: "src/linked", target: "packages/p/src" },
	{ path: "tools/linked", target: "packages/p/src" },
];

const folder = fc.constantFrom(
	...["", "src/", "src/x/", "src/y/", "src/x/deep/er/", "lib/", "lib/x/", "dist/"],
	...["packages/p/", "packages/p/src/", "packages/q/", "packages/q/src/x/"],
);
const name = fc.constantFrom("x", "y", "index", "main", "lib", "src", "x.y");
const extension = fc.constantFrom(
	...[".ts", ".tsx", ".d.ts", ".js", ".mts", ".mjs", ".cts", ".ios.ts", ".d.css.ts", ".css.ts"],
);
const path = fc.tuple(folder, name, extension).map((parts) => parts.join(""));
const specifier = fc
	.tuple(
		fc.constantFrom(
			...["./", "../", "../../", "./x/", "../src/", "./linked/", "../dist/", "../packages/p/"],
			...["@/", "", "#", "p/", "q/", "self/", "lib/", "/src/", "raw-loader!./"],
		),
		fc.constantFrom(
			"x",
			"y",
			"index",
			"main",
			"lib",
			"src",
			"x.y",
			"",
			"..",
			"p",
			"q",
			"self",
			"out",
		),
		fc.constantFrom("", ".js", ".ts", ".mjs", ".css", "/", "?worker", ".ios", "/x"),
	)
	.map((parts) => parts.join(""));

const resolverOver = (files: Iterable<string>) => {
	return new ModuleResolver({
		root: "/project",
		files: new Set(files),
		configs: new Set(Object.keys(configs)),
		links,
		readConfig: (asked) => configs[asked],
	});
};

describe("affectedBy", () => {
	test("names every request that leads elsewhere after files were added and removed", {
		tags: "slow",
	}, () => {
		fc.assert(
			fc.property(
				fc.uniqueArray(path, { maxLength: 15 }),
				fc.uniqueArray(path, { minLength: 1, maxLength: 4 }),
				fc.array(fc.nat(), { maxLength: 3 }),
				fc.array(fc.tuple(path, specifier), { minLength: 20, maxLength: 40 }),
				(before, toAdd, toRemove, requests) => {
					const removed = [...new Set(toRemove.flatMap((at) => before[at % before.length] ?? []))];
					const added = toAdd.filter((each) => !before.includes(each));
					const after = [...before.filter((each) => !removed.includes(each)), ...added];
					const change = { added, removed, configs: [], links };
					const old = resolverOver(before);
					const fresh = resolverOver(after);
					for (const [from, asked] of requests) {
						const resolution = old.resolve(from, asked, ["value"]);
						const anew = fresh.resolve(from, asked, ["value"]);
						if (json(anew) === json(resolution)) continue;
						if (affectedBy(change, { from, specifier: asked, resolution })) continue;
						expect({ from, asked, ...anew }).toEqual({ from, asked, ...resolution });
					}
				},
			),
			{ numRuns: runs(250) },
		);
	});

	test("leaves alone what a new file with another name cannot touch", () => {
		const change = { added: ["src/new.ts"], removed: ["src/gone.ts"], configs: [], links };
		const led = (specifier: string, to: string) => {
			const resolution = { kind: "file", path: to } as const;
			return affectedBy(change, { from: "src/a.ts", specifier, resolution });
		};
		expect(led("./b", "src/b.ts")).toBe(false);
		expect(led("./b.js", "src/b.ts")).toBe(false);
		expect(led("./new", "src/new.js")).toBe(true);
		expect(led("../lib/new.js", "lib/new.js")).toBe(true);
		expect(led("./gone", "src/gone.ts")).toBe(true);
		expect(led("@/b", "src/b.ts")).toBe(true);
		const removal = { added: [], removed: ["src/gone.ts"], configs: [], links };
		const external = { kind: "external", name: "react" } as const;
		const asked = { from: "src/a.ts", specifier: "react", resolution: external };
		expect(affectedBy(removal, asked)).toBe(false);
	});

	test.each([
		["src/x.ts", "./linked/", "packages/p/src/index.ts"],
		["src/x.ts", "./linked", "packages/p/src/index.ts"],
		// By `rootDirs`.
		["lib/x.ts", "./linked/", "packages/p/src/index.ts"],
		// By the `main` of a folder's package.json.
		["lib/x.ts", "../tools", "packages/p/src/main.ts"],
	])("in %s, %s may lead through a link to the new file %s", (from, specifier, path) => {
		const resolution = resolverOver([from]).resolve(from, specifier, ["value"]);
		expect(resolution.kind).toBe("unresolved");
		const after = resolverOver([from, path]).resolve(from, specifier, ["value"]);
		expect(after).toEqual({ kind: "file", path });
		const change = { added: [path], removed: [], configs: [], links };
		expect(affectedBy(change, { from, specifier, resolution })).toBe(true);
	});

	test("an asset below a folder whose last file is removed may be a package's afterwards", () => {
		const [from, specifier] = ["x.ts", "lib/x.css"];
		const resolution = resolverOver(["x.ts", "lib/x/x.ts"]).resolve(from, specifier, ["value"]);
		expect(resolution).toEqual({ kind: "external", name: "asset:lib/x.css" });
		const after = resolverOver(["x.ts"]).resolve(from, specifier, ["value"]);
		expect(after).toEqual({ kind: "external", name: "lib" });
		const change = { added: [], removed: ["lib/x/x.ts"], configs: [], links };
		expect(affectedBy(change, { from, specifier, resolution })).toBe(true);
	});

	test("takes a change of configuration to touch everything", () => {
		const resolution = { kind: "file", path: "src/b.ts" } as const;
		const request = { from: "src/a.ts", specifier: "./b", resolution };
		const change = { added: [], removed: [], configs: ["tsconfig.json"], links };
		expect(affectedBy(change, request)).toBe(true);
	});
});
