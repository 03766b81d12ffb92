import { describe, expect, test } from "vitest";
import { findMisses } from "../../../src/economy/replay/misses.ts";
import { findDuplicateReads } from "../../../src/economy/replay/report.ts";
import { rebuildRequests } from "../../../src/economy/replay/requests.ts";
import { rulesFor } from "../../../src/economy/rules.ts";
import { readSessionFile } from "../../support/read-session-file.ts";
import { SessionWriter, testModel } from "./session-writer.ts";

describe("a miss", () => {
	test("has its tokens, its cost and the request it happened in", async () => {
		const writer = began();
		writer.user("c");
		writer.assistant("d", { cacheWrite: 51_000 });
		expect(findMisses(await writer.replay())).toEqual([
			expect.objectContaining({
				request: 2,
				tokens: 50_000,
				cost: expect.closeTo(50_000 * 1.15),
				cause: "provider",
				changed: undefined,
			}),
		]);
	});

	test("is none when what was cached was read", async () => {
		const writer = began();
		writer.user("c");
		writer.assistant("d", { cacheRead: 50_000, cacheWrite: 1000 });
		expect(findMisses(await writer.replay())).toEqual([]);
	});

	test("is none within the grain of the provider's counting", async () => {
		const writer = began();
		writer.user("c");
		writer.assistant("d", { cacheRead: 49_000, cacheWrite: 2000 });
		expect(findMisses(await writer.replay())).toEqual([]);
	});

	test("after an hour's pause is an expired cache", async () => {
		const writer = began();
		writer.atMs += 3_600_000;
		writer.user("c");
		expect(await causeAfter(writer)).toBe("expired");
	});

	test("after a long answer is an expired cache too: its lifetime began with the request", async () => {
		const writer = new SessionWriter();
		const asked = (fields: object) =>
			writer.assistant("b", { cacheWrite: 50_000, output: 10 }, fields);
		writer.user("a");
		const timestamp = writer.atMs;
		writer.atMs += 4 * 60_000;
		asked({ timestamp });
		writer.user("c");
		writer.atMs += 60_000;
		asked({ timestamp: writer.atMs });
		expect(findMisses(await writer.replay())).toMatchObject([{ cause: "expired" }]);
	});

	test("after another thinking level, or under another model, says so", async () => {
		const thinking = began();
		thinking.entry("thinking_level_change", { thinkingLevel: "high" });
		expect(await causeAfter(thinking)).toBe("thinking");
		expect(await causeAfter(began(), { model: "claude-sonnet-4-5" })).toBe("model");
	});

	test("after another thinking level, where no rule says that it loses anything, is blamed on it only if nothing else changed", async () => {
		const writer = began();
		writer.entry("thinking_level_change", { thinkingLevel: "high" });
		writer.assistant("x", { cacheWrite: 52_000 });
		const rules = rulesFor({ provider: "openai", id: "gpt-5.6" });
		const file = await readSessionFile(writer.save());
		const session = rebuildRequests(file, (name) => ({ ...testModel(name), rules }));
		expect(findMisses(session)).toMatchObject([{ cause: "thinking", isUnforeseen: true }]);
		writer.atMs += 1_800_000;
		writer.entry("thinking_level_change", { thinkingLevel: "low" });
		writer.user("c");
		writer.assistant("y", { cacheWrite: 53_000 });
		const late = await readSessionFile(writer.save());
		const both = rebuildRequests(late, (name) => ({ ...testModel(name), rules }));
		expect(findMisses(both).at(-1)?.cause).toBe("expired");
	});

	test("after a compaction names the summary as the first change", async () => {
		const writer = began();
		writer.entry("compaction", { summary: "so far", firstKeptEntryId: "none" });
		writer.user("c");
		writer.assistant("d", { cacheWrite: 20_000 });
		expect(findMisses(await writer.replay())).toMatchObject([
			{ cause: "compaction", changed: "summary of a compaction" },
		]);
	});

	test("after an edit names what was put in place", async () => {
		const writer = began();
		writer.entry("context_edit", { targetId: "e0", replacement: { content: "short" } });
		writer.user("c");
		writer.assistant("d", { cacheWrite: 50_000 });
		expect(findMisses(await writer.replay())).toMatchObject([
			{ cause: "edit", changed: "replaced content" },
		]);
	});

	test("on another branch names the branch", async () => {
		const writer = began();
		writer.leaf = null;
		writer.user("elsewhere");
		expect(await causeAfter(writer)).toBe("branch");
	});

	test("after a long pause is an expired cache, whatever else changed behind the unread start", async () => {
		const pause = (change: (writer: SessionWriter) => void) => {
			const writer = began();
			change(writer);
			writer.atMs += 3_600_000;
			return causeAfter(writer);
		};
		const toHigh = { thinkingLevel: "high" };
		expect(await pause((writer) => writer.entry("thinking_level_change", toHigh))).toBe("expired");
		const edit = { targetId: "e1", replacement: { content: "short" } };
		expect(await pause((writer) => writer.entry("context_edit", edit))).toBe("expired");
		const compaction = { summary: "so far", firstKeptEntryId: "none" };
		expect(await pause((writer) => writer.entry("compaction", compaction))).toBe("compaction");
	});

	test("is none after a branch and a long pause if all that the branches share was still read", async () => {
		const writer = began();
		const fork = writer.leaf;
		writer.user("c".repeat(160_000));
		writer.assistant("d", { cacheRead: 50_000, cacheWrite: 40_000 });
		writer.leaf = fork;
		writer.atMs += 3_600_000;
		writer.user("d".repeat(120_000));
		writer.assistant("e", { cacheRead: 50_000, cacheWrite: 30_000 });
		expect(findMisses(await writer.replay())).toEqual([]);
	});

	test("is found again in the next request, though the provider bills no writes", async () => {
		const writer = new SessionWriter();
		const silent = { provider: "openai", model: "gpt-5.5" };
		for (const cacheRead of [0, 29_952, 0, 0, 32_896]) {
			writer.user("a");
			const input = 30_000 + 1000 * writer.lines.length - cacheRead;
			writer.assistant("b", { input, cacheRead }, silent);
		}
		const file = await readSessionFile(writer.save());
		const rules = rulesFor({ provider: "openai", id: "gpt-5.5" });
		const session = rebuildRequests(file, (name) => ({ ...testModel(name), rules }));
		const lost = findMisses(session).filter(({ tokens }) => tokens > 10_000);
		expect(lost.map(({ request }) => request)).toEqual([3, 4]);
	});

	test("of a prompt that shrank though the conversation grew is a change of an earlier message", async () => {
		const writer = new SessionWriter();
		const silent = { provider: "openai", model: "gpt-5.5" };
		for (const [input, cacheRead] of [
			[40_000, 2000],
			[2000, 41_000],
			[30_000, 10_000],
		] as const) {
			writer.user("a");
			writer.assistant("b", { input, cacheRead }, silent);
		}
		const file = await readSessionFile(writer.save());
		const rules = rulesFor({ provider: "openai", id: "gpt-5.5" });
		const session = rebuildRequests(file, (name) => ({ ...testModel(name), rules }));
		expect(findMisses(session)).toMatchObject([
			{ request: 3, cause: "messages", changed: "content that is no longer sent" },
		]);
	});

	/** A session whose first request left 50,000 tokens in the cache. */
	function began(): SessionWriter {
		const writer = new SessionWriter();
		writer.user("a");
		writer.assistant("b", { cacheWrite: 50_000 });
		return writer;
	}

	async function causeAfter(writer: SessionWriter, fields: object = {}) {
		writer.user("next");
		writer.assistant("answer", { cacheWrite: 52_000 }, fields);
		return findMisses(await writer.replay())[0]?.cause;
	}
});

