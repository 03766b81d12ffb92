import { describe, expect, test } from "vitest";
import { components, cyclesAmong } from "../../../src/codeindex/queries/graph.ts";
import { fc } from "../../support/property.ts";
import { indexProject } from "../memory-project.ts";

describe("strongly connected components", () => {
	test("two nodes are in one component if and only if each reaches the other", () => {
		const graphs = fc.array(fc.array(fc.nat(11), { maxLength: 4 }), {
			minLength: 12,
			maxLength: 12,
		});
		fc.assert(
			fc.property(graphs, (graph) => {
				const nodes = graph.map((_, node) => node);
				const groups = [...components(packed(graph))];
				expect(groups.flat().sort((a, b) => a - b)).toEqual(nodes);
				const groupOf = new Map(groups.flatMap((group) => group.map((node) => [node, group])));
				for (const from of nodes) {
					for (const to of nodes) {
						const mutual = reaches(graph, from, to) && reaches(graph, to, from);
						expect(groupOf.get(from) === groupOf.get(to)).toBe(mutual);
					}
				}
			}),
		);
	});

	test("a chain of thirty thousand nodes does not exhaust the stack", () => {
		const length = 30_000;
		const circle = packed(Array.from({ length }, (_, node) => [(node + 1) % length]));
		expect([...components(circle)].map((group) => group.length)).toEqual([length]);
	});
});

describe("cycles of a project", () => {
	const reader = indexProject({
		"a.ts": "import { b } from './b'; export const a = b;",
		"b.ts": "import type { C } from './c'; export const b = 1; export type B = C;",
		"c.ts": "import { a } from './a'; export type C = typeof a;",
		"d.ts": "import { a } from './a'; a;",
	});
	const filesAt = (...paths: string[]) => paths.flatMap((path) => reader.fileAt(path) ?? []);

	test("all files of a cycle have the same group, and the others none", () => {
		const group = ["a.ts", "b.ts", "c.ts"];
		for (const path of group) expect(cyclesAmong(reader, filesAt(path))).toEqual([group]);
		expect(cyclesAmong(reader, filesAt("a.ts", "c.ts"))).toHaveLength(1);
		expect(cyclesAmong(reader, filesAt("d.ts"))).toEqual([]);
	});

	test("a cycle that only types close is none at run time", () => {
		expect(cyclesAmong(reader, filesAt("a.ts"), ["value"])).toEqual([]);
	});
});

function packed(graph: readonly (readonly number[])[]) {
	const starts = [0];
	for (const targets of graph) starts.push((starts.at(-1) ?? 0) + targets.length);
	return { starts: Int32Array.from(starts), targets: Int32Array.from(graph.flat()) };
}

function reaches(graph: readonly (readonly number[])[], from: number, to: number): boolean {
	const seen = new Set([from]);
	for (const node of seen) for (const next of graph[node] ?? []) seen.add(next);
	return seen.has(to);
}
