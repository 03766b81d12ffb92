import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { isRecentNode, LEAST_NODE, requireNode } from "../../src/cli/node-version.ts";

test.each([
	["24.21.0", true],
	["23.0.0", true],
	["22.19.0", true],
	["22.20.1", true],
	["22.18.9", false],
	["20.20.2", false],
	["9.99.0", false],
])("Node.js %s: %s", (version, isRecent) => {
	expect(isRecentNode(version)).toBe(isRecent);
});

test("one that is too old is named, with what is needed", () => {
	expect(() => requireNode("20.20.2")).toThrow("22.19 or newer is needed, this is 20.20.2");
});

test("it is the version that the package asks for", () => {
	const manifest = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
	expect(JSON.parse(manifest).engines.node).toBe(`>=${LEAST_NODE}`);
});
