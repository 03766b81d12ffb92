import { describe, expect, test } from "vitest";
import {
	billFigures,
	concerns,
	conversationName,
	conversationRows,
	costText,
	requestNote,
	sumOf,
} from "../../../src/dashboard/views/traffic/conversations.ts";
import type { Data } from "../../../src/protocol/index.ts";

const listed = (
	id: number,
	usedMs: number,
	changes: Partial<Data<"ListedConversation">> = {},
): Data<"ListedConversation"> => ({
	...{ id, usedMs, startedMs: 0, agent: "claude-code", isSubagent: false, model: "opus" },
	...{ requests: 1, context: 10, read: 90, write: 5, input: 5, output: 1 },
	...{ cost: { tokens: 20, dollars: 0.5 }, unpriced: 0, misses: 0, missDollars: 0 },
	...changes,
});

describe("the rows of conversations", () => {
	test("have the latest used session first, and below it what belongs to it", () => {
		const rows = conversationRows([
			listed(7, 900, { parent: 2, isSubagent: true }),
			listed(5, 800),
			listed(2, 700),
			listed(1, 600, { parent: 2 }),
			listed(6, 650, { parent: 2, isSubagent: true }),
		]);
		expect(rows.map(({ id }) => id)).toEqual([2, 7, 6, 1, 5]);
	});

	test("are named by agent and number, or by what they are in their session", () => {
		expect(
			[
				listed(2, 0),
				listed(3, 0, { parent: 2, isSubagent: true }),
				listed(1, 0, { parent: 2 }),
				// Its session is not listed.
				listed(4, 0, { isSubagent: true }),
			].map(conversationName),
		).toEqual(["claude-code #2", "sub-agent #3", "side requests #1", "claude-code sub-agent #4"]);
	});
});

describe("what conversations cost", () => {
	const unpriced = listed(2, 0, { cost: { tokens: 1_500 }, unpriced: 3, requests: 3 });

	test("is in dollars as far as prices are known, else in tokens", () => {
		expect(costText(listed(1, 0))).toBe("$0.50");
		expect(costText(unpriced)).toBe("1.5k tokens");
		expect(costText(sumOf([listed(1, 0), unpriced]))).toBe("$0.50+");
	});

	test("is summed up with hit rate and misses", () => {
		const missed = listed(3, 0, { misses: 2, missDollars: 0.27, read: 0, write: 95 });
		expect(billFigures(sumOf([listed(1, 0), missed, unpriced]))).toEqual([
			["Cost", "$1.00+", "5 requests, 3 without a known price"],
			["Read from the cache", "60 %", "180 of 300 tokens"],
			["Misses", "2", "$0.27 paid again", "bad"],
		]);
		expect(billFigures(sumOf([listed(1, 0)]))[2]).toEqual(["Misses", "0", "none", undefined]);
	});

	test("says what shorter results saved, or would have", () => {
		const saved = listed(3, 0, { savedTokens: 12_000 });
		const shadow = listed(4, 0, { savedInShadow: 800 });
		const figure = ["Saved", "12k", "prompt tokens, by estimate"];
		expect(billFigures(saved).slice(3)).toEqual([figure]);
		expect(billFigures(sumOf([saved, shadow])).slice(3)).toEqual([
			figure,
			["Birth would save", "800", "prompt tokens, by estimate"],
		]);
	});
});

test("a request's note says how it departs, what the provider says, and why it is not whole", () => {
	const request = (changes: Partial<Data<"TrafficRequest">>): Data<"TrafficRequest"> => ({
		...{ id: 1, atMs: 0, model: "m", step: "next", read: 0, write: 0, input: 0, output: 0 },
		...changes,
	});
	const miss = { tokens: 9, cause: "messages", cost: { tokens: 9 } };
	expect(
		[
			request({}),
			request({ step: "branch", changed: "user" }),
			request({ step: "edit", changed: "user", miss, providerReason: "messages_changed" }),
			request({ step: "constructor", problem: "overloaded_error" }),
		].map(requestNote),
	).toEqual([
		"",
		"another branch, first user",
		"an earlier message changed; the provider says messages_changed",
		"overloaded_error",
	]);
});

test("an event concerns its conversation, the list of all, and every conversation if some were not sent", () => {
	expect(concerns({ conversation: 2 }, 2)).toBe(true);
	expect(concerns({ conversation: 2 }, 3)).toBe(false);
	expect(concerns({ conversation: 2 }, undefined)).toBe(true);
	expect(concerns({ conversation: 2, more: true }, 3)).toBe(true);
});
