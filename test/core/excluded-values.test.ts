import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ExcludedValues } from "../../src/core/excluded-values.ts";
import { tempDir } from "../support/temp.ts";

let clock = 0;
beforeEach(() => {
	vi.spyOn(performance, "now").mockImplementation(() => clock);
});
afterEach(() => {
	vi.restoreAllMocks();
});

function project(files: Record<string, string | Buffer>) {
	const root = tempDir();
	const write = (path: string, text: string | Buffer) => {
		mkdirSync(dirname(join(root, path)), { recursive: true });
		writeFileSync(join(root, path), text);
	};
	for (const [path, text] of Object.entries(files)) write(path, text);
	const values = new ExcludedValues({ root, exclude: [".env*", "token.txt"], env: {} });
	const look = async () => {
		clock += 60_000;
		await values.refresh();
	};
	return { root, write, values, look };
}

test("excluded files anywhere in the project count, others and those of packages do not", async () => {
	const { root, values, look, write } = project({
		".env": "A=first-value",
		"deep/er/token.txt": "second-value-9\n",
		"notes.txt": "third-value-77\n",
		"node_modules/x/.env": "B=fourth-value",
	});
	const outside = join(tempDir(), "shared");
	writeFileSync(outside, "C=fifth-value");
	symlinkSync(outside, join(root, ".env.shared"));
	expect(values.appearIn("first-value")).toBe(false);
	await look();
	const shown = ["first-value", "second-value-9", "fifth-value"];
	expect(shown.map((text) => values.appearIn(`it is ${text}.`))).toEqual([true, true, true]);
	expect(values.appearIn("third-value-77 fourth-value")).toBe(false);
	expect(values.files).toEqual({ read: 3, leftOut: 0 });
	write("deep/new/.env", "D=sixth-value");
	await look();
	expect(values.appearIn("sixth-value")).toBe(true);
});

test("a value that was changed counts, and so does the one before", async () => {
	const { values, look, write } = project({ ".env": "A=first-value" });
	await look();
	const { revision } = values;
	await look();
	expect(values.revision).toBe(revision);
	write(".env", "A=other-value");
	await look();
	expect(values.revision).not.toBe(revision);
	expect(["first-value", "other-value"].map((text) => values.appearIn(text))).toEqual([true, true]);
});

test("calls share a look, but for what was written since it began", async () => {
	const { values, look, write } = project({ ".env": "A=first-value" });
	await look();
	write("a/.env", "A=other-value");
	await values.refresh();
	expect(values.appearIn("other-value")).toBe(false);
	values.expire();
	await values.refresh();
	expect(values.appearIn("other-value")).toBe(true);
	clock += 60_000;
	const before = values.refresh();
	write("b/.env", "A=third-value");
	values.expire();
	await Promise.all([values.refresh(), values.refresh(), before]);
	expect(values.appearIn("third-value")).toBe(true);
});

test("files that are too large, too many or no text are bounded and counted", {
	tags: "slow",
}, async () => {
	const many = Array.from({ length: 203 }, (_, at) => [`d${at}/.env`, `A=value-${at}`] as const);
	const { values, look } = project(Object.fromEntries(many));
	await look();
	expect(values.files).toEqual({ read: 200, leftOut: 3 });
	const large = project({ ".env": `A=${"x".repeat(300_000)}`, "token.txt": "\0binary-value-1" });
	await large.look();
	expect(large.values.files).toEqual({ read: 1, leftOut: 1 });
	expect(large.values.appearIn("binary-value-1")).toBe(false);
});

test("a file in UTF-16, as programs of Windows write it, has values", async () => {
	const little = Buffer.from("\uFEFFA=first-value\r\n", "utf16le");
	const big = Buffer.from("\uFEFFA=other-value\r\n", "utf16le").swap16();
	const { values, look } = project({ ".env": little, "a/.env": big });
	await look();
	expect(["first-value", "other-value"].map((text) => values.appearIn(text))).toEqual([true, true]);
});

test("many keys do not displace the variables of a project, and what does not fit is counted", {
	tags: "slow",
}, async () => {
	const lines = (from: number) =>
		Array.from({ length: 12_000 }, (_, at) => `x${from + at}y`.padEnd(14, "z")).join("\n");
	const { values, look, write } = project({
		...Object.fromEntries(Array.from({ length: 250 }, (_, at) => [`.${at}/token.txt`, "a"])),
		"token.txt": lines(0),
		".0/token.txt": lines(12_000),
		"z/y/x/.env": "A=first-value",
	});
	await look();
	expect(values.appearIn("first-value")).toBe(true);
	expect(values.files).toEqual({ read: 200, leftOut: 53 });
	write("z/y/x/.env", "A=other-value");
	await look();
	expect(values.appearIn("other-value")).toBe(true);
});

test("a project that is not there has no values", async () => {
	const values = new ExcludedValues({ root: "/nowhere", exclude: [".env"], env: {} });
	await values.refresh();
	expect(values.appearIn("anything at all")).toBe(false);
});
