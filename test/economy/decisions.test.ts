import { describe, expect, test } from "vitest";
import { shouldPrune, shouldReorganise } from "../../src/economy/index.ts";
import type { PruneTerms } from "../../src/economy/rewrite.ts";
import { isCold, rulesFor } from "../../src/economy/rules.ts";
import { fc } from "../support/property.ts";
import { HOUR, MINUTE } from "./requests.ts";

const rules = rulesFor({ provider: "anthropic", id: "claude-sonnet-4-5" }); // r = 0.1, w = 1.25
const warm: PruneTerms = {
	prunableTokens: 30_000,
	tokensAfterFirst: 50_000,
	growthPerRequest: 1000,
	rules,
	cold: false,
	contextTokens: 80_000,
	contextWindow: 200_000,
};
/** √(2 · 1.15 · 50,000 · 1000 / 0.1) */
const lot = 33_911.65;

describe("pruning", () => {
	test("pays from the lot size on, and waits below", () => {
		expect(shouldPrune(warm)).toMatchObject({ prune: false, why: "waits" });
		expect(shouldPrune(warm).threshold).toBeCloseTo(lot, 2);
		expect(shouldPrune({ ...warm, prunableTokens: 33_911 })).toMatchObject({ why: "waits" });
		expect(shouldPrune({ ...warm, prunableTokens: 33_912 })).toMatchObject({
			prune: true,
			why: "pays",
		});
	});

	test("is free when cold, however little there is", () => {
		const little = { ...warm, prunableTokens: 1, cold: true };
		expect(shouldPrune(little)).toMatchObject({ prune: true, why: "cold" });
	});

	test("is due near the limit, if it makes some room there", () => {
		const full = { ...warm, prunableTokens: 10_000, contextTokens: 175_424 };
		expect(shouldPrune(full)).toMatchObject({ prune: true, why: "near-limit" });
		expect(shouldPrune({ ...full, contextTokens: 175_423 })).toMatchObject({ why: "waits" });
		expect(shouldPrune({ ...full, prunableTokens: 9999 })).toMatchObject({ why: "waits" });
		const million = {
			...warm,
			prunableTokens: 50_000,
			growthPerRequest: 5000,
			contextWindow: 1_000_000,
		};
		expect(shouldPrune({ ...million, contextTokens: 899_999 })).toMatchObject({ why: "waits" });
		expect(shouldPrune({ ...million, contextTokens: 900_000 })).toMatchObject({
			why: "near-limit",
		});
	});

	test("never happens where there is nothing to prune", () => {
		const nothing = { ...warm, prunableTokens: 0, cold: true, contextTokens: 199_000 };
		expect(shouldPrune(nothing)).toMatchObject({ prune: false, why: "nothing" });
	});

	test("the cheaper the reads, the longer it waits; the dearer the writes, too", () => {
		const cheap = shouldPrune({ ...warm, rules: { ...rules, readRatio: 0.025 } });
		expect(cheap.threshold).toBeCloseTo(Math.sqrt((2 * 1.225 * 50_000 * 1000) / 0.025), 6);
		const hour = shouldPrune({ ...warm, ttl: "1h" });
		expect(hour.threshold).toBeCloseTo(Math.sqrt((2 * 1.9 * 50_000 * 1000) / 0.1), 6);
		const free = shouldPrune({ ...warm, rules: { ...rules, readRatio: 0 } });
		expect(free).toEqual({ prune: false, why: "waits", threshold: Number.POSITIVE_INFINITY });
	});

	test("without a cache, or at the very end of the conversation, it always pays", () => {
		const uncached = { readRatio: 1, writeRatio: 1, writeOneHourRatio: 1 };
		expect(shouldPrune({ ...warm, rules: uncached, prunableTokens: 1 })).toMatchObject({
			why: "pays",
			threshold: 0,
		});
		const free = { readRatio: 0, writeRatio: 1.25, writeOneHourRatio: 2 };
		const atEnd = { ...warm, tokensAfterFirst: 0, prunableTokens: 1 };
		expect(shouldPrune({ ...atEnd, rules: free })).toMatchObject({ why: "pays", threshold: 0 });
	});

	test("a few tokens are not worth a large rewrite just because no more are coming", () => {
		const still = { ...warm, growthPerRequest: 0 };
		// 57,500 for the rewrite, won back within 60 requests at 0.1 a token: 9583 tokens.
		expect(shouldPrune({ ...still, prunableTokens: 9583 })).toMatchObject({ why: "waits" });
		expect(shouldPrune({ ...still, prunableTokens: 9584 })).toMatchObject({ why: "pays" });
	});

	test("waits for the size that what is rewritten each time asks for, and to earn back all that is", () => {
		const scattered = { ...warm, tokensAfterFirst: 150_000, tokensAfterLast: 10_000 };
		expect(shouldPrune(scattered).threshold).toBeCloseTo((1.15 * 150_000) / (0.1 * 60), 6);
		const close = { ...scattered, tokensAfterFirst: 20_000 };
		expect(shouldPrune(close).threshold).toBeCloseTo(
			Math.sqrt((2 * 1.15 * 10_000 * 1000) / 0.1),
			6,
		);
	});

	test("is never worth a rewrite for what is read for nothing, also where nothing grows", () => {
		const free = { ...warm, growthPerRequest: 0, rules: { ...rules, readRatio: 0 } };
		expect(shouldPrune(free)).toMatchObject({ why: "waits", threshold: Number.POSITIVE_INFINITY });
	});

	test("more to prune, less behind it or a cold cache never turn a yes into a no", () => {
		const tokens = fc.nat(200_000);
		const terms = fc.record({
			prunableTokens: tokens,
			tokensAfterFirst: tokens,
			growthPerRequest: fc.nat(5000),
			cold: fc.boolean(),
			contextTokens: tokens,
		});
		fc.assert(
			fc.property(terms, tokens, (part, more) => {
				const before = { ...warm, ...part };
				fc.pre(shouldPrune(before).prune);
				const { prunableTokens, tokensAfterFirst } = before;
				for (const better of [
					{ prunableTokens: prunableTokens + more },
					{ tokensAfterFirst: Math.max(0, tokensAfterFirst - more) },
					{ cold: true },
				]) {
					expect(shouldPrune({ ...before, ...better }).prune).toBe(true);
				}
			}),
		);
	});

	test("the lot size is the cheapest batch for a long session", () => {
		const { tokensAfterFirst: behind, growthPerRequest: growth } = warm;
		/** Average cost of a request: what lies about is read, and each batch causes a rewrite. */
		const costPerRequest = (batch: number) => 0.1 * (batch / 2) + (1.15 * behind * growth) / batch;
		const best = costPerRequest(shouldPrune(warm).threshold);
		for (let batch = 1000; batch < 200_000; batch += 1000) {
			expect(costPerRequest(batch)).toBeGreaterThanOrEqual(best);
		}
	});
});

