import { execFileSync } from "node:child_process";
import {
	existsSync,
	mkdirSync,
	readFileSync,
	renameSync,
	rmSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, test, vi } from "vitest";
import { TreeScanner } from "../../../src/codeindex/scan/scan-tree.ts";
import { fc, runs } from "../../support/property.ts";
import { atEnd, tempDir } from "../../support/temp.ts";
import { scanTree } from "./fresh-scan.ts";

function write(root: string, path: string, text = ""): void {
	mkdirSync(dirname(join(root, path)), { recursive: true });
	writeFileSync(join(root, path), text);
}

function git(root: string, ...args: string[]): void {
	execFileSync("git", args, { cwd: root, stdio: "pipe" });
}

/**
 * A clock that can be told that all there is has been there for long: then times are believed, as they are of nearly
 * all files of a real project. The file system's own clock has to go on before the next change for that.
 */
function makeClock() {
	let ahead = 0;
	return {
		now: () => Date.now() + ahead,
		async settle() {
			ahead = 10_000;
			await delay(12);
		},
		hurry() {
			ahead = 0;
		},
	};
}

/** Git runs the script first, until the test ends. */
function wrapGit(script: string): void {
	const bin = tempDir();
	const real = execFileSync("sh", ["-c", "command -v git"], { encoding: "utf8" }).trim();
	const text = `#!/bin/sh\n${script}\nexec "${real}" "$@"\n`;
	writeFileSync(join(bin, "git"), text, { mode: 0o755 });
	vi.stubEnv("PATH", `${bin}:${process.env.PATH}`);
	atEnd(() => vi.unstubAllEnvs());
}

test("a wrapper around git that reads its standard input finds that empty", async () => {
	const root = tempDir();
	git(root, "init", "-q");
	write(root, "x.ts");
	wrapGit("cat > /dev/null");
	const { files, trouble, listedBy } = await new TreeScanner(root).scan();
	expect([files.map(({ path }) => path), trouble, listedBy]).toEqual([["x.ts"], [], "git"]);
});

test("git is asked once for what it does not track, if that takes too long", {
	tags: "slow",
}, async () => {
	const root = tempDir();
	git(root, "init", "-q");
	for (const path of ["tracked.ts", "other.ts", "ignored.ts"]) write(root, path);
	write(root, ".gitignore", "ignored.ts\n");
	git(root, "add", "tracked.ts");
	const log = join(tempDir(), "asked");
	// A git that never comes to an end with such files.
	wrapGit(`case "$*" in *--others*) echo asked >> "${log}"; exec sleep 600;; esac`);
	const scanner = new TreeScanner(root);
	for (let round = 0; round < 4; round++) {
		const { files, trouble, listedBy } = await scanner.scan({ othersMs: 500 });
		expect([files.map(({ path }) => path), listedBy]).toEqual([["other.ts", "tracked.ts"], "git"]);
		expect(trouble).toMatchObject([{ kind: "slow", path: "" }]);
	}
	expect(readFileSync(log, "utf8")).toBe("asked\n");
});

const folderNames = ["a", "b", "a/c", "dist", "a/dist", "deep/er/est"];
const fileNames = ["x.ts", "y.js", "package.json", "notes.md", "z.gen.ts", "LICENSE"];
const anyFolder = fc.constantFrom("", ...folderNames);
const anyFile = fc
	.tuple(anyFolder, fc.constantFrom(...fileNames))
	.map(([folder, name]) => (folder === "" ? name : `${folder}/${name}`));
const anyRules = fc.constantFrom(
	"dist/\n",
	"*.gen.ts\n",
	"dist/*\n!dist/x.ts\n",
	"/a\n",
	"x.ts\n",
	"",
);

const anyEdit = fc.oneof(
	{ weight: 4, arbitrary: fc.record({ kind: fc.constant("write" as const), path: anyFile }) },
	{ weight: 2, arbitrary: fc.record({ kind: fc.constant("remove" as const), path: anyFile }) },
	{ weight: 2, arbitrary: fc.record({ kind: fc.constant("replace" as const), path: anyFile }) },
	fc.record({ kind: fc.constant("mkdir" as const), path: anyFolder }),
	fc.record({ kind: fc.constant("remove" as const), path: fc.constantFrom(...folderNames) }),
	fc.record({
		kind: fc.constant("move" as const),
		path: fc.constantFrom(...folderNames),
		to: anyFile,
	}),
	fc.record({ kind: fc.constant("link" as const), path: anyFile, to: anyFile }),
	{
		weight: 2,
		arbitrary: fc.record({
			kind: fc.constant("ignore" as const),
			path: anyFolder,
			rules: anyRules,
		}),
	},
	fc.record({ kind: fc.constant("exclude" as const), rules: anyRules }),
	fc.record({ kind: fc.constant("track" as const), path: anyFile }),
	fc.record({ kind: fc.constant("untrack" as const), path: anyFile }),
	fc.record({ kind: fc.constant("repository" as const), path: fc.constantFrom("b", "deep/er") }),
);
type Edit = typeof anyEdit extends fc.Arbitrary<infer T> ? T : never;

