import { expect, test } from "vitest";
import { createPruningHistory } from "../../src/pruning/history.ts";
import { createPendingStubs } from "../../src/pruning/pending-stubs.ts";
import type { Pruned } from "../../src/pruning/prune.ts";
import type { ToolResultItem } from "../../src/session/index.ts";

const PLAN = { why: "pays", rewrittenTokens: 100, rewriteCost: 115 } as const;

const pruned = (name: string): Pruned => ({
	entryId: name,
	toolCallId: `call-${name}`,
	original: `text of ${name}`,
	stub: `(Pruned) ${name}`,
	freedTokens: 10,
});

/** What the session shows, by entry. */
const showing = (texts: Record<string, string>) =>
	new Map(Object.entries(texts).map(([entryId, text]) => [entryId, { text } as ToolResultItem]));

const result = (name: string, text = `text of ${name}`) => ({
	role: "toolResult",
	toolCallId: `call-${name}`,
	content: [{ type: "text", text }],
});

test("a request gets the stubs in place of the very texts, and is not touched otherwise", () => {
	const pending = createPendingStubs();
	const messages = [
		{ role: "user", content: "go" },
		result("a"),
		result("b"),
		result("a", "other"),
	];
	expect(pending.applyTo(messages)).toBeUndefined();
	pending.add([pruned("a")], PLAN);
	const changed = pending.applyTo(messages);
	expect(changed?.[1]).toEqual(result("a", "(Pruned) a"));
	for (const at of [0, 2, 3]) expect(changed?.[at]).toBe(messages[at]);
	expect(pending.applyTo([result("b")])).toBeUndefined();
});

test("stubs are to be persisted until the session shows them, and then count as a batch", () => {
	const pending = createPendingStubs();
	pending.add([pruned("a"), pruned("b"), pruned("c"), pruned("d")], PLAN);
	const before = showing({ a: "text of a", b: "text of b", c: "text of c" });
	expect(pending.settle(before)).toEqual([]);
	expect(pending.toPersist(before).map(({ entryId }) => entryId)).toEqual(["a", "b", "c"]);
	// "d" left the context; somebody else has edited "c".
	const after = showing({ a: "(Pruned) a", b: "(Pruned) b", c: "another edit" });
	expect(pending.settle(after)).toEqual([{ ...PLAN, results: 2, freedTokens: 20 }]);
	expect(pending.settle(after)).toEqual([]);
	expect(pending.toPersist(showing({ a: "text of a" }))).toEqual([]);
	expect(["a", "b", "c", "d"].some(pending.has)).toBe(false);
});

test("what was dropped is forgotten", () => {
	const pending = createPendingStubs();
	pending.add([pruned("a")], PLAN);
	pending.clear();
	expect(pending.applyTo([result("a")])).toBeUndefined();
});

test("a history sums up what was freed and what it was worth", () => {
	const history = createPruningHistory();
	for (let atMs = 0; atMs < 60; atMs++) {
		history.noteAction({ ...PLAN, atMs, results: 2, freedTokens: 20 });
	}
	history.noteSaved(10_000);
	const { actions, ...sums } = history.summary();
	expect(sums).toEqual({ results: 120, freedTokens: 1200, saved: 10_000 - 60 * 115 });
	expect(actions.map(({ atMs }) => atMs)).toEqual(Array.from({ length: 50 }, (_, i) => i + 10));
});
