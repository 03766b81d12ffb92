import { describe, expect, test } from "vitest";
import {
	type AnsweredRequest,
	accountText,
	type ComparedPiece,
	CostAccount,
	diagnoseMiss,
	missText,
} from "../../../src/economy/live/account.ts";
import { rulesFor } from "../../../src/economy/rules.ts";
import { readPayload } from "../../../src/wire/index.ts";

const CLAUDE = {
	provider: "anthropic",
	id: "claude-opus-4-5",
	api: "anthropic-messages",
	cost: { input: 5, output: 25, cacheRead: 0.5, cacheWrite: 6.25 },
};
const rules = rulesFor(CLAUDE);
const payload = (system: string, ...texts: string[]) => ({
	tools: [{ name: "read" }],
	system,
	messages: texts.map((content) => ({ role: "user", content })),
});

function piecesOf(payload: object): readonly ComparedPiece[] {
	return readPayload(payload)?.pieces ?? [];
}

function answered(
	read: number,
	write: number,
	more: Partial<AnsweredRequest> = {},
): AnsweredRequest {
	const tokens = { input: 10, read, write, writeOneHour: 0 };
	return { atMs: 0, gapMs: 1000, model: "claude", thinking: "off", tokens, ...more };
}

const before = answered(0, 50_000, { pieces: piecesOf(payload("rules", "one")) });

