import type { SessionEntry } from "@earendil-works/pi-coding-agent";
import { describe, expect, test } from "vitest";
import { costView, removedFromNext } from "../../src/cost/index.ts";
import type { Data } from "../../src/protocol/index.ts";
import { savingsView } from "../../src/server/sessions/savings-view.ts";

const MODEL = {
	provider: "anthropic",
	id: "claude-x",
	cost: { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 },
};

/** Builds a branch of entries, each the child of the one before. */
function branchOf(...parts: object[]): SessionEntry[] {
	return parts.map((part, index) => ({
		id: `e${index}`,
		parentId: index === 0 ? null : `e${index - 1}`,
		timestamp: new Date(index * 1000).toISOString(),
		...part,
	})) as SessionEntry[];
}

const answer = (read: number, write: number, input = 10, atMs = 0) => ({
	type: "message",
	message: {
		role: "assistant",
		provider: MODEL.provider,
		model: MODEL.id,
		content: [],
		timestamp: atMs,
		usage: { input, output: 100, cacheRead: read, cacheWrite: write, totalTokens: 0 },
	},
});
const result = (text: string, details: object = {}) => ({
	type: "message",
	message: {
		role: "toolResult",
		toolName: "read",
		toolCallId: "c",
		content: [{ type: "text", text }],
		details,
		timestamp: 0,
	},
});
const view = (entries: SessionEntry[]) =>
	costView({ entries, branch: entries, findModel: () => MODEL });

