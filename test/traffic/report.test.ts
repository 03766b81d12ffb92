import { describe, expect, test } from "vitest";
import type { ConversationSums } from "../../src/traffic/book.ts";
import { missText, summaryLine, trafficText } from "../../src/traffic/report.ts";
import { windowShares } from "../../src/traffic/window.ts";
import { piece, system, tools, user } from "./talk.ts";

const sums = (changes: Partial<ConversationSums> = {}): ConversationSums => ({
	...{ id: 7, startedMs: 0, usedMs: 0, format: "anthropic", upstream: "anthropic" },
	speaker: { agent: "claude-code" },
	...{ model: "claude-opus-5", requests: 3, context: 88_123, cost: 900, dollars: 1.2 },
	tokens: { input: 40, read: 910, write: 50, writeOneHour: 0, output: 10 },
	...{ unpriced: 0, misses: 1, missDollars: 0.1, savedTokens: 0, savedInShadow: 0 },
	...changes,
});

describe("the line at the end of a run", () => {
	test("says cost, hit rate and misses of all conversations", () => {
		expect(summaryLine([sums(), sums({ dollars: 0.64 })])).toBe(
			"$1.84, 91 % from cache, 2 misses: see strata traffic",
		);
		expect(summaryLine([sums()])).toBe("$1.20, 91 % from cache, 1 miss: see strata traffic");
	});

	test("says what shortening saved, or would have saved", () => {
		expect(summaryLine([sums({ savedTokens: 1200 }), sums({ savedTokens: 34 })])).toBe(
			"$2.40, 91 % from cache, 2 misses, about 1,234 prompt tokens saved: see strata traffic",
		);
		expect(summaryLine([sums({ savedInShadow: 500 })])).toContain(", birth would save about 500:");
	});

	test("counts tokens where no price is known, and names requests without one", () => {
		expect(summaryLine([sums({ dollars: 0, unpriced: 3, misses: 0 })])).toBe(
			"1k prompt tokens, 91 % from cache, 0 misses: see strata traffic",
		);
		expect(summaryLine([sums({ unpriced: 1 })])).toContain(
			"$1.20 and 1 request without a known price",
		);
	});

	test("says so if nothing was billed", () => {
		expect(summaryLine([])).toBe("no request was billed");
	});
});

test("the table has a line for each conversation, with its last miss in words", () => {
	const lastMiss = { atMs: 0, tokens: 48_200, cause: "tools", cost: 1, dollars: 0.27 } as const;
	const changed = { ...lastMiss, changed: "tool Web" };
	const subagent = { agent: "claude-code", subagent: "x" } as const;
	const lines = trafficText(
		[sums({ lastMiss: changed }), sums({ id: 12, speaker: subagent, usedMs: 3_600_000 })],
		2 * 3_600_000,
	);
	expect(lines).toEqual([
		"id  agent                    model          requests  context   cost  cached  used     last miss",
		" 7  claude-code              claude-opus-5         3    88.1k  $1.20    91 %  2 h ago  48,200 tokens paid again ($0.27): the tools changed, first tool Web",
		"12  claude-code (sub-agent)  claude-opus-5         3    88.1k  $1.20    91 %  1 h ago",
	]);
	expect(missText({ atMs: 0, tokens: 500, cause: "expired", cost: 1 })).toBe(
		"500 tokens paid again: the pause was longer than the cache's TTL",
	);
});

test("what fills the window is summed up by tool and file, as shares of the billed prompt", () => {
	const read = (path: string, bytes: number) => ({
		...piece("messages", "result", `${path} ${bytes}`, bytes),
		...{ tool: "Read", path },
	});
	const pieces = [
		...tools("Read", "Bash"),
		system("s"),
		user("u"),
		read("/a", 300),
		read("/b", 100),
	];
	const shares = windowShares([...pieces, read("/a", 200)], 9000);
	expect(
		shares.map(({ what, tool, path, pieces, tokens }) => [what, tool, path, pieces, tokens]),
	).toEqual([
		["results", "Read", "/a", 2, 4500],
		["tools", undefined, undefined, 2, 1800],
		["system prompt", undefined, undefined, 1, 900],
		["user", undefined, undefined, 1, 900],
		["results", "Read", "/b", 1, 900],
	]);
	expect(shares.reduce((sum, { share }) => sum + share, 0)).toBeCloseTo(1, 9);
	expect(windowShares([], 0)).toEqual([]);
});
