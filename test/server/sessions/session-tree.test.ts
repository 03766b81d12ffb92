import type { SessionEntry, SessionTreeNode } from "@earendil-works/pi-coding-agent";
import { describe, expect, test } from "vitest";
import {
	flatTree,
	MAX_DEPTH,
	MAX_NODES,
	nestedTree,
	previewOf,
} from "../../../src/server/sessions/tree-handlers.ts";

const timestamp = "2026-01-01T00:00:00.000Z";

function message(id: string, parentId: string | null, text: string): SessionEntry {
	const content = [{ type: "text" as const, text }];
	return {
		type: "message",
		id,
		parentId,
		timestamp,
		message: { role: "user", content, timestamp: 0 },
	};
}

/** A conversation of so many entries without a branch. */
function chain(length: number): { entries: SessionEntry[]; roots: SessionTreeNode[] } {
	const entries: SessionEntry[] = [];
	const roots: SessionTreeNode[] = [];
	let children = roots;
	for (let index = 0; index < length; index++) {
		const entry = message(`e${index}`, index === 0 ? null : `e${index - 1}`, `text ${index}`);
		const node: SessionTreeNode = { entry, children: [] };
		entries.push(entry);
		children.push(node);
		children = node.children;
	}
	return { entries, roots };
}

describe("a session's tree", () => {
	test("is a list with short beginnings of the texts", () => {
		const entries = [
			message("a", null, `many\n\twords ${"x".repeat(9000)}`),
			message("b", "a", "short"),
		];
		const { nodes, truncated } = flatTree(entries, (id) => (id === "b" ? "here" : undefined));
		expect(truncated).toBe(false);
		expect(nodes[0]).toMatchObject({ id: "a", parentId: null, role: "user" });
		expect(nodes[0]?.preview).toHaveLength(400);
		expect(nodes[0]?.preview.startsWith("many words x")).toBe(true);
		expect(nodes[1]).toEqual({
			id: "b",
			parentId: "a",
			type: "message",
			role: "user",
			preview: "short",
			timestamp,
			label: "here",
		});
	});

	test("with very many entries is cut, and says so", () => {
		const { entries, roots } = chain(MAX_NODES + 5);
		const flat = flatTree(entries, () => undefined);
		expect(flat.nodes).toHaveLength(MAX_NODES);
		expect(flat.truncated).toBe(true);
		const nested = nestedTree(roots);
		expect(nested.truncated).toBe(true);
		let depth = 0;
		for (let level = nested.tree; level.length > 0; level = level[0]?.children ?? []) depth++;
		expect(depth).toBe(MAX_DEPTH);
		expect(() => JSON.stringify(nested.tree)).not.toThrow();
	});

	test("keeps branches side by side", () => {
		const [a, b, c] = [message("a", null, "1"), message("b", "a", "2"), message("c", "a", "3")];
		const children = [b, c].map((entry) => ({ entry: entry as SessionEntry, children: [] }));
		const { tree, truncated } = nestedTree([{ entry: a as SessionEntry, children, label: "top" }]);
		expect(truncated).toBe(false);
		expect(tree).toEqual([{ entry: a, label: "top", children }]);
	});

	test("previews what is not a message too", () => {
		const base = { id: "x", parentId: null, timestamp };
		expect(previewOf({ ...base, type: "model_change", provider: "p", modelId: "m" })).toBe("p/m");
		expect(previewOf({ ...base, type: "session_info", name: "named" })).toBe("named");
		expect(previewOf({ ...base, type: "label", targetId: "y", label: "l" })).toBe("");
		const note = { ...base, type: "custom" as const };
		expect(previewOf({ ...note, customType: "other", data: { text: "t" } })).toBe("other");
		const report = { ...note, customType: "strata-report", data: { text: "1 working file\na.ts" } };
		expect(previewOf(report)).toBe("1 working file a.ts");
	});
});
