import { describe, expect, test } from "vitest";
import { type Price, planFor } from "../../src/economy/rewrite-plan.ts";
import { rulesFor } from "../../src/economy/rules.ts";
import { type Candidate, candidatesOf } from "../../src/pruning/candidates.ts";
import { effectOf } from "../../src/pruning/pruner.ts";
import type { ContextMessage } from "../../src/session/index.ts";
import { fc } from "../support/property.ts";
import { conversationOf, factsOf, type Line } from "./conversation.ts";

const rules = rulesFor({ provider: "anthropic", id: "claude-opus-4-5" });
const SETTINGS = { keepRecentTurns: 0, maxToolChars: 1200, anyTool: false };

interface Moment extends Price {
	readonly messages: readonly ContextMessage[];
	readonly candidates: readonly Candidate[];
}

const planOf = (moment: Moment) => planFor(effectOf(moment.messages, moment.candidates), moment);

/** A conversation with so many old results of 1,000 tokens, and a recent end of so many. */
function momentOf(old: number, recent: number, more: Partial<Moment> = {}): Moment {
	const result: Line = { tool: "read", chars: 4000 };
	const lines: Line[] = [
		"user",
		...Array<Line>(old).fill(result),
		"assistant",
		...Array<Line>(recent).fill(result),
	];
	const { messages, results } = conversationOf(lines);
	return {
		messages,
		candidates: candidatesOf({ messages, results, facts: factsOf() }, SETTINGS),
		rules,
		cold: false,
		contextTokens: 50_000,
		contextWindow: 200_000,
		growthPerRequest: 500,
		credit: Number.POSITIVE_INFINITY,
		ttl: "5m",
		...more,
	};
}

describe("a plan", () => {
	test("frees what stubs save, and rewrites what stands behind the first that goes", () => {
		const plan = planOf(momentOf(4, 2));
		expect(plan.freedTokens).toBe(4 * (1000 - 75));
		expect(plan.rewrittenTokens).toBe(6 * 1000 + 10 - plan.freedTokens);
		expect(plan.rewriteCost).toBeCloseTo(plan.rewrittenTokens * 1.15);
	});

	test("waits for a batch that pays", () => {
		expect(planOf(momentOf(2, 20))).toMatchObject({ prune: false, why: "waits" });
		expect(planOf(momentOf(40, 20))).toMatchObject({ prune: true, why: "pays" });
		expect(planOf(momentOf(0, 20))).toMatchObject({ prune: false, why: "nothing" });
	});

	test("waits for less when writing anew is cheap, and for more when reading is", () => {
		const cheap = { ...rules, writeRatio: 1 };
		const thresholds = [cheap, rules, { ...rules, readRatio: 0.025 }].map(
			(each) => planOf(momentOf(10, 20, { rules: each })).threshold,
		);
		expect(thresholds).toEqual(thresholds.toSorted((a, b) => a - b));
		const hour = planOf(momentOf(10, 20, { ttl: "1h" })).threshold;
		expect(hour).toBeGreaterThan(planOf(momentOf(10, 20)).threshold);
	});

	test("does not spend what a session that ends now has not saved", () => {
		const { rewriteCost } = planOf(momentOf(40, 20));
		const plan = (credit: number) => planOf(momentOf(40, 20, { credit }));
		expect(plan(rewriteCost - 1)).toMatchObject({ prune: false, why: "unpaid" });
		expect(plan(rewriteCost)).toMatchObject({ prune: true, why: "pays" });
	});

	test("costs nothing while the cache is cold, so that little is enough", () => {
		expect(planOf(momentOf(1, 20, { cold: true, credit: 0 }))).toMatchObject({
			prune: true,
			why: "cold",
			rewrittenTokens: 0,
			rewriteCost: 0,
		});
	});

	test("near the limit goes ahead whatever it costs, but not for a few tokens", () => {
		const full = { contextTokens: 180_000, credit: 0 };
		expect(planOf(momentOf(12, 20, full))).toMatchObject({ prune: true, why: "near-limit" });
		expect(planOf(momentOf(5, 20, full))).toMatchObject({ prune: false, why: "waits" });
	});

	test("near the limit still goes ahead with a small batch that pays", () => {
		const pays = { prune: true, why: "pays" };
		expect(planOf(momentOf(9, 0))).toMatchObject(pays);
		expect(planOf(momentOf(9, 0, { contextTokens: 180_000 }))).toMatchObject(pays);
		const unpaid = planOf(momentOf(9, 0, { contextTokens: 180_000, credit: 0 }));
		expect(unpaid).toMatchObject({ prune: false, why: "unpaid" });
	});

	test("that pays earns its cost back within sixty requests", () => {
		fc.assert(
			fc.property(fc.nat(60), fc.nat(60), fc.nat(3000), (old, recent, growthPerRequest) => {
				const { prune, freedTokens, rewriteCost } = planOf(
					momentOf(old, recent, { growthPerRequest }),
				);
				if (prune) expect(freedTokens * rules.readRatio * 60).toBeGreaterThanOrEqual(rewriteCost);
			}),
		);
	});
});