describe("reorganising", () => {
	const { prunableTokens, ...common } = warm;
	const terms = { ...common, deadTokens: prunableTokens };

	test("follows the lot size of what it drops", () => {
		expect(shouldReorganise(terms)).toMatchObject({ reorganise: false, why: "waits" });
		expect(shouldReorganise(terms).threshold).toBeCloseTo(lot, 2);
		expect(shouldReorganise({ ...terms, deadTokens: 33_912 })).toMatchObject({
			reorganise: true,
			why: "pays",
		});
		expect(shouldReorganise({ ...terms, contextTokens: 190_000 })).toMatchObject({
			reorganise: true,
			why: "near-limit",
		});
	});

	test("a new order alone waits for a cold cache, and no new order for nothing", () => {
		const tidy = { ...terms, deadTokens: 0 };
		expect(shouldReorganise(tidy)).toMatchObject({ reorganise: false, why: "nothing" });
		expect(shouldReorganise({ ...tidy, cold: true })).toMatchObject({
			reorganise: true,
			why: "cold",
		});
		const inOrder = { ...tidy, cold: true, tokensAfterFirst: 0 };
		expect(shouldReorganise(inOrder)).toMatchObject({ reorganise: false, why: "nothing" });
	});
});

describe("coldness", () => {
	const now = { gapMs: 0, ttlMs: 5 * MINUTE };

	test("begins at the instant the entries die", () => {
		expect(isCold({ ...now, gapMs: 5 * MINUTE - 1 })).toEqual({ cold: false });
		expect(isCold({ ...now, gapMs: 5 * MINUTE })).toEqual({ cold: true, why: "gap" });
		expect(isCold({ gapMs: HOUR - 1, ttlMs: HOUR })).toEqual({ cold: false });
	});

	test.each([
		["modelChanged", "model"],
		["toolsChanged", "tools"],
		["thinkingChanged", "thinking"],
		["compacted", "compaction"],
	])("%s makes it cold because of the %s", (change, why) => {
		expect(isCold({ ...now, [change]: true })).toEqual({ cold: true, why });
		expect(isCold({ ...now, [change]: false })).toEqual({ cold: false });
	});

	test("the change that loses most is named", () => {
		expect(isCold({ ...now, gapMs: HOUR, thinkingChanged: true, modelChanged: true })).toEqual({
			cold: true,
			why: "model",
		});
	});
});
