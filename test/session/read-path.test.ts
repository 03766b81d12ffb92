import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, test, vi } from "vitest";
import { firstExisting } from "../../src/readcache/text-file.ts";
import {
	absolutePath,
	addressedPath,
	canonicalPath,
	checkShorthand,
	parseShorthand,
	pathCandidates,
} from "../../src/session/read-path.ts";
import { plain, textOf } from "../readcache/cached-session.ts";
import { fc, runs } from "../support/property.ts";
import { atEnd, tempDir } from "../support/temp.ts";

/** Which file pi reads, and which we find: their texts, which are their names. */
async function found(written: string, cwd: string) {
	const read = plain(cwd)({ toolCallId: "a", path: written });
	const pis = await read.then(textOf, () => "none");
	const file = await firstExisting(pathCandidates(written, cwd));
	const ours = file ? await readFile(file.pathKey, "utf8").catch(() => "none") : "none";
	return { pis, ours };
}

/** Makes files that hold their own names. */
function makeFiles(cwd: string, names: string[]): void {
	for (const name of names) {
		mkdirSync(dirname(join(cwd, name)), { recursive: true });
		writeFileSync(join(cwd, name), name);
	}
}

const NARROW = "\u202F";
const CURLY = "\u2019";
const COMPOSED = "\u00e9"; // é in one character
const DECOMPOSED = "e\u0301"; // é as a letter and its accent

describe("the file that is found is the one pi reads", () => {
	test.each<{ written: string; files: string[]; finds: string }>([
		{ written: "a.txt", files: ["a.txt"], finds: "a.txt" },
		{ written: "./src/../a.txt", files: ["a.txt"], finds: "a.txt" },
		{ written: "@a.txt", files: ["a.txt"], finds: "a.txt" },
		{ written: "@a.txt", files: ["@a.txt"], finds: "none" },
		{ written: "@@a.txt", files: ["@a.txt", "a.txt"], finds: "@a.txt" },
		{ written: "a\u00A0b.txt", files: ["a b.txt"], finds: "a b.txt" },
		{ written: "a\u3000b\u2003c.txt", files: ["a b c.txt"], finds: "a b c.txt" },
		{ written: "a\u00A0b.txt", files: ["a\u00A0b.txt"], finds: "none" },
		{ written: "a\u200Bb.txt", files: ["a\u200Bb.txt"], finds: "a\u200Bb.txt" },
		{ written: "Shot 1 PM.txt", files: [`Shot 1${NARROW}PM.txt`], finds: `Shot 1${NARROW}PM.txt` },
		{
			written: `Shot 1${NARROW}am.txt`,
			files: [`Shot 1${NARROW}am.txt`],
			finds: `Shot 1${NARROW}am.txt`,
		},
		{
			written: "Shot 1 PM.txt",
			files: [`Shot 1${NARROW}PM.txt`, "Shot 1 PM.txt"],
			finds: "Shot 1 PM.txt",
		},
		{ written: "Shot PM x.txt", files: [`Shot${NARROW}PM x.txt`], finds: "none" },
		{
			written: `caf${COMPOSED}.txt`,
			files: [`caf${DECOMPOSED}.txt`],
			finds: `caf${DECOMPOSED}.txt`,
		},
		{ written: `caf${DECOMPOSED}.txt`, files: [`caf${COMPOSED}.txt`], finds: "none" },
		{ written: "it's.txt", files: [`it${CURLY}s.txt`], finds: `it${CURLY}s.txt` },
		{ written: `it${CURLY}s.txt`, files: ["it's.txt"], finds: "none" },
		{
			written: `l'${COMPOSED}cran.txt`,
			files: [`l${CURLY}${DECOMPOSED}cran.txt`],
			finds: `l${CURLY}${DECOMPOSED}cran.txt`,
		},
		{
			written: `l'${COMPOSED}cran.txt`,
			files: [`l${CURLY}${DECOMPOSED}cran.txt`, `l${CURLY}${COMPOSED}cran.txt`],
			finds: `l${CURLY}${COMPOSED}cran.txt`,
		},
		{ written: "it's 1 PM.txt", files: [`it${CURLY}s 1${NARROW}PM.txt`], finds: "none" },
		{ written: "a.txt:2-3", files: ["a.txt"], finds: "none" },
		{ written: "a.txt/", files: ["a.txt"], finds: "a.txt" },
		{ written: "~a.txt", files: ["~a.txt"], finds: "~a.txt" },
		{ written: "a\0b.txt", files: [], finds: "none" },
		{ written: "", files: [], finds: "none" },
	])("$written among $files", async ({ written, files, finds }) => {
		const cwd = tempDir();
		makeFiles(cwd, files);
		const { pis, ours } = await found(written, cwd);
		expect(ours).toBe(pis);
		// Elsewhere the file system itself takes some spellings for others.
		if (process.platform === "linux") expect(pis).toBe(finds);
	});

	test("from the home folder, from a URL, and from the root", async () => {
		const cwd = tempDir();
		const home = join(cwd, "home");
		vi.stubEnv("HOME", home);
		atEnd(() => vi.unstubAllEnvs());
		makeFiles(cwd, ["home/a b.txt", "~/a b.txt"]);
		const full = join(home, "a b.txt");
		const spellings = ["~/a b.txt", "@~/a\u00A0b.txt", pathToFileURL(full).href, full, `@${full}`];
		for (const written of spellings) {
			expect(await found(written, cwd)).toEqual({ pis: "home/a b.txt", ours: "home/a b.txt" });
		}
		expect(absolutePath("~", cwd)).toBe(home);
	});

	test("by whatever mixture of spellings", { tags: "slow" }, async () => {
		const part = fc.constantFrom(
			"a",
			" AM.",
			" pm.",
			"'",
			CURLY,
			COMPOSED,
			DECOMPOSED,
			" ",
			NARROW,
			"@",
			"\u00A0",
			"~",
		);
		const name = fc
			.array(part, { minLength: 1, maxLength: 4 })
			.map((parts) => `x${parts.join("")}y`);
		const spelling = fc.constantFrom<(name: string) => string>(
			(text) => text,
			(text) => text.normalize("NFD"),
			(text) => text.normalize("NFC"),
			(text) => text.replaceAll("'", CURLY),
			(text) => text.replaceAll("'", CURLY).normalize("NFD"),
			(text) => text.replace(/ (AM|pm)\./g, `${NARROW}$1.`),
			(text) => text.replace(/[\u00A0\u202F]/g, " "),
		);
		const cwd = tempDir();
		await fc.assert(
			fc.asyncProperty(name, fc.array(spelling, { maxLength: 3 }), async (written, spellings) => {
				const files = [...new Set(spellings.map((spell) => spell(written)))];
				makeFiles(cwd, files);
				const { pis, ours } = await found(written, cwd);
				for (const file of files) rmSync(join(cwd, file));
				expect(ours).toBe(pis);
			}),
			{ numRuns: runs(300) },
		);
	});
});

