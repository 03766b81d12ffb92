import { describe, expect, test } from "vitest";
import { rebuildRequests } from "../../src/economy/replay/index.ts";
import { findMisses } from "../../src/economy/replay/misses.ts";
import { type ImportedSession, readSessions } from "../../src/importers/index.ts";
import { testModel } from "../economy/replay/session-writer.ts";
import { ClaudeWriter } from "./claude-writer.ts";

const read = async (writer: ClaudeWriter) => readSessions(writer.save());
const requestsOf = (session: ImportedSession | undefined) => [
	...rebuildRequests(session as ImportedSession, testModel).steps(),
];
/** The labels of each request's prompt, without its head. */
const prompts = (session: ImportedSession | undefined) =>
	requestsOf(session).map(({ blocks }) =>
		blocks.filter(({ part }) => part === "messages").map(({ label }) => label),
	);
const bills = (session: ImportedSession | undefined) =>
	requestsOf(session).map(({ billed }) => [billed.input, billed.read, billed.write]);

describe("a transcript of Claude Code", () => {
	test("has one request for each message id, with the bill of its last line", async () => {
		const writer = new ClaudeWriter();
		writer.user("why?");
		writer.text("m1", "let me look", { read: 21_000, write: 900, output: 4 });
		writer.call(
			"m1",
			"t1",
			{ file_path: "/w/a.ts" },
			{ read: 21_000, write: 900, hour: 900, output: 162 },
		);
		const [session] = await read(writer);
		expect(session).toMatchObject({ agent: "claude-code", session: "s1", cwd: "/w/app" });
		expect(bills(session)).toEqual([[3, 21_000, 900]]);
		const [answer] = (session?.entries ?? []).filter(({ type }) => type === "assistant");
		expect(answer).toMatchObject({
			...{ output: 162, requestId: "m1", model: { provider: "anthropic", id: "claude-opus-4-5" } },
			billed: { writeOneHour: 900 },
		});
		expect(answer?.type === "assistant" && answer.blocks.map(({ kind }) => kind)).toEqual([
			"text",
			"call",
		]);
	});

	test("sends all blocks of an answer, then its results in the order of the calls", async () => {
		const writer = new ClaudeWriter();
		writer.user("why?");
		writer.text("m1", "let me look", { write: 30_000 });
		const first = writer.call("m1", "t1", { file_path: "/w/a.ts" }, { write: 30_000 });
		// The first call ends while the answer still streams; the second one ends before the third.
		writer.result("t1", "a");
		const second = writer.call("m1", "t2", { file_path: "/w/b.ts" }, { write: 30_000 });
		const third = writer.call("m1", "t3", { file_path: "/w/c.ts" }, { write: 30_000 });
		writer.result("t3", "c", third);
		writer.result("t2", "b", second);
		writer.text("m2", "found it", { read: 30_000, write: 300 });
		expect(first).not.toBe(second);
		const [session] = await read(writer);
		expect(prompts(session)[1]).toEqual([
			...["user message", "answer", "call of Read", "call of Read", "call of Read"],
			...["result of Read /w/a.ts", "result of Read /w/b.ts", "result of Read /w/c.ts"],
		]);
	});

	test("walks through lines that are not sent, and leaves out messages of the program", async () => {
		const writer = new ClaudeWriter();
		writer.raw('{"type":"summary","summary":"a title","leafUuid":"x"}');
		writer.line("progress", { data: { type: "hook_progress" } });
		writer.user("why?");
		writer.line("system", { subtype: "api_error", retryAttempt: 1 });
		writer.line("attachment", { attachment: { type: "hook_success", content: "not sent" } });
		writer.line("attachment", { attachment: { type: "nested_memory", content: "rules" } });
		writer.text("m0", "API Error", {}, { more: { model: "<synthetic>", usage: {} } });
		writer.text("m1", "because", { write: 30_000 });
		const [session] = await read(writer);
		expect(prompts(session)).toEqual([["user message", "attachment nested_memory"]]);
		expect(session?.skipped).toMatchObject({ damaged: 0, relinked: 0 });
	});

	test("has a branch where the user went back", async () => {
		const writer = new ClaudeWriter();
		const first = writer.user("one");
		writer.text("m1", "answer one", { write: 30_000 });
		const leaf = writer.leaf;
		writer.user("two");
		writer.text("m2", "answer two", { read: 30_000, write: 100 });
		writer.leaf = leaf;
		writer.user("two, put differently");
		writer.text("m3", "answer three", { read: 30_000, write: 100 });
		const [session] = await read(writer);
		expect(first).toBe("u0");
		expect(prompts(session)[2]).toEqual(["user message", "answer", "user message"]);
		expect(requestsOf(session)[2]?.changes).toContain("branch");
	});

	test("begins again after a compaction: summary, preserved messages, what follows", async () => {
		const writer = new ClaudeWriter();
		writer.user("one");
		writer.text("m1", "answer one", { write: 100_000 });
		const kept = writer.user("two");
		const leaf = writer.text("m2", "answer two", { read: 100_000, write: 100 });
		const metadata = { trigger: "auto", preservedSegment: { headUuid: kept, tailUuid: leaf } };
		const boundary = {
			subtype: "compact_boundary",
			logicalParentUuid: leaf,
			compactMetadata: metadata,
		};
		writer.line("system", boundary, null);
		writer.user("this session continues …", { isCompactSummary: true });
		writer.user("three");
		writer.text("m3", "answer three", { write: 40_000 });
		const [session] = await read(writer);
		expect(prompts(session)[2]).toEqual([
			...["summary of a compaction", "user message", "answer", "user message"],
		]);
		const replayed = rebuildRequests(session as ImportedSession, testModel);
		expect(findMisses(replayed).map(({ cause }) => cause)).toEqual(["compaction"]);
	});

	test("has stubs for results that a microcompaction cleared", async () => {
		const writer = new ClaudeWriter();
		writer.user("one");
		writer.call("m1", "t1", { file_path: "/w/a.ts" }, { write: 60_000 });
		writer.result("t1", "long ".repeat(9_000));
		writer.text("m2", "seen", { read: 60_000, write: 20_000 });
		const metadata = { trigger: "auto", compactedToolIds: ["t1", "unknown"] };
		writer.line("system", { subtype: "microcompact_boundary", microcompactMetadata: metadata });
		writer.user("two");
		writer.text("m3", "answer", { read: 60_000, write: 500 });
		const [session] = await read(writer);
		expect(prompts(session)[1]).toContain("result of Read /w/a.ts");
		expect(prompts(session)[2]).toEqual([
			...["user message", "call of Read", "cleared result", "answer", "user message"],
		]);
	});

	test("tells sub-agents apart, with and without an id of their own", async () => {
		const writer = new ClaudeWriter();
		writer.user("one");
		writer.call("m1", "t1", {}, { write: 30_000 });
		const { leaf, common } = writer;
		for (const [agent, fields] of [
			["a1", { agentId: "a1" }],
			["", {}],
		] as const) {
			writer.common = { ...common, isSidechain: true, ...fields };
			writer.leaf = null;
			writer.user(`task ${agent}`);
			writer.text(`sub${agent}`, "done", { write: 10_000 });
		}
		writer.common = common;
		writer.leaf = leaf;
		writer.result("t1", "the agent says");
		writer.text("m2", "fine", { read: 30_000, write: 200 });
		const sessions = await read(writer);
		expect(sessions.map(({ subagent }) => subagent)).toEqual([undefined, "a1", expect.any(String)]);
		expect(sessions.map((session) => bills(session).length)).toEqual([2, 1, 1]);
		const replayed = rebuildRequests(sessions[0] as ImportedSession, testModel);
		expect(findMisses(replayed)).toEqual([]);
	});

	test("names the level of thinking where it changes, and the provider's own cause of a miss", async () => {
		const writer = new ClaudeWriter();
		writer.user("one");
		writer.text("m1", "a", { write: 30_000 }, { effort: "high" });
		writer.user("two");
		const reason = { type: "messages_changed", cache_missed_input_tokens: 29_000 };
		const more = { diagnostics: { cache_miss_reason: reason } };
		writer.text("m2", "b", { write: 30_000 }, { effort: "low", more });
		const [session] = await read(writer);
		const answers = session?.entries.filter(({ type }) => type === "assistant");
		expect(answers?.[1]).toMatchObject({ missReason: "messages_changed" });
		const replayed = rebuildRequests(session as ImportedSession, testModel);
		expect(findMisses(replayed)).toMatchObject([
			{ cause: "thinking", providerReason: "messages_changed" },
		]);
	});

	test("takes the provider's word for what the file does not show, such as the system prompt", async () => {
		const writer = new ClaudeWriter();
		writer.user("one");
		writer.text("m1", "a", { write: 30_000 });
		writer.user("two");
		const reason = { type: "system_changed", cache_missed_input_tokens: 29_000 };
		writer.text(
			"m2",
			"b",
			{ write: 30_000 },
			{ more: { diagnostics: { cache_miss_reason: reason } } },
		);
		const [session] = await read(writer);
		const replayed = rebuildRequests(session as ImportedSession, testModel);
		expect(findMisses(replayed)).toMatchObject([
			{ cause: "system", providerReason: "system_changed", isUnforeseen: true },
		]);
	});

	test("counts the start that other sessions cached as cached, and expiry only where the bill shows it", async () => {
		const writer = new ClaudeWriter();
		writer.user("one");
		writer.text("m1", "a", { read: 20_000, write: 10_000 });
		writer.user("two");
		writer.atMs += 6 * 60_000;
		writer.text("m2", "b", { read: 30_000, write: 100 });
		writer.atMs += 6 * 60_000;
		writer.user("three");
		writer.text("m3", "c", { read: 20_000, write: 10_200 });
		writer.atMs += 6 * 60_000;
		writer.user("four");
		writer.text("m4", "d", { read: 30_200, write: 100 });
		const [session] = await read(writer);
		const steps = requestsOf(session);
		expect(steps.map(({ warmBlocks, keptAlive }) => [warmBlocks, keptAlive])).toEqual([
			[1, false],
			[1, false],
			[1, false],
			[1, true],
		]);
		const replayed = rebuildRequests(session as ImportedSession, testModel);
		expect(findMisses(replayed).map(({ cause }) => cause)).toEqual(["expired"]);
	});

	test("is read although lines are damaged, written twice or without their parent", async () => {
		const writer = new ClaudeWriter();
		writer.user("one");
		writer.raw(writer.lines[0] as string);
		writer.raw('{"type":"user","uuid":"cut off');
		writer.leaf = "lost";
		writer.user("two");
		writer.text("m1", "a", { write: 30_000 });
		const [session] = await read(writer);
		expect(prompts(session)).toEqual([["user message", "user message"]]);
		expect(session?.skipped).toMatchObject({ damaged: 1, relinked: 1 });
	});

	test("keeps its bill if a line lacks it, and its other blocks if one is nothing", async () => {
		const writer = new ClaudeWriter();
		writer.user("one");
		writer.text("m1", "a", { write: 30_000, output: 9 });
		writer.text(
			"m1",
			"b",
			{},
			{ more: { usage: undefined, content: [null, { type: "text", text: "b" }] } },
		);
		const [session] = await read(writer);
		expect(bills(session)).toEqual([[3, 0, 30_000]]);
		const [answer] = (session?.entries ?? []).filter(({ type }) => type === "assistant");
		expect(answer?.type === "assistant" && answer.blocks).toHaveLength(2);
	});

	test("keeps what a compaction preserved, also from a later line of an answer or one that is not sent", async () => {
		for (const [head, kept] of [
			["call", ["answer", "call of Read", "result of Read /w/a.ts", "user message"]],
			["progress", ["user message"]],
		] as const) {
			const writer = new ClaudeWriter();
			writer.user("one");
			writer.text("m1", "let me look", { write: 100_000 });
			const call = writer.call("m1", "t1", { file_path: "/w/a.ts" }, { write: 100_000 });
			writer.result("t1", "a");
			const progress = writer.line("progress", { data: { type: "hook_progress" } });
			writer.user("two");
			writer.text("m2", "answer", { read: 100_000, write: 100 });
			const headUuid = head === "call" ? call : progress;
			writer.compaction({ preservedSegment: { headUuid, tailUuid: writer.leaf } });
			writer.user("three");
			writer.text("m3", "answer", { write: 40_000 });
			const [session] = await read(writer);
			const expected = ["summary of a compaction", ...kept, "answer", "user message"];
			expect(prompts(session)[2], head).toEqual(expected);
		}
	});

	test("sends text beside a result behind all results of the answer", async () => {
		const writer = new ClaudeWriter();
		writer.user("one");
		writer.call("m1", "t1", { file_path: "/w/a.ts" }, { write: 30_000 });
		const second = writer.call("m1", "t2", { file_path: "/w/b.ts" }, { write: 30_000 });
		const text = { type: "text", text: "and hurry" };
		const result = { type: "tool_result", tool_use_id: "t1", content: "a" };
		writer.line("user", { message: { role: "user", content: [text, result] } });
		writer.result("t2", "b", second);
		writer.text("m2", "found it", { read: 30_000, write: 300 });
		const [session] = await read(writer);
		expect(prompts(session)[1]?.slice(3)).toEqual([
			...["result of Read /w/a.ts", "result of Read /w/b.ts", "user message"],
		]);
	});

	test("has no attachment any more that a microcompaction cleared", async () => {
		const writer = new ClaudeWriter();
		writer.user("one");
		const file = writer.line("attachment", { attachment: { type: "file", content: "long" } });
		writer.text("m1", "seen", { write: 80_000 });
		const metadata = { compactedToolIds: [], clearedAttachmentUUIDs: [file, "unknown"] };
		writer.line("system", { subtype: "microcompact_boundary", microcompactMetadata: metadata });
		writer.user("two");
		writer.text("m2", "answer", { read: 60_000, write: 500 });
		const [session] = await read(writer);
		expect(prompts(session)).toEqual([
			["user message", "attachment file"],
			["user message", "answer", "user message"],
		]);
		expect(requestsOf(session)[1]?.changes).toContain("edit");
	});

	test("has the level of thinking of its branch, and sends no request later for it", async () => {
		const writer = new ClaudeWriter();
		const root = writer.user("one");
		writer.text("m1", "a", { write: 30_000 }, { effort: "high" });
		const leaf = writer.leaf;
		writer.user("two");
		writer.text("m2", "b", { read: 30_000, write: 100 }, { effort: "low" });
		writer.leaf = leaf;
		writer.user("two, put differently");
		writer.text("m3", "c", { read: 30_000, write: 100 }, { effort: "low" });
		const [session] = await read(writer);
		expect(root).toBe("u0");
		const steps = requestsOf(session);
		expect(steps.map(({ settings }) => settings.thinking)).toEqual(["high", "low", "low"]);
		const start = Date.UTC(2026, 6, 1);
		expect(steps.map(({ atMs }) => (atMs - start) / 1000)).toEqual([10, 30, 50]);
	});

	test("takes effort that newer versions send as a message for no change of settings", async () => {
		const writer = new ClaudeWriter();
		writer.user("one");
		writer.text("m1", "a", { write: 30_000 }, { effort: "high", perTurnEffort: "high" });
		writer.user("two");
		writer.text("m2", "b", { write: 30_000 }, { effort: "low", perTurnEffort: "low" });
		const [session] = await read(writer);
		expect(requestsOf(session)[1]?.changes).toEqual(new Set());
	});

	test("has each block once, although its lines were copied under other uuids", async () => {
		const writer = new ClaudeWriter();
		const lines = () => {
			writer.leaf = null;
			writer.user("one");
			writer.text("m1", "let me look", { write: 30_000 });
			writer.call("m1", "t1", { file_path: "/w/a.ts" }, { write: 30_000 });
			writer.result("t1", "a");
		};
		lines();
		lines();
		writer.text("m2", "found it", { read: 30_000, write: 300 });
		for (const detail of ["contents", "bills"] as const) {
			const [session] = await readSessions(writer.save(), { detail });
			expect(prompts(session)).toEqual([
				["user message"],
				["user message", "answer", "call of Read", "result of Read /w/a.ts"],
			]);
		}
	});

	test("has no count and no time that cannot be", async () => {
		const writer = new ClaudeWriter();
		writer.user("one", { timestamp: 1e300 });
		writer.text("m1", "a", { write: 30_000, read: 1e300, output: 1e300 }, { timestamp: 9e15 });
		const [session] = await read(writer);
		expect(bills(session)).toEqual([[3, 0, 30_000]]);
		const [answer] = (session?.entries ?? []).filter(({ type }) => type === "assistant");
		expect(answer).toMatchObject({ output: 0, atMs: 0, sentMs: 0 });
	});

	test("may be hostile: parents in a circle, endless nesting, ids and lines without end", async () => {
		const writer = new ClaudeWriter();
		writer.line("user", { message: { content: "a" }, uuid: "x", parentUuid: "y" });
		writer.line("user", { message: { content: "b" }, uuid: "y", parentUuid: "x" });
		writer.line("user", { message: { content: "c" }, uuid: "z".repeat(1_000_000) });
		const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
		writer.raw(
			`{"type":"user","uuid":"deep","parentUuid":"y","sessionId":"s","message":{"content":[${deep}]}}`,
		);
		writer.leaf = "y";
		writer.text("m1", "answer", { write: 30_000 });
		const file = writer.raw(`{"uuid":"long","x":"${"x".repeat(200_000)}"}`).save();
		const [session] = await readSessions(file, { maxLineBytes: 1_100_000 });
		expect(bills(session)).toEqual([[3, 0, 30_000]]);
		expect(session?.skipped.damaged).toBe(2);
	});

	test("is kept as hashes and sizes, without its texts", async () => {
		const writer = new ClaudeWriter();
		writer.user("a secret of the user");
		writer.call("m1", "t1", { command: "secret" }, { write: 30_000 });
		writer.result("t1", "a secret of the project");
		writer.text("m2", "a secret of the model", { read: 30_000 });
		expect(JSON.stringify(await read(writer))).not.toContain("secret");
	});
});