describe("the cost of a session", () => {
	test("is that of its bills, in tokens and dollars", () => {
		const { requests, totals } = view(branchOf(answer(0, 1000), answer(1000, 200, 10, 1000)));
		expect(requests[1]).toMatchObject({ read: 1000, write: 200, input: 10, output: 100 });
		expect(requests[1]?.cost.tokens).toBeCloseTo(10 + 100 + 250);
		expect(requests[1]?.cost.dollars).toBeCloseTo((10 * 3 + 1000 * 0.3 + 200 * 3.75) / 1e6);
		expect(requests[1]?.noCacheCost.tokens).toBe(1210);
		expect(requests[1]?.outputDollars).toBeCloseTo(0.0015);
		expect(totals).toMatchObject({
			requests: 2,
			read: 1000,
			write: 1200,
			input: 20,
			output: 200,
			misses: 0,
		});
		expect(totals.appendOnlyCost).toEqual(totals.cost);
	});

	test("names a miss and its cause", () => {
		const late = view(branchOf(answer(0, 5000), answer(0, 5200, 10, 3_600_000)));
		expect(late.requests[1]?.miss).toMatchObject({ tokens: 5000, cause: "expired" });
		expect(late.totals).toMatchObject({ misses: 1, missedTokens: 5000 });
		expect(late.totals.missCost.dollars).toBeGreaterThan(0);
		const compaction = {
			type: "compaction",
			summary: "s",
			firstKeptEntryId: "none",
			tokensBefore: 1,
		};
		const compacted = view(branchOf(answer(0, 5000), compaction, answer(0, 5200, 10, 1000)));
		expect(compacted.requests[1]?.miss).toMatchObject({ cause: "compaction" });
	});

	test("would be higher without the read cache, by what a marker stands for", () => {
		const marker = result("[unchanged]", {
			readcache: { v: 1, mode: "unchanged", plainBytes: 4011 },
		});
		const { requests } = view(
			branchOf(answer(0, 1000), marker, answer(1000, 100, 10, 1000), answer(1100, 50, 10, 2000)),
		);
		const extra = (index: number) => {
			const { appendOnlyCost, cost } = requests[index] as NonNullable<(typeof requests)[number]>;
			return appendOnlyCost.tokens - cost.tokens;
		};
		expect(extra(0)).toBe(0);
		expect(extra(1)).toBeCloseTo(1000 * 1.25); // it would have been written then
		expect(extra(2)).toBeCloseTo(1000 * 0.1); // and read from then on
	});

	test("would be higher without results that are shorter from the start, each system for itself", () => {
		const hash = "a".repeat(64);
		const note = { v: 1, form: 1, shown: hash, expanded: hash, original: hash };
		const short = result("short", { birth: { ...note, savedChars: 8000, references: [] } });
		const marker = result("[unchanged]", {
			readcache: { v: 1, mode: "unchanged", plainBytes: 4011 },
		});
		const entries = branchOf(
			answer(0, 1000),
			short,
			marker,
			answer(1000, 100, 10, 1000),
			answer(1100, 50, 10, 2000),
		);
		const { requests, totals } = view(entries);
		expect(requests[0]?.saved).toBeUndefined();
		expect(requests[1]?.saved?.birth?.tokens).toBeCloseTo(2000 * 1.25);
		expect(requests[1]?.saved?.readCache?.tokens).toBeCloseTo(1000 * 1.25);
		expect(requests[2]?.saved?.birth?.tokens).toBeCloseTo(2000 * 0.1);
		const parts = Object.values(totals.saved ?? {});
		for (const unit of ["tokens", "dollars"] as const) {
			const sum = parts.reduce((all, price) => all + (price[unit] ?? 0), 0);
			expect(sum).toBeCloseTo((totals.appendOnlyCost[unit] ?? 0) - (totals.cost[unit] ?? 0), 9);
		}
		expect(savingsOf(entries).birth).toMatchObject({ times: 1, tokens: 2000 });
		expect(removedFromNext(entries)).toBe(3000);
	});

	test("of a prompt that was pruned is compared with one that was not", () => {
		const stub = {
			content: [{ type: "text", text: "(Pruned) read(): 40,000 chars. Full text: read x" }],
		};
		const edit = { type: "context_edit", targetId: "e0", replacement: stub };
		const entries = branchOf(
			result("y".repeat(40_000)),
			answer(0, 12_000),
			edit,
			answer(1000, 1200, 10, 1000),
			answer(2200, 100, 10, 2000),
		);
		const { requests } = view(entries);
		expect(requests[1]?.miss?.cause).toBe("pruning");
		const last = requests[2];
		expect((last?.appendOnlyCost.tokens ?? 0) - (last?.cost.tokens ?? 0)).toBeCloseTo(998.8, 0);
		const savings = savingsOf(entries);
		expect(savings.pruning).toMatchObject({
			times: 1,
			details: [{ label: "result of read", times: 1 }],
		});
		expect(savings.pruning.tokens).toBeGreaterThan(9900);
	});

	test("counts as missed what was cached and is still there, not what is new", () => {
		const stub = [{ type: "text", text: "(Pruned) read(): 40,000 chars. Full text: read x" }];
		const edit = { type: "context_edit", targetId: "e0", replacement: { content: stub } };
		const { requests } = view(
			branchOf(result("y".repeat(40_000)), answer(0, 22_000), edit, answer(2000, 19_000, 10, 1000)),
		);
		// 22,000 were cached, 9,988 of them are gone, and 2,000 were read.
		expect(requests[1]?.miss).toMatchObject({ cause: "pruning", tokens: 10_012 });
	});

	test("knows an edit by hand from its record, which is there before the request that shows it", () => {
		const text = "y".repeat(40_000);
		const stub = [{ type: "text", text: "(Pruned) read(): 40,000 chars. Full text: read x" }];
		const whole = [{ type: "text", text }];
		const recorded = (content: object) => ({
			type: "custom",
			customType: "strata-shown-edits",
			data: { v: 1, edits: [["e0", content]] },
		});
		const stored = (content: object) => ({
			type: "context_edit",
			targetId: "e0",
			replacement: { content },
		});
		const entries = branchOf(
			result(text),
			answer(0, 22_000),
			recorded(stub),
			answer(2000, 11_000, 10, 1000),
			stored(stub),
			answer(13_000, 100, 10, 2000),
			recorded(whole),
			answer(2000, 21_000, 10, 3000),
			stored(whole),
			answer(23_000, 100, 10, 4000),
		);
		const { requests } = view(entries);
		expect(requests.map(({ miss }) => miss?.cause)).toEqual([
			...[undefined, "pruning", undefined, "pruning", undefined],
		]);
		expect(requests[1]?.miss?.tokens).toBe(10_012);
		expect(requests[2]?.saved?.pruning?.tokens).toBeGreaterThan(900);
		expect(requests[4]?.saved).toBeUndefined();
		expect(removedFromNext(entries)).toBe(0);
		expect(savingsOf(entries).pruning).toMatchObject({ times: 0, tokens: 0 });
		expect(savingsOf(entries.slice(0, 6)).pruning).toMatchObject({ times: 1, tokens: 9988 });
		expect(removedFromNext(entries.slice(0, 6))).toBe(9988);
	});

	test("knows a stub of one branch from one of another", () => {
		const stub = [{ type: "text", text: "(Pruned) read(): 40,000 chars. Full text: read x" }];
		const edit = { type: "context_edit", targetId: "e0", replacement: { content: stub } };
		const entries = branchOf(
			result("y".repeat(40_000)),
			answer(0, 22_000),
			edit,
			answer(2000, 11_000, 10, 1000),
			{ ...answer(22_000, 100, 10, 2000), parentId: "e1" },
			edit,
			answer(2000, 11_000, 10, 3000),
		);
		const { requests } = view(entries);
		expect(requests.map(({ miss }) => miss?.cause)).toEqual([
			...[undefined, "pruning", undefined, "pruning"],
		]);
	});

	test("blames pruning for one request, not for a pause after it", () => {
		const stub = [{ type: "text", text: "(Pruned) read(): 40,000 chars. Full text: read x" }];
		const entries = branchOf(
			result("y".repeat(40_000)),
			answer(0, 22_000),
			{ type: "custom", customType: "strata-shown-edits", data: { v: 1, edits: [["e0", stub]] } },
			answer(2000, 11_000, 10, 1000),
			{ type: "context_edit", targetId: "e0", replacement: { content: stub } },
			answer(0, 13_200, 10, 3_600_000),
		);
		const { requests } = view(entries);
		expect(requests[2]?.miss).toMatchObject({ cause: "expired", tokens: 13_000 });
	});

	test("does not blame pruning for an edit of the working set", () => {
		const block = { type: "custom_message", customType: "strata-workset", content: "files" };
		const edit = {
			type: "context_edit",
			targetId: "e0",
			replacement: { content: [{ type: "text", text: "" }] },
		};
		const { requests } = view(
			branchOf(block, answer(0, 12_000), edit, answer(1000, 11_000, 10, 1000)),
		);
		expect(requests[1]?.miss?.cause).toBe("unknown");
	});

	test("says how many prompts of pi alone would have been past the point where pi compacts", () => {
		const marker = result("[unchanged]", {
			readcache: { v: 1, mode: "unchanged", plainBytes: 4011 },
		});
		const entries = branchOf(answer(0, 1000), marker, answer(1000, 100), answer(1100, 50));
		const over = (compactsAbove: number | undefined) =>
			costView({
				entries,
				branch: entries,
				findModel: () => MODEL,
				compactsAbove: () => compactsAbove,
			}).totals.appendOnlyOverLimit;
		expect(over(1500)).toBe(2);
		expect(over(2120)).toBe(1);
		expect(over(9000)).toBeUndefined();
		expect(over(undefined)).toBeUndefined();
	});

	test("survives whatever a session file holds", () => {
		const odd = branchOf(
			{ type: "message", message: { role: "assistant", content: null, usage: { input: "many" } } },
			{ type: "context_edit", targetId: "none", replacement: null },
			{ type: "unknown" },
		);
		expect(view(odd).totals.requests).toBe(0);
		expect(savingsOf(odd).total.tokens).toBe(0);
	});

	test("lists the latest requests and counts all", () => {
		const { requests, totals } = view(branchOf(...Array.from({ length: 700 }, () => answer(1, 1))));
		expect(requests).toHaveLength(500);
		expect(totals.requests).toBe(700);
	});
});

