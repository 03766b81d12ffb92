import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseIgnoreRules } from "../../../src/codeindex/scan/gitignore.ts";
import { walkFolders } from "../../../src/codeindex/scan/walk-files.ts";
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
	test("leave the same files as git's", () => {
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
			{ numRuns: 100 },
		);
	});

	test("that are made to be slow are not", () => {
		const rules = parseIgnoreRules(
			`${"*a".repeat(400)}b\n${"**/a/".repeat(190)}b\n${"[".repeat(999)}`,
		);
		const names = Array.from({ length: 100 }, () => "a".repeat(250));
		expect(rules.decide(names, false)).toBeUndefined();
	});
});
