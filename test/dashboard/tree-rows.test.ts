import { expect, test } from "vitest";
import { treeRows } from "../../src/dashboard/session/tree-dialog.tsx";
import type { Data } from "../../src/protocol/index.ts";
import { fc } from "../support/property.ts";

const node = (id: string, parentId: string | null, role = "user"): Data<"FlatTreeNode"> => ({
	id,
	parentId,
	type: "message",
	role,
	preview: id,
	timestamp: "",
});

test("branches are indented, the one in use comes last and is marked", () => {
	const nodes = [
		node("a", null),
		node("b", "a", "assistant"),
		node("c", "b"),
		node("d", "b"),
		node("e", "c"),
	];
	const rows = treeRows(nodes, "e", false);
	expect(rows.map(({ key, depth }) => `${key}${depth}`)).toEqual(["a0", "b0", "d1", "c1", "e1"]);
	expect(rows.filter(({ isOnBranch }) => isOnBranch).map(({ key }) => key)).toEqual([
		"a",
		"b",
		"c",
		"e",
	]);
	expect(rows.at(-1)).toMatchObject({ isLeaf: true, canFork: true });
	expect(rows[1]?.canFork).toBe(false);
});

test("results of tools and notes show only when all entries are asked for", () => {
	const nodes = [
		node("a", null),
		node("r", "a", "toolResult"),
		{ ...node("n", "r"), type: "custom" },
	];
	expect(treeRows(nodes, "a", false).map(({ key }) => key)).toEqual(["a"]);
	expect(treeRows(nodes, "a", true).map(({ key }) => key)).toEqual(["a", "r", "n"]);
	const { role: _, ...bare } = node("n", null);
	const [note] = treeRows([{ ...bare, type: "custom" }], "n", false);
	expect(note).toMatchObject({ key: "n", who: "Note" });
});

test("every node shows once, even in a tree that is broken", () => {
	const ids = ["a", "b", "c", "d", "e", "f"];
	const parents = fc.array(fc.option(fc.constantFrom(...ids, "lost")), {
		minLength: 6,
		maxLength: 6,
	});
	fc.assert(
		fc.property(parents, fc.constantFrom(...ids), (given, leaf) => {
			const rows = treeRows(
				ids.map((id, at) => node(id, given[at] ?? null)),
				leaf,
				true,
			);
			expect(new Set(rows.map(({ key }) => key)).size).toBe(rows.length);
		}),
	);
});

test("a conversation of ten thousand messages is no deeper than its branches", () => {
	const nodes = Array.from({ length: 10_000 }, (_, at) =>
		node(`n${at}`, at === 0 ? null : `n${at - 1}`),
	);
	const rows = treeRows(nodes, "n9999", false);
	expect(rows).toHaveLength(10_000);
	expect(rows.at(-1)?.depth).toBe(0);
});