describe("duplicate reads", () => {
	test("cost what they were written for, and what they were read for ever since", async () => {
		const writer = new SessionWriter();
		const text = Array.from({ length: 100 }, (_, i) => `line ${i}`).join("\n");
		let prompt = 5000;
		writer.user("read it three times");
		for (const id of ["c1", "c2", "c3"]) {
			writer.assistant([writer.call(id, "read", { path: "a.ts" })], { input: prompt, output: 10 });
			writer.result(id, "read", text);
			prompt += 1010;
		}
		writer.assistant("done", { input: prompt });
		expect(findDuplicateReads(await writer.replay())).toEqual([
			{
				path: "a.ts",
				times: 2,
				tokens: 2 * 985,
				cost: expect.closeTo(2 * 985 * 1.25 + 985 * 0.1), // the first of them was in two requests
			},
		]);
	});

	test("the paging form of a call names the same file", async () => {
		const writer = new SessionWriter();
		writer.user("a");
		for (const [id, input] of [
			["c1", { path: "a.ts" }],
			["c2", { uri: "a.ts" }],
		] as const) {
			writer.assistant([writer.call(id, "read", input)], { input: 5000, output: 10 });
			writer.result(id, "read", "text\n".repeat(200));
		}
		writer.assistant("done", { input: 6000 });
		expect(findDuplicateReads(await writer.replay())).toMatchObject([{ path: "a.ts", times: 1 }]);
	});
});
