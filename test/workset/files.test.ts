import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { pathsOf } from "../../src/workset/commands.ts";
import { filesMatching } from "../../src/workset/files.ts";
import { tempDir } from "../support/temp.ts";

function project(...paths: string[]): string {
	const root = tempDir();
	for (const path of paths) {
		mkdirSync(dirname(join(root, path)), { recursive: true });
		writeFileSync(join(root, path), "text\n");
	}
	return root;
}

const many = (folder: string) => Array.from({ length: 50 }, (_, index) => `${folder}/f${index}`);

test("a pattern that names a folder looks only there, however large the rest of the project is", async () => {
	const root = project(...many("aaa"), "zzz/src/x.ts", "zzz/src/deep/y.ts");
	expect(await filesMatching(root, "zzz/src/*.ts", 10)).toEqual({
		files: ["zzz/src/x.ts"],
		cut: false,
	});
	expect(await filesMatching(root, "./zzz//src/./**/*.ts", 10)).toEqual({
		files: ["zzz/src/deep/y.ts", "zzz/src/x.ts"],
		cut: false,
	});
});

test("a pattern without ** does not look below the folders that it speaks of", async () => {
	const root = project(...many("src/generated"), "src/x.ts");
	expect(await filesMatching(root, "src/*.ts", 10)).toEqual({ files: ["src/x.ts"], cut: false });
	expect(await filesMatching(root, "sr*/*.ts", 10)).toEqual({ files: ["src/x.ts"], cut: false });
});

test("a search that had to stop says so", async () => {
	const root = project(...many("aaa/bbb"), "zzz/x.ts");
	expect(await filesMatching(root, "**/*.ts", 20)).toMatchObject({ cut: true });
	const refused: string[] = [];
	await pathsOf(["**/*.ts", "**/*.md", "@**/*.md"], root, refused, 20);
	expect(refused).toEqual([
		"**/*.ts was searched for in the first 20 entries of the project only: name a folder, such as src/*.ts",
		"**/*.md was searched for in the first 20 entries of the project only: name a folder, such as src/*.ts",
		"@**/*.md was searched for in the first 20 entries of the project only: name a folder, such as src/*.ts",
	]);
});

test("all matches are found, in an order that does not depend on the disk", async () => {
	const root = project(...many("src"));
	const { files } = await filesMatching(root, "src/**");
	expect(files).toEqual(many("src").sort());
});

test("a pattern finds nothing outside of the project, nor behind links", async () => {
	const outside = project("secret.ts");
	const root = project("src/x.ts");
	symlinkSync(outside, join(root, "link"));
	for (const pattern of ["../*", "src/../../*", "link/*", "src/../src/*"]) {
		expect(await filesMatching(root, pattern)).toEqual({ files: [], cut: false });
	}
});

test("a folder is named by how its name looks, not by how it is encoded", async () => {
	const root = project("caf\u00e9/x.ts");
	expect((await filesMatching(root, "cafe\u0301/*.ts")).files).toEqual(["caf\u00e9/x.ts"]);
});