describe("the canonical path", () => {
	test("is the same through links, with or without the file itself", () => {
		const cwd = tempDir();
		makeFiles(cwd, ["real/a.txt"]);
		symlinkSync(join(cwd, "real"), join(cwd, "link"));
		symlinkSync(join(cwd, "real", "a.txt"), join(cwd, "file-link"));
		expect(canonicalPath(join(cwd, "link", "a.txt"))).toBe(join(cwd, "real", "a.txt"));
		expect(canonicalPath(join(cwd, "file-link"))).toBe(join(cwd, "real", "a.txt"));
		expect(canonicalPath(join(cwd, "link", "gone", "b.txt"))).toBe(
			join(cwd, "real", "gone", "b.txt"),
		);
		expect(canonicalPath("/")).toBe("/");
	});

	test("of a link to itself, or of what can be no path, is the path", () => {
		const cwd = tempDir();
		symlinkSync(join(cwd, "loop"), join(cwd, "loop"));
		for (const name of ["loop", "a\0b", "x".repeat(5000)]) {
			expect(canonicalPath(join(cwd, name))).toBe(join(cwd, name));
		}
	});

	test("has no limit of parts, and follows links that lead nowhere", { tags: "slow" }, () => {
		const cwd = tempDir();
		const deep = "a/".repeat(10_000);
		symlinkSync(join(cwd, "gone"), join(cwd, "dangling"));
		symlinkSync(join(cwd, "dangling"), join(cwd, "twice"));
		expect(canonicalPath(join(cwd, deep, "b"))).toBe(join(cwd, deep, "b"));
		expect(canonicalPath(join(cwd, "twice", "x", "y"))).toBe(join(cwd, "gone", "x", "y"));
		expect(canonicalPath(join(cwd, "twice"))).toBe(join(cwd, "gone"));
	});
});

describe("a range behind a path", () => {
	test.each<[string, ReturnType<typeof parseShorthand>]>([
		["a.ts:10-20", { path: "a.ts", start: 10, end: 20 }],
		["a.ts:10", { path: "a.ts", start: 10, end: 10 }],
		["C:\\a.ts:1-2", { path: "C:\\a.ts", start: 1, end: 2 }],
		["a:1:2-3", { path: "a:1", start: 2, end: 3 }],
		["a\nb.ts:1", { path: "a\nb.ts", start: 1, end: 1 }],
		["a.ts:0", { path: "a.ts", start: 0, end: 0 }],
		["a.ts", undefined],
		["a.ts:", undefined],
		["a.ts:x", undefined],
		["a.ts:1-", undefined],
		["a.ts:-1", undefined],
		["a.ts:1-2-3", undefined],
		["a.ts:1.5", undefined],
		["a.ts:1 ", undefined],
		[":1-2", undefined],
	])("%j", (written, shorthand) => {
		expect(parseShorthand(written)).toEqual(shorthand);
	});

	test.each(["a:0", "a:0-5", "a:5-2", `a:1-${"9".repeat(20)}`])(
		"that names no lines is refused with its own words: %s",
		(written) => {
			const shorthand = parseShorthand(written);
			if (!shorthand) throw new Error("a range was expected");
			expect(() => checkShorthand(shorthand, written)).toThrow(
				`Invalid line range in "${written}"`,
			);
		},
	);
});

describe("the file behind a file: address", () => {
	test.each([
		["file:a.txt", "/project/a.txt"],
		["file:./sub/../a.txt#part", "/project/a.txt"],
		["FILE:a%20b.txt", "/project/a b.txt"],
		["file:/other/a.txt", "/other/a.txt"],
		["file:///other/a.txt", "/other/a.txt"],
		["file://localhost/other/a.txt", "/other/a.txt"],
		["file:../a.txt", "/a.txt"],
	])("%s is %s", (written, path) => {
		expect(addressedPath(written, "/project")).toBe(path);
	});

	test.each([
		"a.txt",
		"./file:a.txt",
		"https://x/file:a",
		"file://host/a",
		"file:a%2fb",
		"file://[",
	])("%s names none", (written) => {
		expect(addressedPath(written, "/project")).toBeUndefined();
	});
});
