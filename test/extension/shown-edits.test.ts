import { expect, test } from "vitest";
import { SHOWN_EDITS_ENTRY } from "../../src/core/entry-types.ts";
import { shownEdits } from "../../src/extension/shown-edits.ts";

const text = (one: string) => [{ type: "text" as const, text: one }];
const recorded = (...edits: unknown[]) => ({
	type: "custom",
	customType: SHOWN_EDITS_ENTRY,
	data: { v: 1, edits },
});
const shownIn = (...branch: object[]) => [
	...shownEdits({ sessionManager: { getBranch: () => branch } } as never),
];

test("the latest record of an entry counts, until the session has the edit", () => {
	const branch = [recorded(["a", text("1")], ["b", null]), recorded(["a", text("2")])];
	expect(shownIn(...branch)).toEqual([
		["a", text("2")],
		["b", null],
	]);
	expect(shownIn(...branch, { type: "context_edit", targetId: "a" })).toEqual([["b", null]]);
});

test("a compaction ends all records before it", () => {
	const after = recorded(["b", null]);
	expect(shownIn(recorded(["a", null]), { type: "compaction" }, after)).toEqual([["b", null]]);
});

test("damaged records count as none", () => {
	const damaged = [undefined, 7, ["a"], ["a", [{ type: "image" }]], [1, null], ["a", [null]]];
	expect(shownIn(recorded(...damaged), { ...recorded(), data: "x" })).toEqual([]);
});
