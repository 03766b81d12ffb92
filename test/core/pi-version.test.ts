import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { isTestedPi, piFault, SUPPORTED_PI } from "../../src/core/pi-version.ts";
import { documentAt } from "../docs/documents.ts";

test.each([
	["0.74.2", "refused"],
	["0.87.0", "refused"],
	["0.87.1", "tested"],
	["0.87.2", "tested"],
	["0.88.0", "untested"],
	["0.100.0", "untested"],
	["1.0.3", "untested"],
	["1.5.0", "tested"],
	["1.5.0-beta.1", "tested"],
	["1.6.0", "untested"],
	["2.0.0", "refused"],
	["2.0.0-beta.1", "refused"],
	["of an unknown version", "refused"],
])("pi %s is %s", (version, expected) => {
	const isRefused = piFault(version) !== undefined;
	expect(isRefused ? "refused" : isTestedPi(version) ? "tested" : "untested").toBe(expected);
});

test("a refused pi is named, with those that are supported", () => {
	expect(piFault("0.74.2")).toBe(
		`pi 0.74.2 was found, but it is not supported (supported: ${SUPPORTED_PI})`,
	);
});

test("package.json lets npm take the same versions, and installs none by itself", () => {
	const { peerDependencies, peerDependenciesMeta } = JSON.parse(
		readFileSync(new URL("../../package.json", import.meta.url), "utf8"),
	);
	expect(new Set(Object.values(peerDependencies))).toEqual(new Set([">=0.87.1 <2"]));
	for (const name of Object.keys(peerDependencies)) {
		expect(peerDependenciesMeta[name]).toEqual({ optional: true });
	}
});

test("the README names the same versions", () => {
	expect(documentAt("README.md").text).toContain(`Works with pi ${SUPPORTED_PI}`);
});