describe("a request misses", () => {
	test("what the provider has cached without a bill, also after a request that read nothing", () => {
		const account = new CostAccount();
		const model = { provider: "openai", id: "gpt-5.5", api: "openai-responses" };
		const missed = [0, 29_952, 0, 0].map((read, at) => {
			const tokens = { input: 30_000 + 1000 * at - read, read, write: 0, writeOneHour: 0 };
			return account.add({ atMs: 0, gapMs: 1000, model: "gpt", tokens }, model)?.tokens;
		});
		expect(missed).toEqual([undefined, undefined, 30_848, 31_872]);
	});

	test("nothing when it reads all that was cached, or more", () => {
		expect(diagnoseMiss(before, answered(50_000, 100), rules)).toBeUndefined();
		expect(diagnoseMiss(before, answered(60_000, 0), rules)).toBeUndefined();
	});

	test("as many tokens as it read less than was cached", () => {
		expect(diagnoseMiss(before, answered(20_000, 31_000), rules)?.tokens).toBe(30_000);
	});

	test.each<[string, Partial<AnsweredRequest>]>([
		["compaction", { compacted: true, model: "other" }],
		["pruning", { pruned: true, pieces: piecesOf(payload("rules", "other")) }],
		["expired", { pruned: true, gapMs: 300_000 }],
		["model", { model: "other", thinking: "high" }],
		["expired", { gapMs: 300_000, pieces: piecesOf(payload("other", "one")) }],
		["tools", { pieces: piecesOf({ ...payload("rules", "one"), tools: [] }), thinking: "high" }],
		["system", { pieces: piecesOf(payload("other", "one")) }],
		["branch", { branched: true, thinking: "high", pieces: piecesOf(payload("rules", "other")) }],
		["thinking", { thinking: "high", pieces: piecesOf(payload("rules", "other")) }],
		["messages", { pieces: piecesOf(payload("rules", "other", "two")) }],
		["messages", { pieces: piecesOf(payload("rules")) }],
		["provider", { pieces: piecesOf(payload("rules", "one", "two")) }],
		[
			"dropped",
			{ pieces: piecesOf(payload("rules", "one", "two")), misplaced: { dropped: 2, allowed: 0 } },
		],
		[
			"messages",
			{ pieces: piecesOf(payload("rules", "other")), misplaced: { dropped: 2, allowed: 0 } },
		],
		["unknown", {}],
	])("because of: %s", (cause, more) => {
		expect(diagnoseMiss(before, answered(0, 50_000, more), rules)?.cause).toBe(cause);
	});

	test("and the first piece that changed is named", () => {
		const changed = (now: object) =>
			diagnoseMiss(before, answered(0, 50_000, { pieces: piecesOf(now) }), rules)?.changed;
		expect(changed(payload("rules", "other"))).toBe("user message 1");
		expect(changed(payload("rules"))).toBe("user message 1 (removed)");
		expect(changed({ ...payload("rules", "one"), tools: [] })).toBe("tool read (removed)");
		const more = [{ name: "read" }, { name: "new" }];
		expect(changed({ ...payload("rules", "one"), tools: more })).toBe("tool new");
		expect(changed(payload("rules", "one", "two"))).toBeUndefined();
	});

	test("no more than it holds: after a compaction most of what was cached is not asked for again", () => {
		const compacted = answered(0, 8_000, { compacted: true });
		expect(diagnoseMiss(before, compacted, rules)?.tokens).toBe(8_010);
	});

	test("because of the thinking level; where no rule says that it loses anything, only if nothing else changed", () => {
		const level = (...texts: string[]) =>
			answered(0, 50_000, { thinking: "high", pieces: piecesOf(payload("rules", ...texts)) });
		const openai = rulesFor({ provider: "openai", id: "gpt-5.6" });
		expect(diagnoseMiss(before, level("one"), rules)?.cause).toBe("thinking");
		expect(diagnoseMiss(before, level("one"), openai)?.cause).toBe("thinking");
		expect(diagnoseMiss(before, level("other"), rules)?.cause).toBe("thinking");
		expect(diagnoseMiss(before, level("other"), openai)?.cause).toBe("messages");
	});

	test("because of the change, also after a long pause, if all in front of it was still read", () => {
		const sizes = [{ bytes: 3000 }, { bytes: 3000 }, { bytes: 4000 }];
		const sized = (system: string) =>
			piecesOf(payload(system, "one")).map((piece, at) => ({ ...piece, ...sizes[at] }));
		const first = answered(0, 50_000, { pieces: sized("rules") });
		const late = (read: number) =>
			answered(read, 50_000 - read, { gapMs: 300_000, pieces: sized("other") });
		expect(diagnoseMiss(first, late(15_000), rules)?.cause).toBe("system");
		expect(diagnoseMiss(first, late(2000), rules)?.cause).toBe("expired");
	});

	test("later when it was written for an hour", () => {
		const tokens = { input: 0, read: 0, write: 50_000, writeOneHour: 50_000 };
		const long = { ...before, tokens };
		const late = (gapMs: number) =>
			diagnoseMiss(long, answered(0, 50_000, { gapMs }), rules)?.cause;
		expect(late(3_599_999)).toBe("unknown");
		expect(late(3_600_000)).toBe("expired");
	});

	test("later too when a cache of an hour was only read since", () => {
		const causeAfter = (gapMs: number) => {
			const account = new CostAccount();
			const tokens = { input: 0, read: 0, write: 50_000, writeOneHour: 50_000 };
			account.add(answered(0, 0, { tokens }), CLAUDE);
			account.add(answered(50_000, 0), CLAUDE);
			return account.add(answered(0, 50_000, { gapMs }), CLAUDE)?.cause;
		};
		expect(causeAfter(600_000)).toBe("unknown");
		expect(causeAfter(3_600_000)).toBe("expired");
	});

	test("because of the thinking level only where both requests state one", () => {
		const { thinking: _, ...unstated } = answered(0, 50_000);
		expect(diagnoseMiss(before, unstated, rules)?.cause).toBe("unknown");
		expect(diagnoseMiss(unstated, answered(0, 50_000), rules)?.cause).toBe("unknown");
	});

	test("where writes are not billed, only once reads show that there is a cache", () => {
		const openai = rulesFor({ provider: "openai", id: "gpt-5", api: "openai-responses" });
		const silent = answered(0, 0, { tokens: { input: 9000, read: 0, write: 0, writeOneHour: 0 } });
		expect(diagnoseMiss(silent, silent, openai)).toBeUndefined();
		const warm = { ...silent, tokens: { input: 1000, read: 8960, write: 0, writeOneHour: 0 } };
		expect(diagnoseMiss(warm, silent, openai)?.tokens).toBe(9000);
		expect(diagnoseMiss(warm, warm, openai)?.tokens ?? 0).toBeLessThan(1000);
	});
});

