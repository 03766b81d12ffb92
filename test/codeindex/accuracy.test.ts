import { describe, expect, test } from "vitest";
import { compareWithTypeScript } from "./accuracy-compare.ts";
import { EDGE_PROJECTS } from "./accuracy-edges.ts";
import { PROJECTS } from "./accuracy-projects.ts";

const ALL = { ...PROJECTS, ...EDGE_PROJECTS };

/** What the index finds of the references to members that TypeScript finds, at least. */
const MEMBER_RECALL = 0.8;

describe("against TypeScript's own findReferences, on projects made by hand", () => {
	const recalls: { name: string; found: number; all: number }[] = [];

	test.each(Object.entries(ALL))("%s", (name, project) => {
		const { files, links, mistakes = 0, disputed = 0, beyond = [] } = project;
		const found = compareWithTypeScript(files, links ? { links } : {});
		expect(found.mistakes).toHaveLength(mistakes);
		expect(found).toMatchObject({ missing: [], extra: [], wrongImports: [] });
		expect(found.disputed.length).toBeLessThanOrEqual(disputed);
		expect(found.members.extra).toEqual(beyond);
		expect(found.references + found.imports).toBeGreaterThan(0);
		const all = found.members.references;
		recalls.push({ name, found: all - found.members.missing.length, all });
	});

	test(`at least ${MEMBER_RECALL * 100} % of the references to members are found`, () => {
		const found = recalls.reduce((sum, one) => sum + one.found, 0);
		const all = recalls.reduce((sum, one) => sum + one.all, 0);
		console.log(
			`references to members: ${found} of ${all} (${((found / all) * 100).toFixed(1)} %)`,
		);
		expect(recalls).toHaveLength(Object.keys(ALL).length);
		expect(found / all).toBeGreaterThanOrEqual(MEMBER_RECALL);
	});
});
