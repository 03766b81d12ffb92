import { describe, expect, test } from "vitest";
import { readSessions } from "../../src/importers/index.ts";
import { readSessionFile } from "../support/read-session-file.ts";
import { billedIn, billsOf, changesOf, kindsOf } from "./billed.ts";
import { CodexWriter } from "./codex-writer.ts";

describe("a rollout of Codex", () => {
	test("has a request for each change of the total, and none for a repeated one", async () => {
		const writer = new CodexWriter().turn().user("fix it").call("c1", "ls");
		writer.count({ input: 18_405, cached: 11_648, output: 154, reasoning: 60 });
		writer.countAgain().output("c1", "a.ts").countAgain().assistant("done");
		writer.count({ input: 18_600, cached: 18_304, output: 20 }).countAgain();
		const file = writer.save();
		expect(await billedIn(file)).toEqual([
			[18_405 - 11_648, 11_648, 0],
			[296, 18_304, 0],
		]);
		const { agent, cwd, version, session, skipped } = await readSessionFile(file);
		expect({ agent, cwd, version, session }).toEqual({
			agent: "codex",
			cwd: "/w/app",
			version: "0.166.0",
			session: "thread-1",
		});
		expect(skipped).toEqual({ damaged: 0, tooLong: 0, relinked: 0, surplus: 0 });
	});

	test("is billed by its usage records where it has them, with writes", async () => {
		const writer = new CodexWriter().turn("gpt-5.6").user("a").assistant("b");
		const usage = { input: 9000, cached: 2000, written: 6000, output: 10 };
		writer.record("resp_1", usage).count(usage).user("c").assistant("d");
		writer.record("resp_2", { input: 9100, cached: 9000, output: 5 });
		writer.count({ input: 9100, cached: 9000, output: 5 });
		const session = await readSessionFile(writer.save());
		expect(billsOf(session)).toEqual([
			[1000, 2000, 6000],
			[100, 9000, 0],
		]);
		const ids = session.entries.map((entry) => entry.type === "assistant" && entry.requestId);
		expect(ids.filter(Boolean)).toEqual(["resp_1", "resp_2"]);
	});

	test("that a newer version continues is not billed twice for its first record", async () => {
		const writer = new CodexWriter().turn().user("a").assistant("b");
		const usage = { input: 5000, cached: 0, output: 10 };
		writer.count(usage).record("resp_1", usage).user("c").assistant("d");
		writer.record("resp_2", { input: 5100, cached: 4992, output: 10 });
		expect(await billedIn(writer.save())).toEqual([
			[5000, 0, 0],
			[108, 4992, 0],
		]);
	});

	test("takes the writes from a record that follows the count of the same request", async () => {
		const writer = new CodexWriter().turn("gpt-5.6").user("a").assistant("b");
		const usage = { input: 9000, cached: 2000, output: 10 };
		writer.count(usage).record("resp_1", { ...usage, written: 6000 });
		const session = await readSessionFile(writer.save());
		expect(billsOf(session)).toEqual([[1000, 2000, 6000]]);
		expect(session.entries).toContainEqual(expect.objectContaining({ requestId: "resp_1" }));
	});

	test("another thread of the file has a total of its own, also a larger one", async () => {
		const writer = new CodexWriter().turn().user("a").assistant("b");
		writer.count({ input: 50_000, cached: 40_000, output: 10 }).meta({ id: "thread-2" });
		writer.total = { input: 800_000, cached: 700_000, written: 0, output: 900, reasoning: 0 };
		writer.turn().user("c").assistant("d").count({ input: 7000, cached: 1024, output: 10 });
		expect(await billedIn(writer.save())).toEqual([
			[10_000, 40_000, 0],
			[5976, 1024, 0],
		]);
	});

	test("a total that falls back is another thread of the file, billed by its own request", async () => {
		const writer = new CodexWriter().turn().user("a").assistant("b");
		writer.count({ input: 50_000, cached: 40_000, output: 10 });
		writer.total = { input: 0, cached: 0, written: 0, output: 0, reasoning: 0 };
		writer.user("c").assistant("d").count({ input: 7000, cached: 1024, output: 10 });
		expect(await billedIn(writer.save())).toEqual([
			[10_000, 40_000, 0],
			[5976, 1024, 0],
		]);
	});

	test("that begins in the middle of a thread does not bill the thread's past", async () => {
		const writer = new CodexWriter().turn();
		writer.total = { input: 900_000, cached: 800_000, written: 0, output: 9000, reasoning: 0 };
		writer.user("a").assistant("b").count({ input: 7000, cached: 1024, output: 10 });
		expect(await billedIn(writer.save())).toEqual([[5976, 1024, 0]]);
	});

	test("outputs that are written before the bill of their calls belong to the next request", async () => {
		const writer = new CodexWriter().turn().user("a");
		writer.item("reasoning", { summary: [], encrypted_content: "gAAAA" }).call("c1", "ls");
		writer.output("c1", "a.ts\nb.ts").count({ input: 6000, output: 100, reasoning: 40 });
		writer.assistant("done").count({ input: 6200, cached: 5888, output: 5 });
		expect(kindsOf(await readSessionFile(writer.save()))).toEqual([
			["tools", "system", "user"],
			["tools", "system", "user", "thinking", "call", "result"],
		]);
	});

	test("tools are the part of the first prompt that the file does not show", async () => {
		const writer = new CodexWriter().turn().user("a").assistant("b");
		writer.count({ input: 20_000, output: 10 });
		const session = await readSessionFile(writer.save());
		const { rebuildRequests, knownModel } = await import("../../src/economy/replay/index.ts");
		const [step] = rebuildRequests(session, knownModel).steps();
		const sizes = Object.fromEntries(step?.blocks.map(({ kind, tokens }) => [kind, tokens]) ?? []);
		expect(sizes.tools).toBeGreaterThan(17_000);
		expect(sizes.user).toBeLessThan(10);
	});

	test("instructions that are also a message are sent once, and tools in the file are a block", async () => {
		const text = "You are Codex. ".repeat(400);
		const writer = new CodexWriter({ base_instructions: { text } });
		writer.item("additional_tools", { role: "developer", tools: [{ name: "exec" }] });
		const developer = (said: string) =>
			writer.item("message", {
				role: "developer",
				content: [{ type: "input_text", text: said }],
			});
		developer(text);
		developer("Be brief.");
		writer.turn().user("a").assistant("b").record("r1", { input: 9000, output: 10 });
		const [kinds] = kindsOf(await readSessionFile(writer.save()));
		expect(kinds).toEqual(["tools", "system", "note", "note", "user"]);
	});

	test("a compaction takes the place of everything before", async () => {
		const writer = new CodexWriter().turn().user("a").assistant("b");
		writer.count({ input: 200_000, output: 10 });
		writer.line("compacted", {
			message: "",
			replacement_history: [
				{ type: "message", role: "user", content: [{ type: "input_text", text: "a" }] },
				{ type: "compaction", encrypted_content: "gAAAA" },
			],
		});
		writer.countAgain().user("c").assistant("d").count({ input: 9000, cached: 1024, output: 10 });
		const session = await readSessionFile(writer.save());
		expect(kindsOf(session)[1]).toEqual(["tools", "system", "user", "summary", "user"]);
		expect(changesOf(session)).toEqual([[], ["compaction"]]);
	});

	test("of an older version has only the summary of a compaction", async () => {
		const writer = new CodexWriter().turn().user("a").assistant("b");
		writer.count({ input: 20_000, output: 10 }).line("compacted", { message: "all went well" });
		writer.user("c").assistant("d").count({ input: 9000, output: 10 });
		const session = await readSessionFile(writer.save());
		expect(kindsOf(session)[1]).toEqual(["tools", "system", "user", "user"]);
	});

	test("a turn that is rolled back is a branch", async () => {
		const writer = new CodexWriter().turn().event("task_started").user("a").assistant("b");
		writer.count({ input: 5000, output: 10 }).event("task_started").user("c").assistant("d");
		writer.count({ input: 5100, output: 10 }).event("thread_rolled_back", { num_turns: 1 });
		writer.event("task_started").user("e").assistant("f").count({ input: 5100, output: 10 });
		const session = await readSessionFile(writer.save());
		expect(kindsOf(session).map((kinds) => kinds.length)).toEqual([3, 5, 5]);
		expect(changesOf(session)[2]).toEqual(["branch"]);
	});

	test("a rollback counts messages of the user, not tasks or what the agent says as the user", async () => {
		const writer = new CodexWriter().turn().event("task_started");
		writer.user("<environment_context>x</environment_context>").user("a").assistant("b");
		writer.count({ input: 5000, output: 10 }).event("task_started").user("c").assistant("d");
		writer.count({ input: 5100, output: 10 }).event("task_started").event("task_started");
		writer.event("thread_rolled_back", { num_turns: 2 });
		writer.user("e").assistant("f").count({ input: 5000, output: 10 });
		const session = await readSessionFile(writer.save());
		expect(kindsOf(session).at(-1)).toEqual(["tools", "system", "user", "user"]);
	});

	test("names the service tier of a request, unless it is the usual one", async () => {
		const writer = new CodexWriter().line("turn_context", {
			model: "gpt-5.5",
			service_tier: "fast",
		});
		writer.user("a").assistant("b").count({ input: 5000, output: 10 });
		writer.turn().user("c").assistant("d").count({ input: 5100, output: 10 });
		writer.line("turn_context", { model: "gpt-5.5", service_tier: null });
		writer.user("e").assistant("f").count({ input: 5200, output: 10 });
		const { entries } = await readSessionFile(writer.save());
		const answers = entries.filter((entry) => entry.type === "assistant");
		expect(answers.map(({ tier }) => tier)).toEqual(["fast", "fast", undefined]);
	});

	test("names the model and the effort of each request", async () => {
		const writer = new CodexWriter().turn("gpt-5.5", "high").user("a").assistant("b");
		writer.count({ input: 5000, output: 10 }).turn("gpt-5.5", "low").user("c").assistant("d");
		writer.count({ input: 5100, output: 10 }).turn("gpt-5.2", "low").user("e").assistant("f");
		writer.count({ input: 5200, output: 10 });
		const session = await readSessionFile(writer.save());
		expect(changesOf(session)).toEqual([[], ["thinking"], ["model"]]);
	});

	test("an aborted answer without a bill is in later requests", async () => {
		const writer = new CodexWriter().turn().event("task_started").user("a").call("c1", "ls");
		writer.output("c1", "aborted").event("turn_aborted").event("task_started").user("b");
		writer.assistant("c").count({ input: 5000, output: 10 });
		const [kinds] = kindsOf(await readSessionFile(writer.save()));
		expect(kinds).toEqual(["tools", "system", "user", "call", "result", "user"]);
	});

	test("keeps hashes and sizes, never the text", async () => {
		const writer = new CodexWriter({ base_instructions: { text: "secret instructions" } }).turn();
		writer.user("a secret").assistant("secret answer").call("c1", "cat secret");
		writer.output("c1", "secret output").count({ input: 5000, output: 10 });
		writer.line("compacted", { message: "a secret summary" }).assistant("secret, unbilled");
		expect(JSON.stringify(await readSessionFile(writer.save()))).not.toContain("secret");
	});
});

