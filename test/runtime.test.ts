import { expect, test } from "vitest";

test("the tests run on the Node the project pins, not on the system's", () => {
	expect(process.version, "start the tests with npm test or npx vitest").toMatch(/^v24\./);
});
