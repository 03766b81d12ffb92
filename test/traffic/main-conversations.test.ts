import { expect, test } from "vitest";
import type { ConversationSums } from "../../src/traffic/book.ts";
import { mainConversations } from "../../src/traffic/main-conversations.ts";

const sums = (
	id: number,
	speaker: Partial<ConversationSums["speaker"]>,
	{ prompt = 100, parent }: { prompt?: number; parent?: number } = {},
) =>
	({
		...{ id, speaker: { agent: "claude-code", ...speaker } },
		...(parent !== undefined && { parent }),
		tokens: { input: prompt, read: 0, write: 0, writeOneHour: 0, output: 0 },
	}) as ConversationSums;

const mains = (...all: ConversationSums[]) => Object.fromEntries(mainConversations(all));

test("a title request belongs to the larger conversation of its session, whichever came first", () => {
	const title = sums(1, { session: "s" }, { prompt: 50 });
	const main = sums(2, { session: "s" }, { prompt: 9000 });
	expect(mains(title, main, sums(3, { session: "t" }))).toEqual({ 1: 2 });
	expect(mains(main, title)).toEqual({ 1: 2 });
});

test("the same name of another agent is another session", () => {
	expect(mains(sums(1, { session: "s" }), sums(2, { session: "s", agent: "codex" }))).toEqual({});
});

test("sub-agents belong to their session, also those of sub-agents", () => {
	const main = sums(1, { session: "s" });
	const sub = sums(2, { session: "s", subagent: "a" }, { prompt: 9000 });
	const inner = sums(3, { session: "s", subagent: "b", parent: "a" });
	expect(mains(main, sub, inner)).toEqual({ 2: 1, 3: 1 });
});

test("a sub-agent with a session of its own belongs to its parent's session", () => {
	const main = sums(1, { session: "s", agent: "opencode" });
	const sub = sums(2, { session: "t", subagent: "t", parent: "s", agent: "opencode" });
	expect(mains(main, sub)).toEqual({ 2: 1 });
});

test("a copy of a history belongs where that came from, with or without names", () => {
	expect(mains(sums(1, {}), sums(2, {}, { parent: 1 }))).toEqual({ 2: 1 });
	expect(mains(sums(2, {}, { parent: 1 }))).toEqual({});
});

test("conversations without names stand alone, and names in a circle do no harm", () => {
	expect(mains(sums(1, {}), sums(2, {}))).toEqual({});
	const one = sums(1, { subagent: "a", parent: "b" });
	const other = sums(2, { subagent: "b", parent: "a" });
	expect(mains(one, other)).toEqual({});
});
