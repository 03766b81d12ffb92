import { describe, expect, test } from "vitest";
import { fenced } from "../../src/dashboard/session/attachments.tsx";
import type { Item } from "../../src/dashboard/session/items.ts";
import { historyStep, sentTexts } from "../../src/dashboard/session/prompt-history.ts";
import { partialFile } from "../../src/dashboard/session/proposals.tsx";

const said = (text: string): Item => ({ kind: "user", key: text, text, pictures: [] });

describe("the history of the prompt box", () => {
	test("has messages and shell commands, the latest last, without repetitions in a row", () => {
		const shell: Item = { kind: "bash", key: "b", command: "ls", output: "", state: "done" };
		const note: Item = { kind: "note", key: "n", text: "x", mergedKeys: ["n"] };
		expect(sentTexts([said("a"), said("a"), note, shell, said("b"), said("")])).toEqual([
			"a",
			"!ls",
			"b",
		]);
	});

	test("goes back to the first text and forward to the draft", () => {
		const texts = ["one", "two"];
		const first = historyStep(texts, { back: 0, draft: "draft" }, 1);
		expect(first).toEqual({ place: { back: 1, draft: "draft" }, text: "two" });
		const second = historyStep(texts, { back: 1, draft: "draft" }, 1);
		expect(second?.text).toBe("one");
		expect(historyStep(texts, { back: 2, draft: "draft" }, 1)).toBeUndefined();
		expect(historyStep(texts, { back: 1, draft: "draft" }, -1)?.text).toBe("draft");
		expect(historyStep(texts, { back: 0, draft: "draft" }, -1)).toBeUndefined();
	});
});

test("a file is named after an @ that begins a word, up to the caret", () => {
	expect(partialFile("look at @src/a", 14)).toBe("src/a");
	expect(partialFile("look at @src/a and", 11)).toBe("sr");
	expect(partialFile("@", 1)).toBe("");
	expect(partialFile("me@example.org", 14)).toBeUndefined();
	expect(partialFile("@a b", 4)).toBeUndefined();
});

test("a pasted text stands in a fence that it does not close", () => {
	expect(fenced("a.md", "x")).toBe("a.md:\n```\nx\n```\n");
	expect(fenced("a.md", "````\ncode\n````\n")).toBe("a.md:\n`````\n````\ncode\n````\n`````\n");
});
