import { symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { buildText, statusText } from "../../src/code/index-text.ts";
import { coverageLine } from "../../src/code/outline.ts";
import { openCodeIndex } from "../../src/codeindex/index.ts";
import { atEnd, tempDir } from "../support/temp.ts";

describe("sources made to end the process that parses them", () => {
	const many = (text: string, times = 20_000) => text.repeat(times);
	const hostile: Record<string, string> = {
		"brackets that comments seem to close": many("(/*)*/"),
		"what could be type arguments": `${many("a<b,", 8000)}c`,
		powers: `a${many("**a", 50_000)}`,
		"a sum beside a character of two bytes": `x = "é"; a${many("+a", 100_000)}`,
		"a quote that only seems to begin a string": `if(a)/"/;${many("(", 100_000)};"`,
	};

	const ask = async (sources: readonly string[]) => {
		const root = tempDir();
		for (const [at, source] of sources.entries()) writeFileSync(join(root, `h${at}.ts`), source);
		writeFileSync(join(root, "honest.ts"), "export const honest = 1;\n");
		const index = openCodeIndex({ root, folder: tempDir() });
		atEnd(() => index.close());
		const { coverage } = await index.build();
		const { definitions } = await index.usages({ symbol: "honest", includeTests: true });
		return { files: coverage.files, definitions: definitions.length };
	};

	test("cost a process for parsing, and are told as files that are not understood", {
		tags: "slow",
	}, async () => {
		const sources = Object.values(hostile);
		expect(await ask(sources)).toEqual({ files: sources.length + 1, definitions: 1 });
	});
});

test("a damaged lock file is made anew", { tags: "slow" }, async () => {
	const root = tempDir();
	writeFileSync(join(root, "a.ts"), "export const a = 1;\n");
	const folder = tempDir();
	const first = openCodeIndex({ root, folder });
	const { database } = await first.status();
	await first.build();
	await first.close();
	writeFileSync(
		`${database}-lock`,
		"this is no database, and long enough to be looked at".repeat(20),
	);
	const second = openCodeIndex({ root, folder });
	atEnd(() => second.close());
	expect((await second.usages({ symbol: "a" })).definitions).toHaveLength(1);
});

test("what is left out is said, with the reason", { tags: "slow" }, async () => {
	const root = tempDir();
	writeFileSync(join(root, "a.ts"), "export const a = 1;\n");
	writeFileSync(join(root, "data.js"), "");
	truncateSync(join(root, "data.js"), 9 * 1024 * 1024);
	const index = openCodeIndex({ root, folder: tempDir() });
	atEnd(() => index.close());
	const { coverage } = await index.build();
	expect(coverage.leftOut).toMatchObject({ count: 1, first: [{ path: "data.js" }] });
	const line = coverageLine(coverage, coverage.checkedMs);
	expect(line).toMatch(/; 1 left out \(data\.js: it has 9437184 bytes/);
	const again = await index.search({ query: "a" });
	expect(again.coverage.leftOut?.count).toBe(1);
});

test("what is left out is counted by its kind, in answers, builds and the status", {
	tags: "slow",
}, async () => {
	const root = tempDir();
	writeFileSync(join(root, "a.ts"), "export const a = 1;\n");
	for (const name of ["data.js", "more.js"]) {
		writeFileSync(join(root, name), "");
		truncateSync(join(root, name), 9 * 1024 * 1024);
	}
	writeFileSync(Buffer.from(`${root}/b\xff.ts`, "latin1"), "");
	symlinkSync("nowhere.ts", join(root, "broken.ts"));
	const index = openCodeIndex({ root, folder: tempDir() });
	atEnd(() => index.close());
	const report = await index.build();
	const { coverage } = report;
	expect(coverage).toMatchObject({ leftOut: { count: 3 }, linksNotFollowed: 1 });
	const counts = "3 left out: 1 with names that are not UTF-8, 2 too large (";
	expect(coverageLine(coverage, coverage.checkedMs)).toContain(counts);
	expect(buildText(report)).toContain(counts);
	expect(buildText(report)).toContain("1 link not followed (broken, or out of the project).");
	const lines = statusText(await index.status(), Date.now());
	expect(lines.filter((line) => line.startsWith("not in it: "))).toEqual([
		expect.stringContaining(counts),
		"not in it: 1 link not followed (broken, or out of the project)",
	]);
});

test.each([
	["../other.ts", "../other.ts is outside of the project"],
	["", "The project's root is not a file"],
])(
	"a path that is no file of the project is called that: %j",
	{ tags: "slow" },
	async (path, message) => {
		const root = tempDir();
		writeFileSync(join(root, "a.ts"), "export const a = 1;\n");
		const index = openCodeIndex({ root, folder: tempDir() });
		atEnd(() => index.close());
		await index.build();
		const asked = index.dependencies({ path });
		await expect(asked).rejects.toMatchObject({ code: "outside-project" });
		await expect(asked).rejects.toThrow(message);
	},
);
