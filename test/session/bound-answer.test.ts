import { fauxAssistantMessage, fauxText, fauxThinking } from "@earendil-works/pi-ai";
import type { SessionManager } from "@earendil-works/pi-coding-agent";
import { expect, test } from "vitest";
import { lastBoundAnswer } from "../../src/session/cache-clock.ts";
import { newSession } from "./sessions.ts";

const binds = ({ id }: { id: string }) => id === "binding";

function prompt(session: SessionManager): string {
	return session.appendMessage({ role: "user", content: "go on", timestamp: 0 });
}

function answer(
	session: SessionManager,
	{ model = "binding", thinks = true, stopReason = "stop" as "stop" | "aborted" | "error" } = {},
): string {
	const content = [...(thinks ? [fauxThinking("hm")] : []), fauxText("done")];
	return session.appendMessage({ ...fauxAssistantMessage(content, { stopReason }), model });
}

test("the last answer with thinking of a model that binds it, whatever follows", () => {
	const session = newSession();
	expect(lastBoundAnswer(session, binds)).toBeUndefined();
	prompt(session);
	answer(session);
	prompt(session);
	const last = answer(session);
	answer(session, { thinks: false });
	answer(session, { model: "free" });
	prompt(session);
	expect(lastBoundAnswer(session, binds)).toBe(last);
	expect(lastBoundAnswer(session, () => false)).toBeUndefined();
});

test("answers that failed or were stopped are not sent again, so nothing is bound to them", () => {
	const session = newSession();
	prompt(session);
	answer(session, { stopReason: "aborted" });
	answer(session, { stopReason: "error" });
	expect(lastBoundAnswer(session, binds)).toBeUndefined();
});

test("a compaction frees what it kept; thinking that follows it binds again", () => {
	const session = newSession();
	prompt(session);
	const kept = prompt(session);
	const old = answer(session);
	session.appendCompaction("summary", kept, 100);
	expect(lastBoundAnswer(session, binds)).toBeUndefined();
	const fresh = answer(session);
	expect(lastBoundAnswer(session, binds)).toBe(fresh);
	// On the branch that left off before the compaction, the thinking counts as it did.
	session.branch(old);
	expect(lastBoundAnswer(session, binds)).toBe(old);
});
