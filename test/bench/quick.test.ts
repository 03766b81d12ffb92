import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { benchNames } from "../../bench/run.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const results = join(root, "bench", "results");

describe("every benchmark runs, ends and leaves the results alone", () => {
	const names = benchNames(root);

	test("all of them are known by their files", () => {
		expect(names).toEqual(expect.arrayContaining(["paging", "readcache", "server"]));
		expect(names).not.toContain("support");
	});

	// A hang ends after four minutes in the runner, which says so; a busy machine is no failure.
	test.each(names)("%s", { tags: "slow", timeout: 300_000 }, async (name) => {
		const before = contents();
		const words = [join(root, "bench", "run.ts"), name, "--quick"];
		// Rejects, with what was printed, if the status is not 0.
		const { stdout, stderr } = await promisify(execFile)(process.execPath, words);
		expect(stderr).toBe("");
		// The table of its cases has a first row.
		expect(stdout).toMatch(/\(index\) │ case .*\n.*\n│ 0 +│ \S/);
		expect(contents()).toEqual(before);
	});
});

function contents(): Record<string, string> {
	const read = (file: string) => readFileSync(join(results, file), "utf8");
	return Object.fromEntries(readdirSync(results).map((file) => [file, read(file)]));
}
