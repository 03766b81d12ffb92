import { describe, expect, test } from "vitest";
import { clockText } from "../../src/dashboard/parts/clock.tsx";
import { conversationOf } from "../../src/dashboard/session/conversation.ts";
import type { Item } from "../../src/dashboard/session/items.ts";
import { rowKeyOf, rowsOf } from "../../src/dashboard/session/row-view.tsx";
import { turnEnds } from "../../src/dashboard/session/turn.ts";
import { assistant, call, entriesOf, toolResult, user, words } from "./events.ts";

const IDLE = { isStreaming: false, isCompacting: false };

const session = entriesOf(
	user(1, "first"),
	assistant(2, call("c1")),
	toolResult(3, "c1", "x"),
	assistant(4, words("done")),
	user(5, "second"),
	assistant(6, words("again")),
);

describe("the price of a turn", () => {
	const { items } = conversationOf(session, IDLE);

	test("is that of all its requests, which have the numbers of the file", () => {
		const turns = [...turnEnds(items, false).values()];
		expect(turns).toMatchObject([
			{ first: 1, last: 2, requests: 2, tokens: 20, dollars: 1, text: "done" },
			{ first: 3, last: 3, requests: 1, tokens: 10, dollars: 0.5, text: "again" },
		]);
	});

	test("is not known while the turn runs", () => {
		expect([...turnEnds(items, true).values()]).toHaveLength(1);
		const kinds = (isRunning: boolean) => rowsOf(items, isRunning).map(({ kind }) => kind);
		expect(kinds(false).filter((kind) => kind === "turn")).toHaveLength(2);
		expect(kinds(true).filter((kind) => kind === "turn")).toHaveLength(1);
	});
});

test("a row is found by the entry of its message or of its result", () => {
	const rows = rowsOf(conversationOf(session, IDLE).items);
	expect(rowKeyOf(rows, "e0")).toBe("user:1");
	expect(rowKeyOf(rows, "e2")).toBe("assistant:2/0");
	expect(rowKeyOf(rows, "none")).toBeUndefined();
});

test("a result that became a stub says so at its call, and only at its last state", () => {
	const edit = (text: string) => ({
		type: "context_edit",
		targetId: "e2",
		replacement: { content: [{ type: "text", text }] },
	});
	const effectOf = (...edits: object[]) => {
		const { items } = conversationOf(
			entriesOf(
				user(1, "first"),
				assistant(2, call("c1")),
				toolResult(3, "c1", "x\ny"),
				assistant(4, words("done")),
				...(edits as { type: string }[]),
			),
			IDLE,
		);
		const [, item] = items as [Item, Item];
		const block = item.kind === "assistant" ? item.blocks[0] : undefined;
		return block?.kind === "call" ? block.call.effect : undefined;
	};
	expect(effectOf()).toEqual(["2 lines"]);
	expect(effectOf(edit("(Pruned) read(): 3 chars. Full text: read x"))).toEqual([
		"2 lines",
		"now a stub",
	]);
});

test("times are short today and have a date on other days", () => {
	const now = new Date(2026, 4, 3, 15, 0);
	expect(clockText(new Date(2026, 4, 3, 9, 5), now)).toBe("9:05");
	expect(clockText(new Date(2026, 3, 30, 9, 5), now)).toBe("30 Apr, 9:05");
	expect(clockText(new Date(2024, 3, 30, 9, 5), now)).toBe("30 Apr 2024");
});