describe("what systems did", () => {
	const toolResult = (toolName: string, text: string, details: object) => {
		const { type, message } = result(text, details);
		return { type, message: { ...message, toolName } };
	};

	test("counts questions that kota answered, and measures what a budget cut off", () => {
		const { kota, total } = savingsOf(
			branchOf(
				toolResult("kota_search", "x", { truncated: false, originalBytes: 235 }),
				toolResult("kota_impact", "x", {
					truncated: true,
					originalBytes: 9000,
					excerptBytes: 1000,
				}),
			),
		);
		expect(kota).toMatchObject({ times: 2, unmeasured: 1, tokens: 2000 });
		expect(kota.details).toEqual([
			{ label: "kota_impact", times: 1, tokens: 2000 },
			{ label: "kota_search", times: 1, tokens: 0, unmeasured: 1 },
		]);
		expect(total.tokens).toBe(2000);
	});

	test("counts pages, and the rest of their documents once", () => {
		const text = { uri: "https://example.org/long", truncated: true, total_chars: 40_000 };
		const page_info = { page_start: 1, page_end: 4, total_pages: 12 };
		const { paging } = savingsOf(
			branchOf(
				result("y".repeat(8000), text),
				result("y".repeat(8000), text),
				result("z".repeat(4000), { uri: "/home/me/docs/handbook.pdf", truncated: true, page_info }),
				result("z", { uri: "notes", truncated: true }),
			),
		);
		expect(paging).toMatchObject({ times: 4, tokens: 6000 + 2000, unmeasured: 1 });
		expect(paging.details.map(({ label, times, tokens }) => [label, times, tokens])).toEqual([
			["https://example.org/long", 2, 6000],
			["handbook.pdf", 1, 2000],
			["notes", 1, 0],
		]);
	});

	test("counts requests with working files, on each branch by itself", () => {
		const change = (data: object) => ({ type: "custom", customType: "strata-workset", data });
		const entries = branchOf(
			answer(0, 10),
			change({ op: "add", paths: ["a.ts"] }),
			answer(0, 10),
			answer(0, 10),
			change({ op: "clear" }),
			answer(0, 10),
			{ ...answer(0, 10), parentId: "e3" },
		);
		expect(savingsOf(entries).tiers).toMatchObject({ times: 3, tokens: 0, unmeasured: 3 });
	});

	test("counts misses with a known cause for the economy", () => {
		const cost = { tokens: 1 };
		const { economy } = savingsOf(branchOf(answer(0, 10)), [
			{ tokens: 500, cause: "expired", cost },
			{ tokens: 500, cause: "unknown", cost },
		]);
		expect(economy).toMatchObject({ times: 1, unmeasured: 1 });
	});
});

