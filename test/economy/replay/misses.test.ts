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

	test("after another thinking level is not blamed on it where the provider does not mind", async () => {
		const writer = began();
		writer.entry("thinking_level_change", { thinkingLevel: "high" });
		writer.assistant("x", { cacheWrite: 52_000 });
		const rules = rulesFor({ provider: "openai", id: "gpt-5.6" });
		const file = await readSessionFile(writer.save());
		const session = rebuildRequests(file, (name) => ({ ...testModel(name), rules }));
		expect(findMisses(session)).toMatchObject([{ cause: "provider" }]);
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
