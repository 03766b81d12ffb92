import { describe, expect, test } from "vitest";
import { extractFacts } from "../../../src/codeindex/extract/extract.ts";
import type { FileFacts } from "../../../src/codeindex/facts.ts";
import { fc, runs } from "../../support/property.ts";
import { PROJECTS } from "../accuracy-projects.ts";
import { generateProject } from "../generated-project.ts";

/** What a skeleton must have in common with the whole file. */
function declarationsOf({ references, looseAccesses, isSkeleton, ...facts }: FileFacts) {
	return facts;
}

function expectSameDeclarations(path: string, source: string): FileFacts {
	const skeleton = extractFacts(path, source, "skeleton");
	const whole = extractFacts(path, source);
	expect(declarationsOf(skeleton), path).toEqual(declarationsOf(whole));
	if (!skeleton.isSkeleton) expect(skeleton, path).toEqual(whole);
	return skeleton;
}

describe("a skeleton", () => {
	test("has declarations, imports and exports, and no references", () => {
		const source =
			'import { a } from "./a.ts";\n/** Adds. */\nexport class B {\n\tc = a();\n}\nnew B().c;\n';
		const skeleton = expectSameDeclarations("b.ts", source);
		expect(skeleton).toMatchObject({
			isSkeleton: true,
			requests: [{ specifier: "./a.ts" }],
			bindings: [{ name: "a" }, { name: "B", doc: "Adds.", members: [{ name: "c" }] }],
			exports: [{ name: "B" }],
			references: [],
		});
		expect(extractFacts("b.ts", source).references).not.toEqual([]);
	});

	test.each(Object.entries(PROJECTS))(
		"has the same declarations as the whole file: %s",
		(_, project) => {
			for (const [path, source] of Object.entries(project.files)) {
				if (/\.(?:[cm]?[jt]s|[jt]sx)$/.test(path)) expectSameDeclarations(path, source);
			}
		},
	);

	test("has the same declarations as the whole file, in generated projects", () => {
		const size = { files: fc.integer({ min: 1, max: 4 }), statements: fc.nat({ max: 16 }) };
		let skeletons = 0;
		fc.assert(
			fc.property(fc.record({ seed: fc.nat(), ...size }), ({ seed, ...size }) => {
				for (const [path, source] of Object.entries(generateProject(seed, size))) {
					if (!/\.[jt]sx?$/.test(path)) continue;
					if (expectSameDeclarations(path, source).isSkeleton) skeletons++;
				}
			}),
			{ numRuns: runs(50) },
		);
		expect(skeletons).toBeGreaterThan(0);
	});

	test.each([
		["a call of import()", "a.ts", 'export const load = () => import("./b.ts");'],
		["import() after a comment", "a.ts", 'export const load = () => import /* b */ ("./b.ts");'],
		["a call of require()", "a.ts", 'export function load() { return require("./b.js"); }'],
		["a type of another module", "a.ts", 'export function f() { let a: import("./b.ts").B; }'],
		["a type in a comment", "a.js", '/** @type {import("./b.js").B} */\nexport let a;'],
		["an augmented module", "a.ts", 'export {};\ndeclare module "./b.ts" { interface B {} }'],
		[
			"an alias in a namespace",
			"a.ts",
			'import * as b from "./b.ts";\nexport namespace N { import C = b.C; }',
		],
		["a script that assigns its exports", "a.js", "function f() { exports.a = 1; }\nf();"],
		["a syntax error", "a.ts", "export const a = ;"],
	])("is not made of a file with %s, which is read whole", (_, path, source) => {
		expect(expectSameDeclarations(path, source).isSkeleton).toBeUndefined();
	});
});
