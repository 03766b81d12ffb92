import { execFileSync } from "node:child_process";
import { mkdirSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parseIgnoreRules } from "../../../src/codeindex/scan/gitignore.ts";
import { walkFolders } from "../../../src/codeindex/scan/walk-files.ts";
import { fc, runs } from "../../support/property.ts";
import { tempDir } from "../../support/temp.ts";

const files = ["a", "b.ts", "a.b", "x/a", "x/b.ts", "x/y/a", "x/y/b.ts", "ab/a b", "[a]/#b"];
const pattern = fc.constantFrom(
	...["a", "*.ts", "/a", "x/", "x/*", "x/**", "**/a", "**/y/**", "!a", "!x/y/a", "!*.ts", "x/**/a"],
	...[
		"[ab]",
		"[!a]*",
		"\\[a\\]",
		"a?b",
		"*",
		"!x/",
		"/*",
		"#b",
		"\\#b",
		"a\\ b",
		"a b  ",
		"y/",
		"**",
	],
	...["[", "x/y", "/x/*/b.ts", "", "  ", "!", "/", "a*", "*b*", "[a-b].ts", "!/x", "\\!a", "**x"],
);

describe("ignore rules", () => {
	/** Compares a walk with git's list, for rules at the root and in a folder. */
	function agree(files: readonly string[], pattern: fc.Arbitrary<string>, numRuns: number) {
		const root = tempDir();
		execFileSync("git", ["init", "-q"], { cwd: root });
		for (const path of files) {
			mkdirSync(join(root, path, ".."), { recursive: true });
			writeFileSync(join(root, path), "");
		}
		fc.assert(
			fc.property(
				fc.array(pattern, { maxLength: 5 }),
				fc.array(pattern, { maxLength: 3 }),
				(rules, inner) => {
					writeFileSync(join(root, ".gitignore"), rules.join("\n"));
					writeFileSync(join(root, "x/.gitignore"), inner.join("\r\n"));
					const listed = execFileSync("git", ["ls-files", "-zo", "--exclude-standard"], {
						cwd: root,
					});
					const expected = listed.toString().split("\0").filter(Boolean).sort();
					const walked = [...walkFolders(root)].flatMap((folder) => folder.files).sort();
					expect(walked).toEqual(expected);
				},
			),
			{ numRuns: runs(numRuns) },
		);
	}

	test("leave the same files as git's", { tags: "slow" }, () => {
		agree(files, pattern, 100);
	});

	test("leave the same files as git's, whatever they are made of", { tags: "slow" }, () => {
		const names = ["a", "b", "aa", "ab", "ba.ts", "-", "]", "A1", "é", "a b", "*a"];
		const more = [...names, ...names.map((name) => `x/${name}`), "x/y/ab", "bb/x/y/a", "éa/a.b.ts"];
		const atom = fc.constantFrom(
			...[
				"a",
				"b",
				"*",
				"*",
				"**",
				"?",
				"/",
				"/",
				"x",
				"y",
				".ts",
				"é",
				"-",
				"]",
				"[",
				"\\",
				"!",
				" ",
			],
			...["[ab]", "[!a]", "[^b]", "[a-b]", "[]-]", "[a-]", "[[:alpha:]]", "[[:digit:]b]", "[\\]]"],
			...[
				"[[:upper:]-z]",
				"[[:no:]]",
				"[b-a]",
				"[a/b]",
				"\\/",
				"***",
				"\\a",
				"\\*",
				"**/",
				"/**",
				"[é]",
				"???",
			],
		);
		const anything = fc
			.array(atom, { minLength: 1, maxLength: 6 })
			.map((atoms) => atoms.join(""))
			// Oddities of git: two stars behind a plain beginning are folders, and before `\\/` at least one.
			.filter((text) => !/^[^*?[\\]*[^*?[\\/]\*\*|\*\\\//.test(text));
		agree(more, anything, 150);
	});

	test("take few steps for each path, though there are thousands", { tags: "slow" }, () => {
		const lines = (make: (at: number) => string) =>
			Array.from({ length: 5_000 }, (_, at) => make(at)).join("\n");
		const names = ["src", "abcdefgh".repeat(12)];
		const steps = (text: string) => {
			const effort = { left: 1e9 };
			parseIgnoreRules(text).decide(names, false, effort);
			return 1e9 - effort.left;
		};
		expect(steps(lines((at) => `name${at}`))).toBe(0);
		expect(steps(lines((at) => `/some/path${at}/`))).toBe(0);
		expect(steps(lines((at) => `*.end${at}`))).toBe(0);
		// Ruled out by a character that the name does not have.
		expect(steps(lines((at) => `**/${"a*b*c*d*".repeat(12)}z${at}`))).toBe(5_000);
		// Nothing rules these out but trying each of their parts, once.
		const hostile = lines((at) => `**/*${"a*b*c*d*".repeat(12)}${"h".repeat(at % 900)}`);
		expect(steps(hostile)).toBeLessThanOrEqual(5_000 * 52);
	});

	test("count what parts take at every place of a name", () => {
		const name = `z${"a".repeat(240)}`;
		const steps = (part: string) => {
			const effort = { left: 1_000_000 };
			parseIgnoreRules(`*${part}z*`).decide([name], false, effort);
			return 1_000_000 - effort.left;
		};
		expect(steps("?".repeat(120))).toBeGreaterThan(120 * 120);
		expect(steps("[ab]".repeat(120))).toBeGreaterThan(120 * 120);
		expect(steps(`[${"b".repeat(900)}]`)).toBeGreaterThan(200 * 900);
		expect(steps("a".repeat(120))).toBeGreaterThan(400);
		expect(steps("a")).toBeLessThan(12);
	});

	test("of a file that is too long are applied line by line, as far as it is read", () => {
		const root = tempDir();
		writeFileSync(join(root, ".gitignore"), `a\n${"#\n".repeat(524_286)}**b\nc`);
		for (const name of ["a", "b", "c", "d"]) writeFileSync(join(root, name), "");
		const [folder] = [...walkFolders(root)];
		expect(folder?.files).toEqual([".gitignore", "b", "c", "d"]);
		const message = "only its first 1048576 characters are applied";
		expect(folder?.trouble).toEqual([{ kind: "rules", path: ".gitignore", message }]);
	});

	test("of a file that no memory holds are applied as far as it is read", () => {
		const root = tempDir();
		writeFileSync(join(root, ".gitignore"), "a\n");
		truncateSync(join(root, ".gitignore"), 2 ** 32);
		writeFileSync(join(root, "a"), "");
		const [folder] = [...walkFolders(root)];
		expect(folder?.files).toEqual([".gitignore"]);
		expect(folder?.trouble).toMatchObject([{ kind: "rules", path: ".gitignore" }]);
	});

	test("are not applied once matching them has cost too much, and that is said", {
		tags: "slow",
	}, () => {
		const root = tempDir();
		const rules = Array.from({ length: 1_500 }, (_, at) => `*${"a*".repeat(199)}b${at % 7}`);
		writeFileSync(join(root, ".gitignore"), `x.ts\n${rules.join("\n")}\n${"y".repeat(1_001)}`);
		for (let at = 0; at < 60; at++) {
			writeFileSync(join(root, `${"a".repeat(200)}b0123456${at}`), "");
		}
		const effort = { left: 1_000_000 };
		const [folder, ...others] = [...walkFolders(root, effort)];
		expect(others).toEqual([]);
		expect(folder?.files.length).toBeGreaterThan(40);
		expect(effort.left).toBeGreaterThan(-1_000);
		expect(folder?.trouble).toEqual([
			{ kind: "rules", path: ".gitignore", message: "1 line of it too long to be applied" },
			{
				kind: "rules",
				path: ".gitignore",
				message: "its 1,500 patterns cost too much to match: it is not applied any more",
			},
		]);
	});

	test("that are made to be slow are not", () => {
		const rules = parseIgnoreRules(
			`${"*a".repeat(400)}b\n${"**/a/".repeat(190)}b\n${"[".repeat(999)}`,
		);
		const names = Array.from({ length: 100 }, () => "a".repeat(250));
		expect(rules.decide(names, false)).toBeUndefined();
	});
});
