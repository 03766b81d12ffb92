import { readFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";

test("the client brings along neither schemas nor packages, and is small enough for a page", () => {
	const sources = new Map<string, string>();
	load(new URL("../../src/protocol/client.ts", import.meta.url), sources);
	const files = [...sources.keys()].map((url) => url.replace(/.*\/src\/protocol\//, ""));
	expect(files.filter((file) => !/^(client\.ts|client\/|version\.ts)/.test(file))).toEqual([]);
	expect(files).toContain("client/subscriptions.ts");
	expect(gzipSync([...sources.values()].join("\n")).length).toBeLessThan(12_000);
});

/** Follows the imports that are left when the types are gone. */
function load(url: URL, sources: Map<string, string>): void {
	if (sources.has(url.href)) return;
	const code = stripTypeScriptTypes(readFileSync(url, "utf8"), { mode: "strip" });
	sources.set(url.href, code);
	for (const [, target = ""] of code.matchAll(/\bfrom\s+"([^"]+)"/g)) {
		expect(target).toMatch(/^\./);
		load(new URL(target, url), sources);
	}
}
