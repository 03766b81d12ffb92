import { describe, expect, test } from "vitest";
import {
	BOX,
	boxText,
	firstScroll,
	layoutGraph,
} from "../../../src/dashboard/views/code/deps-panel.tsx";
import type { Data } from "../../../src/protocol/index.ts";
import { fc } from "../../support/property.ts";

const options = { depth: 2, maxInColumn: 8 };

function file(
	path: string,
	depth = 1,
	more: Partial<Data<"CodeFileAtDepth">> = {},
): Data<"CodeFileAtDepth"> {
	return { path, depth, kinds: ["value"], isTest: false, ...more };
}

function answer(
	dependencies: Data<"CodeFileAtDepth">[],
	dependents: Data<"CodeFileAtDepth">[],
	cycles: string[][] = [],
): Data<"CodeDepsAnswer"> {
	return {
		file: "src/me.ts",
		dependencies,
		dependents,
		cycles,
		unresolved: [],
		external: [],
		coverage: {
			files: 1,
			unparsed: { count: 0, paths: [] },
			unresolvedImports: 0,
			checkedMs: 1,
			refreshedFiles: 0,
			complete: true,
		},
	};
}

describe("the picture around a file", () => {
	test("has what it needs to its left and what needs it to its right", () => {
		const { nodes } = layoutGraph(
			answer(
				[file("a.ts"), file("b.ts", 2, { via: "a.ts" })],
				[file("y.ts"), file("z.ts", 2, { via: "y.ts" })],
			),
			options,
		);
		const fromLeft = [...nodes].sort((one, other) => one.x - other.x);
		expect(fromLeft.map(({ path }) => path)).toEqual(["b.ts", "a.ts", "src/me.ts", "y.ts", "z.ts"]);
	});

	test("is shown with its file in the middle, or from what that needs where the frame is narrow", () => {
		const around = answer([file("a.ts"), file("b.ts", 2, { via: "a.ts" })], [file("y.ts")]);
		const graph = layoutGraph(around, options);
		const at = (name: string) => graph.nodes.find(({ path }) => path === name)?.x ?? 0;
		expect(firstScroll(graph, 700)).toBe(at("src/me.ts") - 350);
		const narrow = firstScroll(graph, 318);
		expect(narrow).toBeLessThan(at("a.ts") - BOX.width / 2);
		expect(narrow + 318).toBeGreaterThan(at("a.ts") + BOX.width / 2);
		expect(firstScroll(graph, 5_000)).toBe(0);
		expect(firstScroll(layoutGraph(answer([], [file("y.ts")]), options), 318)).toBe(0);
	});

	test("has an arrow from each file to the one it imports, by way of the nearer one", () => {
		const { edges } = layoutGraph(
			answer(
				[file("a.ts", 1, { kinds: ["type"] }), file("b.ts", 2, { via: "a.ts" })],
				[file("y.ts")],
			),
			options,
		);
		expect(edges.map(({ from, to, isTypeOnly }) => [from.path, to.path, isTypeOnly])).toEqual([
			["src/me.ts", "a.ts", true],
			["a.ts", "b.ts", false],
			["y.ts", "src/me.ts", false],
		]);
	});

	test("counts what does not fit a column", () => {
		const many = Array.from({ length: 30 }, (_, at) => file(`f${at}.ts`));
		const { nodes, edges } = layoutGraph(answer([], many), options);
		expect(nodes.filter(({ path }) => path?.startsWith("f"))).toHaveLength(7);
		expect(nodes.find(({ more }) => more > 0)?.more).toBe(23);
		expect(edges).toHaveLength(7);
	});

	test("leaves out what is further away than the depth", () => {
		const { nodes } = layoutGraph(answer([file("a.ts"), file("far.ts", 2)], []), {
			...options,
			depth: 1,
		});
		expect(nodes.map(({ path }) => path)).toEqual(["a.ts", "src/me.ts"]);
	});

	test("marks files of a cycle, and one may stand on both sides", () => {
		const { nodes } = layoutGraph(
			answer([file("a.ts")], [file("a.ts")], [["src/me.ts", "a.ts"]]),
			options,
		);
		expect(nodes.map(({ path, isInCycle }) => [path, isInCycle])).toEqual([
			["a.ts", true],
			["src/me.ts", true],
			["a.ts", true],
		]);
		expect(new Set(nodes.map(({ id }) => id)).size).toBe(3);
	});

	test("has no boxes that touch, none outside, and a bounded number, whatever the project", () => {
		const anyFile = fc
			.record({ name: fc.nat(500), depth: fc.integer({ min: 1, max: 4 }) })
			.map(({ name, depth }) => file(`${depth}/${name}.ts`, depth, { via: `${depth - 1}/0.ts` }));
		const anyFiles = fc.uniqueArray(anyFile, { selector: ({ path }) => path, maxLength: 80 });
		fc.assert(
			fc.property(anyFiles, anyFiles, (left, right) => {
				const { width: boxWidth, height: boxHeight } = BOX;
				const { nodes, width, height } = layoutGraph(answer(left, right), options);
				expect(nodes.length).toBeLessThanOrEqual(4 * options.maxInColumn + 1);
				for (const [at, one] of nodes.entries()) {
					expect(one.x - boxWidth / 2).toBeGreaterThanOrEqual(0);
					expect(one.x + boxWidth / 2).toBeLessThanOrEqual(width);
					expect(one.y - boxHeight / 2).toBeGreaterThanOrEqual(0);
					expect(one.y + boxHeight / 2).toBeLessThanOrEqual(height);
					for (const other of nodes.slice(at + 1)) {
						const apartX = Math.abs(one.x - other.x) >= boxWidth;
						const apartY = Math.abs(one.y - other.y) >= boxHeight;
						expect(apartX || apartY).toBe(true);
					}
				}
			}),
		);
	});
});

test("the text of a box keeps the end of long names, and whole characters", () => {
	expect(boxText("src/core/hash.ts")).toEqual({ name: "hash.ts", folder: "src/core" });
	expect(boxText("hash.ts")).toEqual({ name: "hash.ts", folder: "" });
	expect(boxText(`x/${"𝒳".repeat(40)}.ts`).name).toBe(`…${"𝒳".repeat(16)}.ts`);
	expect([...boxText(`${"y".repeat(90)}/a.ts`).folder]).toHaveLength(25);
});
