import { realpathSync } from "node:fs";
import { homedir, tmpdir, userInfo } from "node:os";
import { expect, test } from "vitest";

test("the tests run on the Node the project pins, not on the system's", () => {
	expect(process.version, "start the tests with npm test or npx vitest").toMatch(/^v24\./);
});

test("the tests have a home folder of their own", () => {
	expect(homedir()).not.toBe(userInfo().homedir);
	expect(homedir().startsWith(realpathSync(tmpdir()))).toBe(true);
});
