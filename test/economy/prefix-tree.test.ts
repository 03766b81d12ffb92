import { describe, expect, test } from "vitest";
import { PrefixTree } from "../../src/economy/prompt.ts";

function walk(tree: PrefixTree, ...keys: string[]) {
	return keys.reduce((prefix, key) => tree.follow(prefix, key), tree.root);
}

describe("the tree of prefixes", () => {
	test("gives the same object for the same path only", () => {
		const tree = new PrefixTree();
		const first = walk(tree, "a", "b");
		const others = [walk(tree, "a", "c"), walk(tree, "b"), walk(tree, "b", "a"), walk(tree, "ab")];
		expect(others).not.toContain(first);
		expect(new Set(others).size).toBe(others.length);
		expect(walk(tree, "a", "b")).toBe(first);
		expect(walk(tree, "b", "a")).toBe(others[2]);
	});

	test("lets go of dead prefixes when there are many, and keeps the way to living ones", () => {
		const tree = new PrefixTree();
		const alive = walk(tree, "a", "b", "alive");
		alive.entry = { expiresMs: 10, ttl: "5m" };
		const dead = [walk(tree, "a", "b", "dead"), walk(tree, "a", "only", "child"), walk(tree, "c")];
		for (const prefix of dead) prefix.entry = { expiresMs: 5, ttl: "5m" };
		const before = walk(tree, "a", "b");
		expect(tree.sweep(5)).toBe(false); // too few to bother
		expect(walk(tree, "c")).toBe(dead[2]);

		for (let i = 0; i < 10_000; i++) walk(tree, "many", `${i}`);
		expect(tree.sweep(5)).toBe(true);
		expect(walk(tree, "a", "b")).toBe(before);
		// Asked for first, as it is the one that was used last.
		expect(walk(tree, "a", "b", "dead")).not.toBe(dead[0]);
		expect(walk(tree, "a", "b", "alive")).toBe(alive);
		expect(walk(tree, "a", "only", "child")).not.toBe(dead[1]);
		expect(walk(tree, "c")).not.toBe(dead[2]);
	});
});
