/** The loop that asks the systems: one that fails keeps nothing from the others. */
import { expect, test } from "vitest";
import { SHOWN_EDITS_ENTRY } from "../../src/core/entry-types.ts";
import type { PendingEdits } from "../../src/session/pending-edits.ts";
import { fakeSession } from "../support/fake-host.ts";

test("an edit is not on record if the system failed that put it into the request", async () => {
	const content = [{ type: "text" as const, text: "new" }];
	const message = { role: "toolResult", toolCallId: "call", content: "old" };
	const item = { type: "message", id: "a", parentId: null, timestamp: "", message };
	const { run, emit, host, session } = fakeSession({
		model: { provider: "anthropic", id: "claude-opus-6", api: "anthropic-messages" },
		sessionManager: {
			getLeafId: () => "a",
			buildSessionProjection: () => ({ entries: [{ sourceEntry: item, messages: [message] }] }),
		},
	});
	const edits: PendingEdits = session.edits;
	let fails = true;
	await run([
		{
			name: "careless",
			async onRequest(messages) {
				const edited = edits.applyTo(messages, "careless");
				// Pi goes on with the messages as they were.
				return fails ? messages : edited;
			},
		},
	]);
	edits.add({ owner: "careless", entryId: "a", sentAs: "call", original: "old", content });
	await emit("context_with_system", { messages: [message] });
	expect(host.appendEntry).not.toHaveBeenCalled();
	fails = false;
	await emit("context_with_system", { messages: [message] });
	expect(host.appendEntry.mock.calls).toEqual([
		[SHOWN_EDITS_ENTRY, { v: 1, edits: [["a", content]] }],
	]);
});