describe("an account", () => {
	test("knows what was paid, what it would be without a cache, and without misses", () => {
		const account = new CostAccount();
		account.add(answered(0, 50_000), CLAUDE);
		expect(account.add(answered(50_000, 2_000), CLAUDE)).toBeUndefined();
		const miss = account.add(answered(0, 54_000), CLAUDE);
		// 52,000 tokens written at 1.25 where reading them is 0.1; five dollars a million.
		expect(miss).toMatchObject({ tokens: 52_000, cost: 59_800 });
		expect(miss?.dollars).toBeCloseTo(0.299, 10);
		const summary = account.summary();
		expect(summary).toMatchObject({ requests: 3, uncached: 156_030 });
		expect(summary.cost).toBeCloseTo(30 + 106_000 * 1.25 + 50_000 * 0.1, 6);
		expect(summary.withoutMisses).toBeCloseTo(summary.cost - 52_000 * 1.15, 6);
	});

	test("prices a miss as pi prices the request it is part of", () => {
		const dear = { input: 10, output: 50, cacheRead: 1, cacheWrite: 12.5 };
		const tiers = [{ inputTokensAbove: 200_000, ...dear }];
		const account = new CostAccount();
		account.add(answered(0, 250_000), CLAUDE);
		const model = { ...CLAUDE, cost: { ...CLAUDE.cost, tiers } };
		expect(account.add(answered(0, 250_000), model)?.dollars).toBeCloseTo(0.25 * 11.5, 10);
	});

	test("shows times that cannot be as such", () => {
		const account = new CostAccount();
		account.add(answered(0, 50_000), CLAUDE);
		account.add(answered(0, 50_000, { atMs: 1e300 }), CLAUDE);
		expect(accountText(account.summary())).toContain("  ?  50,000 cached tokens");
	});

	test("is told in a few lines", () => {
		const account = new CostAccount();
		expect(accountText(account.summary())).toBe("No request of this session has been billed yet.");
		account.add(answered(0, 50_000), CLAUDE);
		expect(accountText(account.summary())).toMatch(/^1 request, /);
		account.add(answered(0, 52_000, { atMs: 3_600_000, gapMs: 400_000 }), CLAUDE);
		expect(accountText(account.summary()).split("\n")).toEqual([
			"2 requests, 102,020 prompt tokens: 0 % read from the cache, 100 % written to it, 0 % uncached",
			"cost in plain input tokens: 127,520, which is 1.25 × the cost without a cache (102,020)",
			"cache misses: 1, which raised the cost to 1.82 × the cost without them (70,020)",
			"  01:00:00  50,000 cached tokens were paid for again ($0.29): the pause was longer than the cache's TTL",
		]);
	});

	test("counts the requests from which the provider left out thinking", () => {
		const account = new CostAccount();
		account.add(answered(0, 50_000), CLAUDE);
		expect(accountText(account.summary())).not.toContain("thinking:");
		account.add(answered(50_000, 0, { misplaced: { dropped: 3, allowed: 0 } }), CLAUDE);
		account.add(answered(50_000, 0, { misplaced: { dropped: 2, allowed: 0 } }), CLAUDE);
		account.add(answered(50_000, 0, { misplaced: { dropped: 0, allowed: 1 } }), CLAUDE);
		expect(account.summary().misplaced).toEqual({ dropped: 2, allowed: 1, latestBlocks: 2 });
		const text = accountText(account.summary());
		expect(text).toContain(
			"in 2 requests, the provider dropped thinking blocks of earlier answers (2 in the latest request)",
		);
		expect(text).toContain(
			"in 1 request, the provider accepted thinking blocks of earlier answers",
		);
	});

	test("lists the latest misses and stays bounded", () => {
		const account = new CostAccount();
		for (let n = 0; n < 700; n++) account.add(answered(0, 50_000 + n, { atMs: n * 1000 }), CLAUDE);
		const summary = account.summary();
		expect(summary.misses).toHaveLength(500);
		expect(accountText(summary)).toContain("(only the latest 15 misses are listed)");
		expect(missText(summary.misses[0] as never)).toContain("the request was not observed");
	});
});

