import { expect, test } from "vitest";
import { createDraft } from "../../src/dashboard/session/draft.ts";

test("text from elsewhere stands above what was typed, once", () => {
	const draft = createDraft();
	draft.place("one");
	draft.place("one");
	expect(draft.text.value).toBe("one");
	draft.text.value = "typed";
	draft.place("one");
	draft.place("one");
	expect(draft.text.value).toBe("one\ntyped");
	expect(draft.placed.value).toBe(4);
});
