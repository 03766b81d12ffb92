import { globSync, readFileSync, realpathSync } from "node:fs";
import { homedir, tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";

test("the tests run on the Node the project pins, not on the system's", () => {
	expect(process.version, "start the tests with npm test or npx vitest").toMatch(/^v24\./);
});

test("the tests have a home folder of their own", () => {
	expect(homedir()).not.toBe(userInfo().homedir);
	expect(homedir().startsWith(realpathSync(tmpdir()))).toBe(true);
});

test("no test says how long something may take: that depends on the machine and its load", () => {
	const here = import.meta.dirname;
	const files = globSync("**/*.test.ts", { cwd: here });
	const timed = /now\(\) - \w+\)\s*\.toBeLess/;
	expect(files.filter((file) => timed.test(readFileSync(join(here, file), "utf8")))).toEqual([]);
	expect(files.length).toBeGreaterThan(100);
});
