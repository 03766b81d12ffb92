import { expect, test } from "vitest";
import { contextMessages } from "../../src/session/index.ts";
import { appendCalls, appendResult, newSession, PICTURE } from "./sessions.ts";

test("messages come in order, with their turn and size; what tools take is counted apart", () => {
	const session = newSession();
	session.appendMessage({ role: "user", content: "x".repeat(40), timestamp: 0 });
	appendCalls(session, { id: "c1", args: { path: "a".repeat(100) } });
	const result = appendResult(session, "c1", "y".repeat(400));
	session.appendMessage({ role: "user", content: [{ type: "text", text: "again" }], timestamp: 0 });
	appendCalls(session, { id: "c2" });
	appendResult(session, "c2", PICTURE);

	const messages = contextMessages(session);
	expect(messages.map(({ role, turn }) => [role, turn])).toEqual([
		["user", 1],
		["assistant", 1],
		["toolResult", 1],
		["user", 2],
		["assistant", 2],
		["toolResult", 2],
	]);
	expect(messages[0]).toMatchObject({ tokens: 10, toolTokens: 0 });
	// The call alone is `read{"path":"aaa…"}`; the text "I look." stands beside it.
	expect(messages[1]).toMatchObject({ tokens: 31, toolTokens: 29 });
	expect(messages[2]).toEqual({
		entryId: result,
		role: "toolResult",
		turn: 1,
		tokens: 100,
		toolTokens: 100,
	});
	expect(messages[5]).toMatchObject({ tokens: 1200, toolTokens: 1200 });
});

test("sizes are those after context edits, and what a compaction removed is not there", () => {
	const session = newSession();
	session.appendMessage({ role: "user", content: "go", timestamp: 0 });
	appendCalls(session, { id: "c1" });
	const result = appendResult(session, "c1", "y".repeat(400));
	session.appendContextEdit(result, { content: "stub" });
	expect(contextMessages(session).at(-1)).toMatchObject({ tokens: 1, toolTokens: 1 });
	const kept = session.appendMessage({ role: "user", content: "on", timestamp: 0 });
	session.appendCompaction("summary", kept, 100);
	expect(contextMessages(session).some(({ entryId }) => entryId === result)).toBe(false);
});
