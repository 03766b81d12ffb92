import { describe, expect, test } from "vitest";
import { toDrop, toRestore } from "../../src/pruning/by-hand.ts";
import type { Conversation } from "../../src/pruning/candidates.ts";
import { conversationOf, factsOf, type Line } from "./conversation.ts";

const STUB = "(Pruned) read(path): 4,000 chars. Full text: read x";

/** A read that was answered: `call1`. */
function conversation(read: Partial<Line & object> = {}, more: Partial<Conversation> = {}) {
	const lines: Line[] = ["user", { tool: "read", ...read }, "assistant", "user", "assistant"];
	return { ...conversationOf(lines), facts: factsOf(), editableFrom: 0, ...more };
}

describe("a result that the user drops", () => {
	test("is replaced, however recent it is", () => {
		expect(toDrop(conversation(), "call1")).toMatchObject({ at: 1, why: "old" });
	});

	test.each<[string, Conversation]>([
		["no result of this call", { ...conversation(), results: new Map() }],
		["a stub already", conversation({ text: STUB })],
		["frees nothing", conversation({ chars: 100 })],
		["errors are kept", conversation({ isError: true })],
		["unpin it first", conversation({}, { facts: factsOf({ isPinned: () => true }) })],
		["must not be stored", conversation({}, { facts: factsOf({ isExcluded: () => true }) })],
		["bound to the text before it", conversation({}, { editableFrom: 2 })],
	])("is kept with the reason: %s", (why, given) => {
		expect(toDrop(given, "call1")).toMatchObject({ refusal: expect.stringContaining(why) });
	});

	test("is kept while the model has not answered it", () => {
		const lines: Line[] = ["user", "assistant", { tool: "read" }];
		const given = { ...conversationOf(lines), facts: factsOf(), editableFrom: 0 };
		expect(toDrop(given, "call2")).toMatchObject({
			refusal: expect.stringContaining("not answered"),
		});
	});

	test("is kept while a later marker says that its lines are shown above", () => {
		const lines: Line[] = ["user", { tool: "read" }, "assistant", { tool: "read" }, "assistant"];
		const { messages, results } = conversationOf(lines);
		const [base, marker] = [...results.values()];
		const basesOf = (item: unknown) => (item === marker && base ? [base] : []);
		const given = { messages, results, facts: factsOf({ basesOf }), editableFrom: 0 };
		expect(toDrop(given, "call1")).toMatchObject({
			refusal: expect.stringContaining("shown above"),
		});
		expect(toDrop(given, "call3")).toMatchObject({ at: 3 });
	});
});

describe("a stub that the user restores", () => {
	test("gets its text again", () => {
		expect(toRestore(conversation({ text: STUB }), "call1")).toMatchObject({ entryId: "e1" });
	});

	test("stays where nothing is replaced, or where thinking is bound to it", () => {
		const refused = (given: Conversation) => toRestore(given, "call1");
		expect(refused(conversation())).toMatchObject({ refusal: expect.stringContaining("in full") });
		expect(refused(conversation({ text: STUB }, { editableFrom: 3 }))).toMatchObject({
			refusal: expect.stringContaining("bound"),
		});
	});
});