/** Does it as far as it can be done: a folder may stand where a file should be. */
function apply(root: string, edit: Edit, isGit: boolean): void {
	const at = "path" in edit ? join(root, edit.path) : root;
	try {
		switch (edit.kind) {
			case "write":
				write(root, edit.path, `// ${Math.random()}`);
				break;
			case "replace":
				write(root, `${edit.path}.tmp`, `// ${Math.random()}`);
				renameSync(`${at}.tmp`, at);
				break;
			case "remove":
				rmSync(at, { recursive: true, force: true });
				break;
			case "mkdir":
				mkdirSync(at, { recursive: true });
				break;
			case "move":
				renameSync(at, join(root, edit.to));
				break;
			case "link":
				symlinkSync(join(root, edit.to), at);
				break;
			case "ignore":
				write(root, join(edit.path, ".gitignore"), edit.rules);
				break;
			case "exclude":
				if (isGit) write(root, ".git/info/exclude", edit.rules);
				break;
			case "track":
				if (isGit) git(root, "add", "-f", edit.path);
				break;
			case "untrack":
				if (isGit) git(root, "rm", "-q", "--cached", edit.path);
				break;
			case "repository":
				if (existsSync(at)) git(at, "init", "-q");
		}
	} catch {
		// What cannot be done leaves the tree as it is, which is a case too.
	}
}

describe.each(["git", "walk"] as const)("a scanner of a project listed by %s", (by) => {
	function makeProject(): string {
		const root = tempDir();
		if (by === "git") git(root, "init", "-q");
		for (const path of ["x.ts", "a/x.ts", "a/c/y.js", "dist/x.ts", "b/notes.md"]) write(root, path);
		return root;
	}

	test("always finds what a fresh scan finds, whatever was changed and how recently", {
		tags: "slow",
	}, async () => {
		const anySteps = fc.array(
			fc.record({ edits: fc.array(anyEdit, { maxLength: 3 }), isSettled: fc.boolean() }),
			{ minLength: 1, maxLength: 8 },
		);
		await fc.assert(
			fc.asyncProperty(anySteps, async (steps) => {
				const root = makeProject();
				const clock = makeClock();
				const scanner = new TreeScanner(root, clock);
				await scanner.scan();
				for (const { edits, isSettled } of steps) {
					if (isSettled) {
						await clock.settle();
						await scanner.scan();
						await scanner.scan();
						await delay(12);
					}
					for (const edit of edits) apply(root, edit, by === "git");
					expect(await scanner.scan()).toEqual(await scanTree(root));
					clock.hurry();
				}
				rmSync(root, { recursive: true });
			}),
			{ numRuns: runs(by === "git" ? 10 : 20) },
		);
	});
});

describe("a scanner that has seen a project", () => {
	async function makeSettled() {
		const root = tempDir();
		git(root, "init", "-q");
		for (const path of ["x.ts", "a/x.ts", "a/c/y.js"]) write(root, path, "1");
		write(root, ".gitignore", "*.gen.ts\n");
		const clock = makeClock();
		await clock.settle();
		const scanner = new TreeScanner(root, clock);
		await scanner.scan();
		await scanner.scan();
		await delay(12);
		return { root, scanner };
	}

	/** Where git cannot be found, asking it shows in who has listed the files. */
	async function scanWithoutGit(scanner: TreeScanner) {
		vi.stubEnv("PATH", "");
		try {
			return await scanner.scan();
		} finally {
			vi.unstubAllEnvs();
		}
	}

	test("does not ask git again for files that are written, replaced or removed", {
		tags: "slow",
	}, async () => {
		const { root, scanner } = await makeSettled();
		write(root, "a/x.ts", "longer");
		write(root, "x.ts.tmp", "from elsewhere");
		renameSync(join(root, "x.ts.tmp"), join(root, "x.ts"));
		rmSync(join(root, "a/c/y.js"));
		write(root, "a/notes.png", "of no interest");
		const tree = await scanWithoutGit(scanner);
		expect(tree.listedBy).toBe("git");
		expect(tree).toEqual(await scanTree(root));
	});

	test.each([
		["a new source", (root: string) => write(root, "a/new.ts")],
		["a new folder", (root: string) => mkdirSync(join(root, "new"))],
		["a new link", (root: string) => symlinkSync("x.ts", join(root, "y"))],
		["other rules", (root: string) => write(root, ".gitignore", "*.gen.js\n")],
		["rules of the user", (root: string) => write(root, ".git/info/exclude", "x.ts\n")],
		["settings", (root: string) => git(root, "config", "core.excludesFile", "rules")],
		["what is tracked", (root: string) => git(root, "add", "x.ts")],
	])("asks git again after %s", { tags: "slow" }, async (_, change) => {
		const { root, scanner } = await makeSettled();
		change(root);
		expect((await scanWithoutGit(scanner)).listedBy).toBe("walk");
	});

	test("sees a list of what to ignore change that the settings name", {
		tags: "slow",
	}, async () => {
		const { root, scanner } = await makeSettled();
		const rules = join(tempDir(), "rules");
		writeFileSync(rules, "x.gen.js\n");
		git(root, "config", "core.excludesFile", rules);
		await scanner.scan();
		await delay(12);
		writeFileSync(rules, "a\n");
		expect((await scanner.scan()).files.map(({ path }) => path)).toEqual(["x.ts"]);
	});
});
