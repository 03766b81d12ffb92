/** The loop that asks the systems: one that fails keeps nothing from the others. */
import { expect, test } from "vitest";
import { SHOWN_EDITS_ENTRY } from "../../src/core/entry-types.ts";
import type { NewEntry } from "../../src/session/host.ts";
import type { PendingEdits } from "../../src/session/pending-edits.ts";
import type { System } from "../../src/session/system.ts";
import { fakeSession } from "../support/fake-host.ts";

const draft = (targetId: string): NewEntry => ({
	type: "context_edit",
	targetId,
	replacement: null,
});
const drafting = (name: string, more: Partial<System> = {}): System => ({
	name,
	onTurnEnd: async () => [draft(name)],
	...more,
});
const failing = drafting("second", { onTurnEnd: () => Promise.reject(new Error("no disk")) });

test("a system that fails at the end of a turn keeps no drafts of others out, and is reported with the run's end", async () => {
	const { run, emit } = fakeSession();
	await run([drafting("first"), failing, drafting("third")]);
	const of = draft("another extension");
	expect(await emit("turn_end", { entries: [of] })).toEqual([
		{ entries: [of, draft("first"), draft("third")] },
	]);
	await expect(emit("agent_end", {})).rejects.toThrow("second: no disk");
	await emit("agent_end", {});
});

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

test("a session with a damaged entry starts all systems", async () => {
	const started: string[] = [];
	const { run } = fakeSession({
		sessionManager: { getEntries: () => [{ type: "message", timestamp: "" }, { type: "message" }] },
	});
	await run([{ name: "one", start: () => void started.push("one") }]);
	expect(started).toEqual(["one"]);
});
