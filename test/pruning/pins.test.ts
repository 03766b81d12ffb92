import { expect, test } from "vitest";
import { PIN_ENTRY } from "../../src/core/entry-types.ts";
import { defaultPinTarget } from "../../src/pruning/commands.ts";
import type { ContextItem, ToolResultItem } from "../../src/session/index.ts";
import { pinnedCalls } from "../../src/session/index.ts";

const pin = (toolCallId: string, pinned = true): ContextItem => ({
	kind: "custom",
	entryId: "p",
	customType: PIN_ENTRY,
	data: { toolCallId, pinned },
});
const result = (toolCallId: string, more: Partial<ToolResultItem> = {}): ContextItem =>
	({
		kind: "toolResult",
		toolCallId,
		toolName: "grep",
		isError: false,
		text: "t",
		returned: "t",
		...more,
	}) as ContextItem;
const pinned = (items: ContextItem[], pinImpactSummaries = true) => [
	...pinnedCalls(items, { pinImpactSummaries }),
];

test("the latest entry about a call decides", () => {
	expect(pinned([result("a"), pin("a")])).toEqual(["a"]);
	expect(pinned([pin("a"), pin("a", false)])).toEqual([]);
	expect(pinned([pin("a"), pin("a", false), pin("a")])).toEqual(["a"]);
});

test("impact summaries are pinned by themselves, unless told otherwise", () => {
	const impact = result("i", { toolName: "kota_impact" });
	expect(pinned([impact])).toEqual(["i"]);
	expect(pinned([impact], false)).toEqual([]);
	expect(pinned([impact, pin("i", false)])).toEqual([]);
});

test("entries that are malformed or of others pin nothing", () => {
	const custom = (data: unknown, customType = PIN_ENTRY) =>
		({ kind: "custom", entryId: "x", customType, data }) as ContextItem;
	const wrong = [null, 7, {}, { toolCallId: 7, pinned: true }, { toolCallId: "a", pinned: "yes" }];
	expect(pinned(wrong.map((data) => custom(data)))).toEqual([]);
	expect(pinned([custom({ toolCallId: "a", pinned: true }, "other")])).toEqual([]);
});

test("without a name, the latest result is meant that holds a text of its own", () => {
	const items = [
		result("a"),
		result("b", { text: "(Pruned) …" }),
		result("c", { isError: true }),
		result("d", { text: " ", returned: " " }),
		result("e", {
			text: "[readcache: unchanged, 3 lines]",
			returned: "[readcache: unchanged, 3 lines]",
		}),
		pin("a"),
	].filter((item) => item.kind === "toolResult");
	expect(defaultPinTarget(items)?.toolCallId).toBe("a");
	expect(defaultPinTarget([])).toBeUndefined();
});