function savingsOf(entries: SessionEntry[], misses: readonly Data<"CacheMiss">[] = []) {
	return savingsView({ entries, misses, enabled: ALL_ON });
}

const ALL_ON = {
	readCache: true,
	birth: true,
	paging: true,
	kota: true,
	pruning: true,
	tiers: true,
	economy: true,
};

describe("turns", () => {
	const prompt = (content: unknown) => ({ type: "message", message: { role: "user", content } });

	test("add up to the total, and name the message that they answer", () => {
		const { turns = [], totals } = view(
			branchOf(
				prompt("first line\nsecond"),
				answer(0, 1000),
				answer(1000, 200, 10, 1000),
				prompt([{ type: "text", text: "  again " }]),
				answer(1200, 50, 10, 2000),
			),
		);
		expect(turns).toMatchObject([
			{ turn: 1, entryId: "e0", prompt: "first line", firstRequest: 1, requests: 2, read: 1000 },
			{ turn: 2, entryId: "e3", prompt: "again ", firstRequest: 3, requests: 1, read: 1200 },
		]);
		const dollars = turns.reduce((sum, turn) => sum + (turn.dollars ?? 0), 0);
		expect(dollars).toBeCloseTo((totals.cost.dollars ?? 0) + (totals.outputDollars ?? 0), 9);
	});

	test("have no dollars without prices, and requests before the first message are turn 0", () => {
		const entries = branchOf(answer(0, 10), prompt("x".repeat(5000)), answer(0, 10));
		const { turns = [] } = costView({ entries, branch: entries, findModel: () => undefined });
		expect(turns.map(({ turn, entryId, dollars }) => [turn, entryId, dollars])).toEqual([
			[0, undefined, undefined],
			[1, "e1", undefined],
		]);
		expect(turns[1]?.prompt.length).toBe(200);
	});
});
