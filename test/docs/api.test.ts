// @module-tag slow
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { apiPages } from "../../scripts/api.ts";
import { readDoors } from "../../scripts/library-doors.ts";
import { root } from "./documents.ts";

test("every page of docs/api says what the sources say; `npm run api` writes them", {
	tags: "slow",
}, () => {
	const pages = apiPages();
	const committed = globSync("docs/api/*.md", { cwd: root }).map((path) =>
		path.replaceAll("\\", "/"),
	);
	expect(committed.sort()).toEqual([...pages.keys()].sort());
	for (const [path, text] of pages) expect(readFileSync(join(root, path), "utf8")).toBe(text);
});

test("every example imports its door by its public name, and nothing of ours by a path", () => {
	for (const { name, examples } of readDoors()) {
		for (const { code } of examples) {
			const imported = [...code.matchAll(/from "([^"]+)"/g)].map(([, target]) => target);
			expect(imported).toContain(name === "extension" ? "pi-strata" : `pi-strata/${name}`);
			expect(imported.filter((target) => target?.startsWith("."))).toEqual([]);
		}
	}
});
