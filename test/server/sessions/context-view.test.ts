import { SessionManager } from "@earendil-works/pi-coding-agent";
import { describe, expect, test } from "vitest";
import { costView } from "../../../src/cost/index.ts";
import { requestNumbers } from "../../../src/server/sessions/context-history.ts";
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
		used: undefined,
		reserve: 200,
		compacts: true,
		agentsFiles: [],
		requests: requestNumbers(manager.getEntries()),
		pinned: new Set(),
		pendingText: () => undefined,
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
			"tool:read",
			ask,
			expect.any(String),
			result,
		]);
		expect(view.pieces.at(-1)).toMatchObject({ kind: "read", path: "src/a.ts", tokens: 1000 });
		expect(view.cachedTokens).toBe(700);
		expect(view).toMatchObject({ isEstimated: true, reserve: 200, compactsAt: 800 });
		// Scaled to the bill of the request: 701 tokens.
		expect(view.history).toHaveLength(1);
		const sizes = Object.values(view.history[0]?.byKind ?? {});
		expect(sizes.reduce((sum, tokens) => sum + tokens, 0)).toBe(701);
	});

	test("counts the system prompt and the tools before anything was sent, which pi does not", () => {
		const view = contextView({ ...sourceOf(SessionManager.inMemory("/project")), used: 0 });
		expect(view.pieces.map(({ id, tokens }) => [id, tokens > 0])).toEqual([
			["system", true],
			["tool:read", true],
		]);
		const sum = view.pieces.reduce((all, { tokens }) => all + tokens, 0);
		expect(view).toMatchObject({ tokens: sum, isEstimated: true });
	});

	test("adds up to the last bill, whatever the pieces were estimated at", () => {
		fc.assert(
			fc.property(fc.nat(100_000), (used) => {
				const { pieces, ...view } = contextView({ ...sourceOf(conversation().manager), used });
				expect(view).toMatchObject({ tokens: used, isEstimated: false });
				expect(pieces.reduce((sum, { tokens }) => sum + tokens, 0)).toBe(used);
			}),
		);
	});

	test("numbers requests as the Cost view does: all branches counted", () => {
		const { manager, ask } = conversation();
		say(manager);
		manager.branch(ask);
		say(manager);
		const { history } = contextView(sourceOf(manager));
		const { requests } = costView({
			entries: manager.getEntries(),
			branch: manager.getBranch(),
			findModel: () => undefined,
		});
		expect(history.map(({ request }) => request)).toEqual([3]);
		expect(requests).toHaveLength(3);
	});

	test("has the project's instructions, each tool and each working file as a piece", () => {
		const { manager } = conversation();
		const file = '<working-file path="src/b.ts" sha256="0">\nb\n</working-file>';
		const blocks = ["intro", file].map((text) => ({ type: "text" as const, text }));
		manager.appendCustomMessageEntry("strata-workset", blocks, false);
		const source = {
			...sourceOf(manager),
			systemPrompt: "be good\n\nUse tabs.\n\nbye",
			agentsFiles: [{ path: "/project/AGENTS.md", content: "Use tabs.\n" }],
			tools: ["read", "edit"].map((name) => ({ name, description: "", parameters: {} })),
		};
		const { pieces } = contextView(source);
		expect(pieces.map(({ kind, label }) => `${kind} ${label}`)).toEqual(
			expect.arrayContaining([
				"system system prompt",
				"system AGENTS.md",
				"tools read",
				"tools edit",
				"file working set",
				"file src/b.ts",
			]),
		);
		expect(pieceText(source, "file:/project/AGENTS.md", 0)?.text).toBe("Use tabs.");
		expect(pieceText(source, "system", 0)?.text).toBe("be good\n\n\n\nbye");
	});

	test("says which results are pinned, and what changes with the next request", () => {
		const { manager, result } = conversation();
		const source = sourceOf(manager);
		const piece = (more: Partial<ContextSource>) =>
			contextView({ ...source, ...more }).pieces.find(({ id }) => id === result);
		expect(piece({})).toMatchObject({ callId: "c1" });
		expect(piece({})).not.toHaveProperty("pinned");
		expect(piece({ pinned: new Set(["c1"]) })).toHaveProperty("pinned", true);
		expect(piece({ pendingText: () => "(Pruned) read" })).toHaveProperty("pending", "stub");
		expect(piece({ pendingText: () => "z" })).toHaveProperty("pending", "full");
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

	test("knows at each request what was a stub, from its record on and until it is undone", () => {
		const { manager, result } = conversation();
		const text = manager.getEntries().find(({ id }) => id === result);
		const whole = text?.type === "message" && "content" in text.message ? text.message.content : [];
		const stub = [{ type: "text" as const, text: "(Pruned) read" }];
		const record = (content: unknown) =>
			manager.appendCustomEntry("strata-shown-edits", { v: 1, edits: [[result, content]] });
		say(manager);
		record(stub);
		say(manager);
		manager.appendContextEdit(result, { content: stub });
		say(manager);
		record(whole);
		say(manager);
		manager.appendContextEdit(result, { content: whole as typeof stub });
		manager.appendCustomMessageEntry("strata-workset", "a file", false);
		say(manager);
		const { history } = contextView(sourceOf(manager));
		const kinds = history
			.slice(-5)
			.map(({ byKind: { read, stub, file } }) => [
				...[read, stub, file].map((tokens = 0) => tokens > 0),
			]);
		expect(kinds).toEqual([
			[true, false, false],
			[false, true, false],
			[false, true, false],
			[true, false, false],
			[true, false, true],
		]);
	});

	test("leaves out what compaction has replaced, also from later moments", () => {
		const { manager, ask } = conversation();
		manager.appendCompaction("what was", "none", 1000);
		say(manager);
		const { pieces, history } = contextView(sourceOf(manager));
		expect(pieces.map(({ id }) => id)).not.toContain(ask);
		expect(history.at(-1)?.byKind).not.toHaveProperty("read");
		// The summary "what was" is as long as the system prompt.
		expect(history.at(-1)?.byKind.conversation).toBe(history.at(-1)?.byKind.system);
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
