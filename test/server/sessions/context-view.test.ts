import { SessionManager } from "@earendil-works/pi-coding-agent";
import { describe, expect, test } from "vitest";
import {
	type ContextSource,
	contextView,
	pieceText,
} from "../../../src/server/sessions/context-view.ts";
import { Ledger } from "../../../src/session/index.ts";
import { fc, runs } from "../../support/property.ts";

const usage = {
	input: 1,
	output: 1,
	cacheRead: 700,
	cacheWrite: 0,
	totalTokens: 2,
	cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
};

function conversation() {
	const manager = SessionManager.inMemory("/project");
	const ask = manager.appendMessage({ role: "user", content: "look at a.ts", timestamp: 1 });
	manager.appendMessage({
		role: "assistant",
		content: [
			{ type: "toolCall", id: "c1", name: "read", arguments: { path: "/project/src/a.ts" } },
		],
		api: "x",
		provider: "p",
		model: "m",
		usage,
		stopReason: "toolUse",
		timestamp: 2,
	});
	const result = manager.appendMessage({
		role: "toolResult",
		toolCallId: "c1",
		toolName: "read",
		content: [{ type: "text", text: "z".repeat(4000) }],
		isError: false,
		timestamp: 3,
	});
	return { manager, ask, result };
}

function say(manager: SessionManager): void {
	manager.appendMessage({
		role: "assistant",
		content: [{ type: "text", text: "on" }],
		api: "x",
		provider: "p",
		model: "m",
		usage,
		stopReason: "stop",
		timestamp: 9,
	});
}

function sourceOf(manager: SessionManager): ContextSource {
	return {
		cwd: "/project",
		window: 1000,
		startedMs: 5,
		systemPrompt: "be good",
		tools: [{ name: "read", description: "reads", parameters: {} }],
		projected: manager.buildSessionProjection().entries,
		sent: new Ledger().log(manager).sent,
		branch: manager.getBranch(),
	};
}

describe("the view of a context", () => {
	test("has the system prompt, the tools and the conversation in order", () => {
		const { manager, ask, result } = conversation();
		const view = contextView(sourceOf(manager));
		expect(view.pieces.map(({ id }) => id)).toEqual([
			"system",
			"tools",
			ask,
			expect.any(String),
			result,
		]);
		expect(view.pieces.at(-1)).toMatchObject({ kind: "read", path: "src/a.ts", tokens: 1000 });
		expect(view.cachedTokens).toBe(700);
		expect(view.history).toHaveLength(1);
		expect(view.history[0]?.byKind).toMatchObject({ system: 2, conversation: 3 });
	});

	test("numbers the requests, also where only some of many are told", () => {
		const { manager } = conversation();
		for (let count = 1; count < 1_000; count++) say(manager);
		const { history } = contextView(sourceOf(manager));
		expect(history.length).toBeLessThanOrEqual(300);
		expect(history.at(-1)?.request).toBe(1_000);
		const steps = history.slice(1).map(({ request }, at) => request - (history[at]?.request ?? 0));
		expect(new Set(steps)).toEqual(new Set([4]));
	});

	test("says what the last request held, as it is now, and how large it was", () => {
		const { manager, ask } = conversation();
		// The system prompt, the tools and the question; its own answer and what came then was not in it.
		expect(contextView(sourceOf(manager)).lastRequest).toEqual({ tokens: 701, pieces: 3 });
		say(manager);
		expect(contextView(sourceOf(manager)).lastRequest).toEqual({ tokens: 701, pieces: 5 });
		manager.appendContextEdit(ask, { content: [{ type: "text", text: "(Pruned)" }] });
		expect(contextView(sourceOf(manager)).lastRequest).toEqual({ tokens: 701, pieces: 2 });
		const unsaid = sourceOf(SessionManager.inMemory("/project"));
		expect(contextView(unsaid).lastRequest).toBeUndefined();
	});

	test("shows an edited result as a stub with what it stands for", () => {
		const { manager, result } = conversation();
		manager.appendContextEdit(result, { content: [{ type: "text", text: "(Pruned) read" }] });
		const piece = contextView(sourceOf(manager)).pieces.find(({ id }) => id === result);
		expect(piece).toMatchObject({
			kind: "stub",
			tokens: 4,
			replacedTokens: 1000,
			path: "src/a.ts",
		});
	});

	test("leaves out what compaction has replaced, also from later moments", () => {
		const { manager, ask } = conversation();
		manager.appendCompaction("what was", "none", 1000);
		say(manager);
		const { pieces, history } = contextView(sourceOf(manager));
		expect(pieces.map(({ id }) => id)).not.toContain(ask);
		expect(history.at(-1)?.byKind).not.toHaveProperty("read");
		expect(history.at(-1)?.byKind.conversation).toBe(2);
	});

	test("gives a piece's text in stretches that join to the whole", { tags: "slow" }, () => {
		fc.assert(
			fc.property(fc.string({ unit: "binary", minLength: 1, maxLength: 200 }), (unit) => {
				const systemPrompt = unit.repeat(Math.ceil(70_000 / unit.length));
				const source = { ...sourceOf(SessionManager.inMemory("/project")), systemPrompt };
				let joined = "";
				let offset: number | undefined = 0;
				while (offset !== undefined) {
					const stretch = pieceText(source, "system", offset);
					joined += stretch?.text ?? "";
					offset = stretch?.nextOffset;
				}
				expect(joined).toBe(systemPrompt);
			}),
			{ numRuns: runs(20) },
		);
		const source = sourceOf(SessionManager.inMemory("/project"));
		expect(pieceText(source, "none", 0)).toBeUndefined();
		expect(pieceText(source, "system", 10_000)).toMatchObject({ text: "", totalChars: 7 });
	});
});
