import { describe, expect, test } from "vitest";
import { fc, runs } from "../support/property.ts";
import { compareWithTypeScript } from "./accuracy-compare.ts";
import { generateProject } from "./generated-project.ts";

describe("against TypeScript's own findReferences, on generated projects", () => {
	test("no reference to a name of the top level is missing or too much, and no import leads elsewhere", {
		tags: "slow",
	}, () => {
		let references = 0;
		let disputed = 0;
		fc.assert(
			fc.property(
				fc.record({
					seed: fc.nat(),
					files: fc.integer({ min: 3, max: 8 }),
					statements: fc.integer({ min: 5, max: 16 }),
				}),
				({ seed, files, statements }) => {
					const found = compareWithTypeScript(generateProject(seed, { files, statements }));
					// Two stars may bring the same name: the first one counts, and TypeScript reports the second.
					const clash = "has already exported a member named";
					expect(found.mistakes.filter((mistake) => !mistake.includes(clash))).toEqual([]);
					expect(found).toMatchObject({ missing: [], extra: [], wrongImports: [] });
					expect(found.members.extra).toEqual([]);
					references += found.references;
					disputed += found.disputed.length;
				},
			),
			{ numRuns: runs(30) },
		);
		console.log(`references compared: ${references}; TypeScript contradicts itself in ${disputed}`);
		expect(disputed).toBeLessThan(references * 0.1);
	});
});