describe("copies in rollouts of Codex", () => {
	const parent = () => {
		const writer = new CodexWriter({ id: "parent" }).turn().user("a").assistant("b");
		writer.count({ input: 5000, output: 10 }).user("c").assistant("d");
		return writer.count({ input: 5100, cached: 4992, output: 10 });
	};

	test("a fork repeats its parent's lines, which count in the parent only", async () => {
		const fork = new CodexWriter({ id: "fork", forked_from_id: "parent" });
		fork.lines.push(...parent().lines);
		fork.total = parent().total;
		fork.user("e").assistant("f").count({ input: 5200, cached: 4992, output: 10 });
		const seen = new Set<string>();
		expect(billsOf(await readSessionFile(parent().save()), seen)).toHaveLength(2);
		const session = await readSessionFile(fork.save());
		expect(session.session).toBe("fork");
		expect(billsOf(session, seen)).toEqual([[208, 4992, 0]]);
		expect(billsOf(session)).toHaveLength(3);
	});

	test("copied requests are the same whatever time their lines have now", async () => {
		const late = parent();
		const fork = new CodexWriter({ id: "fork" });
		const shifted = late.lines.map((line) => line.replace(/2026-05-01/g, "2026-05-02"));
		fork.lines.push(...shifted);
		const seen = new Set<string>();
		billsOf(await readSessionFile(parent().save()), seen);
		expect(billsOf(await readSessionFile(fork.save()), seen)).toEqual([]);
	});

	test("usage records are the same by the id of their response", async () => {
		const usage = { input: 5000, output: 10 };
		const one = new CodexWriter({ id: "one" }).turn().user("a").assistant("b").record("r1", usage);
		const two = new CodexWriter({ id: "two" }).turn().user("a").assistant("b").record("r1", usage);
		two.user("c").assistant("d").record("r2", { input: 5100, output: 10 });
		const seen = new Set<string>();
		expect(billsOf(await readSessionFile(one.save()), seen)).toHaveLength(1);
		expect(billsOf(await readSessionFile(two.save()), seen)).toEqual([[5100, 0, 0]]);
	});

	test("usage records without an id are the same by their thread and place", async () => {
		const usage = { input: 5000, output: 10 };
		const original = () => {
			const writer = new CodexWriter({ id: "parent" }).turn().user("a").assistant("b");
			return writer.record(undefined, usage).user("c").assistant("d").record(undefined, usage);
		};
		const fork = new CodexWriter({ id: "fork", forked_from_id: "parent" });
		fork.lines.push(...original().lines);
		const seen = new Set<string>();
		expect(billsOf(await readSessionFile(original().save()), seen)).toHaveLength(2);
		expect(billsOf(await readSessionFile(fork.save()), seen)).toEqual([]);
	});

	test("two threads with equal bills are not copies", async () => {
		const usage = { input: 5000, output: 10 };
		const seen = new Set<string>();
		for (const id of ["one", "two"]) {
			const writer = new CodexWriter({ id }).turn().user("a").assistant("b").count(usage);
			expect(billsOf(await readSessionFile(writer.save()), seen)).toHaveLength(1);
		}
	});

	test("a sub-agent's file says where its own lines begin", async () => {
		const source = { subagent: { thread_spawn: { parent_thread_id: "parent" } } };
		const writer = new CodexWriter({ id: "child", source, subagent_history_start_ordinal: 5 });
		writer.turn().user("a").assistant("b").count({ input: 5000, output: 10 });
		writer.user("task").assistant("done").count({ input: 6000, cached: 4992, output: 10 });
		const [session] = await readSessions(writer.save());
		if (!session) throw new Error("no session");
		expect(session.subagent).toBe("child");
		expect(billsOf(session)).toEqual([[1008, 4992, 0]]);
	});
});
