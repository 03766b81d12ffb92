import { expect, test } from "vitest";
import { createDraft } from "../../src/dashboard/session/composer-state.ts";

test("text from elsewhere stands above what was typed, once", () => {
	const draft = createDraft({ read: () => "", write() {} });
	draft.prepend("one");
	draft.prepend("one");
	expect(draft.text.value).toBe("one");
	draft.text.value = "typed";
	draft.prepend("one");
	draft.prepend("one");
	expect(draft.text.value).toBe("one\ntyped");
	expect(draft.focuses.value).toBe(4);
});

test("what was typed is there when the page is loaded again, until it is sent", () => {
	const kept: string[] = [];
	const draft = createDraft({ read: () => "typed", write: (text) => kept.push(text) });
	expect(draft.text.value).toBe("typed");
	expect(draft.focuses.value).toBe(0);
	draft.text.value = "typed more";
	draft.text.value = "";
	expect(kept.slice(-2)).toEqual(["typed more", ""]);
});
