import { expect, test } from "vitest";
import { explainPi, SUPPORTED_PI } from "../../src/cli/pi-version.ts";
import { documentAt } from "../docs/documents.ts";

test("a pi that lacks what we need is named, with those that have it", () => {
	const error = new SyntaxError(
		"The requested module '@earendil-works/pi-coding-agent' does not provide an export named 'CONFIG_DIR_NAME'",
	);
	expect(explainPi(error, () => "0.74.2")).toMatchObject({
		message: expect.stringContaining(
			`pi 0.74.2 was found, which cannot be used; supported are ${SUPPORTED_PI}`,
		),
		cause: error,
	});
	expect(String(explainPi(error))).toMatch(/pi \d+\.\d+\.\d+ was found/);
});

test("other errors stay as they are", () => {
	const own = new SyntaxError("Unexpected token");
	expect(explainPi(own)).toBe(own);
	const other = new Error("@earendil-works/pi-coding-agent is tired");
	expect(explainPi(other)).toBe(other);
});

test("the README names the same versions", () => {
	expect(documentAt("README.md").text).toContain(`Works with pi ${SUPPORTED_PI}`);
});
