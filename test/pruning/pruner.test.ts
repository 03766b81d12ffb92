import { describe, expect, test } from "vitest";
import { createGrowth } from "../../src/economy/rewrite-plan.ts";
import { rulesFor } from "../../src/economy/rules.ts";
import { frontierOf } from "../../src/pruning/candidates.ts";
import { isTight, type PrunableSession, Pruner, strictness } from "../../src/pruning/pruner.ts";
import { conversationOf, factsOf, type Line } from "./conversation.ts";

const SETTINGS = { keepRecentTurns: 2, maxToolChars: 1200, adaptive: true };

function sessionOf(lines: Line[], more: Partial<PrunableSession> = {}): PrunableSession {
	const { messages, results } = conversationOf(lines);
	return {
		messages,
		results,
		facts: factsOf(),
		editableFrom: 0,
		rules: rulesFor({ provider: "anthropic", id: "claude-opus-4-5" }),
		cold: false,
		contextTokens: messages.reduce((sum, { tokens }) => sum + tokens, 0),
		contextWindow: 200_000,
		ttl: "5m",
		...more,
	};
}

const grep: Line = { tool: "grep", chars: 1000 };
const talk: Line[] = ["user", "assistant"];

describe("as the window fills up", () => {
	const fill = (contextTokens: number) => ({ contextTokens, contextWindow: 100_000 });

	test("more goes above one mark, and it stays so until well below it", () => {
		const tight: boolean[] = [];
		for (const tokens of [50_000, 59_000, 61_000, 55_000, 46_000, 59_000, 44_000, 55_000]) {
			tight.push(isTight(tight.at(-1) ?? false, fill(tokens)));
		}
		expect(tight).toEqual([false, false, true, true, true, true, false, false]);
		expect(isTight(false, { contextTokens: 5, contextWindow: 0 })).toBe(false);
	});

	test("one turn fewer stays, shorter output goes, of every tool", () => {
		expect(strictness(SETTINGS, false)).toEqual({
			keepRecentTurns: 2,
			maxToolChars: 1200,
			anyTool: false,
		});
		const strict = { keepRecentTurns: 1, maxToolChars: 800, anyTool: true };
		expect(strictness(SETTINGS, true)).toEqual(strict);
		expect(strictness({ ...SETTINGS, keepRecentTurns: 0 }, true).keepRecentTurns).toBe(0);
	});

	test("a pruning that empties the window does not at once end itself", () => {
		const pruner = new Pruner(SETTINGS);
		const lines: Line[] = ["user", grep, ...talk, ...talk];
		const candidates = (contextTokens: number) =>
			pruner.decide(sessionOf(lines, fill(contextTokens))).candidates.length;
		expect(candidates(50_000)).toBe(0);
		expect(candidates(70_000)).toBe(1);
		expect(candidates(50_000)).toBe(1);
		expect(candidates(40_000)).toBe(0);
	});
});

test("a full window lets no more go, and is not said to, where pruning is not to adapt", () => {
	const lines: Line[] = ["user", grep, ...talk, ...talk];
	const full = sessionOf(lines, { contextTokens: 70_000, contextWindow: 100_000 });
	const decided = (adaptive: boolean) => new Pruner({ ...SETTINGS, adaptive }).decide(full);
	expect(decided(true)).toMatchObject({ tight: true, candidates: [{ why: "old" }] });
	expect(decided(false)).toMatchObject({ tight: false, candidates: [] });
});

test("a preview says what would be decided, and changes nothing", () => {
	const lines: Line[] = ["user", { tool: "read", chars: 40_000 }, ...talk, ...talk];
	const [asked, quiet] = [new Pruner(SETTINGS), new Pruner(SETTINGS)];
	const session = sessionOf(lines);
	for (let i = 0; i < 5; i++) asked.preview(session);
	expect(asked.decide(session)).toEqual(quiet.decide(session));
	expect(asked.preview(session).candidates).toEqual(quiet.decide(session).candidates);
});

test("what earlier requests have saved pays for a rewrite", () => {
	const calls = Array.from({ length: 60 }, (): Line[] => ["assistant", { tool: "read" }]).flat();
	const session = sessionOf(["user", ...calls, "assistant"]);
	const pruner = new Pruner(SETTINGS);
	for (let request = 0; request < 30; request++) pruner.decide(session);
	expect(pruner.decide(session).plan.why).toBe("unpaid");
	pruner.recordRequest(100_000, 200_000);
	expect(pruner.decide(session).plan).toMatchObject({ prune: true, why: "pays" });
});

describe("growth", () => {
	test("is the mean at first, and then follows what happens now", () => {
		const growth = createGrowth();
		expect(growth.perRequest).toBe(0);
		for (let size = 100; size <= 1000; size += 100) growth.add(size);
		expect(growth.perRequest).toBeCloseTo(100);
		for (let size = 1000; size <= 200_000; size += 1000) growth.add(size);
		expect(growth.perRequest).toBeGreaterThan(900);
	});

	test("is not changed by a pruning, and goes on from there", () => {
		const growth = createGrowth();
		for (const size of [100, 200, 300, 0, 100, 200]) growth.add(size);
		expect(growth.perRequest).toBeCloseTo(100);
	});
});

describe("where the model's thinking is bound to what was sent", () => {
	const lines: Line[] = ["user", { tool: "read" }, "assistant", { tool: "read" }, ...talk, ...talk];

	test("a short result that refers to a bound one stays, since a stub of it frees nothing", () => {
		const hash = "0".repeat(64);
		const references = [{ line: 1, base: "call1", first: 1, last: 9 }];
		const hashes = { shown: hash, expanded: hash, original: hash };
		const birth = { v: 1, form: 1, ...hashes, savedChars: 9, references };
		const short: Line = { tool: "read", chars: 80, details: { birth } };
		const session = (editableFrom: number) =>
			sessionOf(["user", { tool: "read" }, "assistant", short, ...talk, ...talk], {
				cold: true,
				editableFrom,
			});
		const decide = (editableFrom: number) => {
			const { candidates, bound } = new Pruner(SETTINGS).decide(session(editableFrom));
			return { gone: candidates.map(({ at }) => at), bound };
		};
		expect(decide(0)).toEqual({ gone: [1, 3], bound: 0 });
		expect(decide(3)).toEqual({ gone: [], bound: 1 });
	});

	test("only results behind the last bound answer go, though the cache is cold", () => {
		const decide = (editableFrom: number) => {
			const session = sessionOf(lines, { cold: true, editableFrom });
			const { candidates, bound } = new Pruner(SETTINGS).decide(session);
			return { gone: candidates.map(({ at }) => at), bound };
		};
		expect(decide(0)).toEqual({ gone: [1, 3], bound: 0 });
		expect(decide(3)).toEqual({ gone: [3], bound: 1 });
		expect(decide(lines.length)).toEqual({ gone: [], bound: 2 });
	});

	test("no batch is made when the window is nearly full either", () => {
		const full = { contextTokens: 199_000, editableFrom: lines.length };
		const { plan } = new Pruner(SETTINGS).decide(sessionOf(lines, full));
		expect(plan).toMatchObject({ prune: false, freedTokens: 0 });
	});

	test("the frontier for a cache marker is behind the last bound answer", () => {
		const frontier = (editableFrom: number) =>
			frontierOf(sessionOf(lines, { editableFrom }))?.entryId;
		expect(frontier(0)).toBe("e1");
		expect(frontier(3)).toBe("e3");
		expect(frontier(lines.length)).toBeUndefined();
	});
});