describe("a compaction that would have paid", () => {
	/** Prompts that grow by 2,000 tokens from 10,000 on, and start over after `every` requests. */
	const accountOf = (requests: number, every = requests) => {
		const account = new CostAccount();
		for (let at = 0; at < requests; at++) {
			const compacted = at > 0 && at % every === 0;
			account.add(answered(8_000 + 2_000 * (at % every), 1_990, { compacted }), CLAUDE);
		}
		return account;
	};

	test("is reported with its moment, its cost and what it would have saved by now", () => {
		const { missedCompaction } = accountOf(120).summary();
		const { request = 0, tokens = 0, cost, saved } = missedCompaction ?? {};
		expect(tokens).toBe(10_000 + 2_000 * (request - 1));
		// A read of the prompt, a summary of 2,000 tokens, and writing 22,000 tokens instead of reading them.
		expect(cost).toBeCloseTo(0.1 * tokens + 5 * 2_000 + 1.15 * 22_000);
		expect(saved).toBeCloseTo(0.1 * (120 - request + 1) * (tokens - 10_000 - 22_000));
		expect(accountText(accountOf(120).summary())).toMatch(
			/compaction: before request \d+, at [\d,]+ tokens, one would have cost [\d,]+ and saved [\d,]+ by now/,
		);
	});

	test("is not reported for a short session, nor across compactions that were made", () => {
		expect(accountOf(20).summary().missedCompaction).toBeUndefined();
		expect(accountText(accountOf(20).summary())).not.toContain("compaction");
		const often = accountOf(120, 12);
		expect(often.summary().missedCompaction).toBeUndefined();
	});
});

describe("writes of a model without documented rules", () => {
	const GLM = { provider: "some-gateway", id: "glm-5.2" };
	const tokens = (input: number, read: number, write: number) => ({
		tokens: { input, read, write, writeOneHour: 0 },
	});
	const billed = (...bills: [input: number, read: number, write: number][]) => {
		const account = new CostAccount();
		for (const bill of bills) account.add(answered(0, 0, tokens(...bill)), GLM);
		return account;
	};

	test("count as plain input once reads were billed, until a write is", () => {
		const free = { writeRatio: 1, writeOneHourRatio: 1 };
		expect(billed().rulesOf(GLM).writeRatio).toBe(1.25);
		expect(billed([5000, 0, 0]).rulesOf(GLM).writeRatio).toBe(1.25);
		const account = billed([5000, 0, 0], [920, 4992, 0]);
		expect(account.rulesOf(GLM)).toMatchObject(free);
		expect(account.rulesOf(GLM).because).toContain("reads and no writes");
		account.add(answered(0, 0, tokens(0, 5888, 1000)), GLM);
		expect(account.rulesOf(GLM).writeRatio).toBe(1.25);
		// 5000 + (920 + 499.2) + (588.8 + 1250)
		expect(account.summary().cost).toBeCloseTo(8258, 6);
	});

	test("say nothing about other models, nor about documented rules", () => {
		const account = billed([5000, 0, 0], [920, 4992, 0]);
		expect(account.rulesOf({ ...GLM, id: "glm-6" }).writeRatio).toBe(1.25);
		account.add(answered(50_000, 0), CLAUDE);
		expect(account.rulesOf(CLAUDE)).toEqual(rules);
	});
});
