import { execFileSync } from "node:child_process";
import {
	chmodSync,
	existsSync,
	mkdirSync,
	readdirSync,
	rmSync,
	statSync,
	symlinkSync,
	truncateSync,
	writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { MAX_SOURCE_BYTES, type ScannedTree } from "../../../src/codeindex/scan/scanned-tree.ts";
import { atEnd, tempDir } from "../../support/temp.ts";
import { scanTree } from "./fresh-scan.ts";

function write(root: string, paths: readonly string[], text = ""): void {
	for (const path of paths) {
		mkdirSync(dirname(join(root, path)), { recursive: true });
		writeFileSync(join(root, path), text);
	}
}

function git(root: string, ...args: string[]): void {
	const identity = [
		"-c",
		"user.name=a",
		"-c",
		"user.email=a@b",
		"-c",
		"protocol.file.allow=always",
	];
	execFileSync("git", [...identity, ...args], { cwd: root, stdio: "pipe" });
}

const pathsOf = (tree: ScannedTree) => tree.files.map((file) => file.path);

/** The same project with and without git: what a scan finds must be the same. */
describe.each(["git", "walk"] as const)("a project listed by %s", (by) => {
	function makeProject(): string {
		const root = tempDir();
		if (by === "git") git(root, "init", "-q");
		return root;
	}

	test("gives sources and configuration with their stat data, sorted", async () => {
		const root = makeProject();
		const sources = [
			"a.ts",
			"b.tsx",
			"c.mts",
			"d.cts",
			"e.js",
			"f.jsx",
			"g.mjs",
			"h.cjs",
			"i.d.ts",
		];
		const configs = ["jsconfig.json", "package.json", "pnpm-workspace.yaml", "tsconfig.build.json"];
		write(
			root,
			[...sources, ...configs, "readme.md", "data.json", "src/tsconfig.json", "a.tsv"],
			"1",
		);
		const tree = await scanTree(root);
		expect(tree.listedBy).toBe(by);
		expect(pathsOf(tree)).toEqual(sources);
		const found = tree.configs.map((file) => file.path);
		expect(found).toEqual([...configs.slice(0, 3), "src/tsconfig.json", "tsconfig.build.json"]);
		const { size, mtimeMs, ctimeMs, ino } = statSync(join(root, "a.ts"));
		expect(tree.files[0]).toEqual({ path: "a.ts", bytes: size, mtimeMs, ctimeMs, inode: ino });
	});

	test("leaves out what is ignored, by nested rules too, and node_modules always", async () => {
		const root = makeProject();
		write(root, [".gitignore"], "dist/\n*.gen.ts\n!keep.gen.ts\n/top.ts\n");
		write(root, ["src/.gitignore"], "local.ts\n!b.gen.ts\n");
		write(root, ["dist/a.js", "src/dist/b.js", "src/a.gen.ts", "src/b.gen.ts", "keep.gen.ts"]);
		write(root, ["top.ts", "src/top.ts", "src/local.ts", "local.ts", "node_modules/x/index.js"]);
		write(root, ["src/node_modules/y/index.js", ".hidden/h.ts"]);
		expect(pathsOf(await scanTree(root))).toEqual([
			".hidden/h.ts",
			"keep.gen.ts",
			"local.ts",
			"src/b.gen.ts",
			"src/top.ts",
		]);
	});

	test("names links within it, and follows none that leave it or lead nowhere", async () => {
		const root = makeProject();
		const outside = tempDir();
		write(outside, ["secret.ts"]);
		write(root, ["real/x.ts", "a.ts"]);
		symlinkSync("real", join(root, "folder"));
		symlinkSync("a.ts", join(root, "b.ts"));
		symlinkSync(outside, join(root, "out"));
		symlinkSync(join(outside, "secret.ts"), join(root, "secret.ts"));
		symlinkSync("loop.ts", join(root, "loop.ts"));
		symlinkSync("..", join(root, "real/up"));
		const tree = await scanTree(root);
		expect(pathsOf(tree)).toEqual(["a.ts", "real/x.ts"]);
		expect(tree.links).toEqual([
			{ path: "b.ts", target: "a.ts" },
			{ path: "folder", target: "real" },
		]);
		const noted = tree.trouble.map(({ kind, path }) => `${kind} ${path}`);
		expect(noted).toEqual(["link loop.ts", "link out", "link secret.ts"]);
	});

	test("says which files are too big to be sources", async () => {
		const root = makeProject();
		write(root, ["a.ts", "big.js"]);
		truncateSync(join(root, "big.js"), MAX_SOURCE_BYTES + 1);
		const tree = await scanTree(root);
		expect(pathsOf(tree)).toEqual(["a.ts"]);
		expect(tree.trouble).toMatchObject([{ kind: "too-big", path: "big.js" }]);
	});

	test("says which names are not UTF-8, and finds one that looks like it", async () => {
		const root = makeProject();
		write(root, ["a.ts", "deep/b.ts", "c\uFFFD.ts"]);
		const named = (name: string) =>
			Buffer.concat([Buffer.from(`${root}/`), Buffer.from(name, "latin1")]);
		for (const name of ["c\xff.ts", "deep/d\xe9.js", "picture\xff.png"]) {
			writeFileSync(named(name), "");
		}
		mkdirSync(named("folder\xff"));
		writeFileSync(named("folder\xff/e.ts"), "");
		const tree = await scanTree(root);
		expect(pathsOf(tree)).toEqual(["a.ts", "c\uFFFD.ts", "deep/b.ts"]);
		const noted = tree.trouble;
		expect(noted.map(({ kind }) => kind)).toEqual(["bad-name", "bad-name", "bad-name"]);
		expect(noted.map(({ path }) => path)).toEqual([
			"c\uFFFD.ts",
			"deep/d\uFFFD.js",
			expect.stringMatching(/^folder\uFFFD/),
		]);
	});

	test("can have any name that a file can have", async () => {
		const root = makeProject();
		const names = ["new\nline.ts", "tab\t.ts", "ünï ☃.ts", '"quoted".ts', " space.ts", "[id]/x.ts"];
		write(root, names);
		expect(pathsOf(await scanTree(root))).toEqual([...names].sort());
	});

	test("is given up on when aborted", { tags: "slow" }, async () => {
		const root = makeProject();
		write(root, ["a.ts"]);
		await expect(scanTree(root, { signal: AbortSignal.abort() })).rejects.toMatchObject({
			code: "aborted",
		});
		const many = Array.from({ length: 600 }, (_, at) => `src/${at % 30}/f${at}.ts`);
		write(root, many);
		if (by === "git") git(root, "add", "-A");
		const abort = new AbortController();
		const scan = scanTree(root, { signal: abort.signal, onProgress: () => abort.abort() });
		await expect(scan).rejects.toMatchObject({ code: "aborted" });
	});
});

describe("with git", () => {
	function repository(...paths: string[]): string {
		const root = tempDir();
		git(root, "init", "-q");
		write(root, paths);
		git(root, "add", "-A");
		git(root, "commit", "-qm", "x", "--allow-empty");
		return root;
	}

	test("tracked files that were deleted are gone, untracked ones are there, staged ones once", async () => {
		const root = repository("deleted.ts", "kept.ts", "folder/gone.ts");
		rmSync(join(root, "deleted.ts"));
		rmSync(join(root, "folder"), { recursive: true });
		write(root, ["new.ts", "staged.ts"]);
		git(root, "add", "staged.ts");
		const tree = await scanTree(root);
		expect(pathsOf(tree)).toEqual(["kept.ts", "new.ts", "staged.ts"]);
		expect(tree.trouble).toEqual([]);
	});

	test("a subfolder of the repository is a project of its own", async () => {
		const root = repository("a.ts", "sub/b.ts", "sub/c/d.ts");
		write(root, [".gitignore"], "sub/skip.ts\n");
		write(root, ["sub/skip.ts", "sub/new.ts"]);
		expect(pathsOf(await scanTree(join(root, "sub")))).toEqual(["b.ts", "c/d.ts", "new.ts"]);
	});

	test("a folder that its repository ignores is walked", async () => {
		const root = repository("a.ts");
		write(root, [".gitignore"], "vendor/\n");
		write(root, ["vendor/lib/x.ts"]);
		const tree = await scanTree(join(root, "vendor"));
		expect([tree.listedBy, pathsOf(tree)]).toEqual(["walk", ["lib/x.ts"]]);
	});

	test("submodules and repositories inside are looked into, by their own rules", {
		tags: "slow",
	}, async () => {
		const module = repository("m.ts");
		const root = repository("a.ts");
		git(root, "submodule", "--quiet", "add", module, "mods/m");
		write(root, ["nested/n.ts", "nested/skip.ts", "nested/.gitignore"], "skip.ts");
		git(join(root, "nested"), "init", "-q");
		const clone = join(tempDir(), "clone");
		git(root, "commit", "-qam", "module");
		git(root, "clone", "-q", root, clone);
		expect(pathsOf(await scanTree(root))).toEqual(["a.ts", "mods/m/m.ts", "nested/n.ts"]);
		// Never fetched there.
		expect(pathsOf(await scanTree(clone))).toEqual(["a.ts"]);
	});

	test("files behind a folder that has become a link are not followed", async () => {
		const outside = tempDir();
		write(outside, ["x.ts"]);
		const root = repository("a.ts", "folder/x.ts");
		rmSync(join(root, "folder"), { recursive: true });
		symlinkSync(outside, join(root, "folder"));
		expect(pathsOf(await scanTree(root))).toEqual(["a.ts"]);
	});

	test("a stranger's repository gets nothing run and nothing written", async () => {
		const root = repository("a.ts");
		const marker = join(tempDir(), "ran");
		const program = join(root, "evil.sh");
		writeFileSync(program, `#!/bin/sh\ntouch ${marker}\n`);
		chmodSync(program, 0o755);
		for (const key of ["core.fsmonitor", "core.pager", "core.sshCommand", "diff.external"]) {
			git(root, "config", key, program);
		}
		git(root, "config", "core.hooksPath", root);
		git(root, "config", "core.untrackedCache", "true");
		const listing = () => readdirSync(join(root, ".git"), { recursive: true }).sort();
		const before = [listing(), statSync(join(root, ".git/index")).mtimeMs];
		expect(pathsOf(await scanTree(root))).toEqual(["a.ts"]);
		expect(existsSync(marker)).toBe(false);
		expect([listing(), statSync(join(root, ".git/index")).mtimeMs]).toEqual(before);
	});

	test("a repository that git refuses is walked, and the trouble named", async () => {
		const root = repository("a.ts");
		writeFileSync(join(root, ".git/config"), "[core\nbroken");
		const tree = await scanTree(root);
		expect([tree.listedBy, pathsOf(tree)]).toEqual(["walk", ["a.ts"]]);
		expect(tree.trouble).toMatchObject([{ kind: "git", path: "" }]);
	});

	test("the variables of a hook do not make git look at another repository", async () => {
		const other = repository("other.ts");
		const root = repository("a.ts");
		process.env.GIT_DIR = join(other, ".git");
		atEnd(() => delete process.env.GIT_DIR);
		expect(pathsOf(await scanTree(root))).toEqual(["a.ts"]);
	});
});

test("a root that is missing or a file is an error that names it", async () => {
	const root = tempDir();
	write(root, ["a.ts"]);
	await expect(scanTree(join(root, "missing"))).rejects.toThrow(/missing cannot be read/);
	await expect(scanTree(join(root, "a.ts"))).rejects.toThrow(/a\.ts cannot be read.*folder/);
});

test("what git ignores by other files than those of the project stays out when git is too slow", {
	tags: "slow",
}, async () => {
	const top = tempDir();
	git(top, "init", "-q");
	write(top, ["own/a.ts", "app/own/a.ts", "app/b.ts", "app/c.ts", "app/d.ts", "app/e.ts", "d.ts"]);
	writeFileSync(join(top, ".git/info/exclude"), "/app/b.ts\n/own/\n");
	writeFileSync(join(top, ".gitignore"), "/app/c.ts\nd.ts\n");
	writeFileSync(join(top, "app/.gitignore"), "!d.ts\n");
	writeFileSync(join(top, "mine"), "app/e.ts\n");
	git(top, "config", "core.excludesFile", join(top, "mine"));
	for (const [folder, expected] of [
		["", ["app/d.ts", "app/own/a.ts"]],
		["app", ["d.ts", "own/a.ts"]],
	] as const) {
		for (const othersMs of [60_000, 0])
			expect(pathsOf(await scanTree(join(top, folder), { othersMs }))).toEqual(expected);
	}
	// A repository can name anything.
	execFileSync("mkfifo", [join(top, "pipe")]);
	git(top, "config", "core.excludesFile", join(top, "pipe"));
	expect(pathsOf(await scanTree(top, { othersMs: 0 }))).toContain("app/e.ts");
});
