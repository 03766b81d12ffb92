import { describe, expect, test } from "vitest";
import { buildReport, knownModel, rebuildRequests } from "../../src/economy/replay/index.ts";
import { findMisses } from "../../src/economy/replay/misses.ts";
import { type ImportedSession, readSessions } from "../../src/importers/index.ts";
import { ClaudeRecorder, text, tool } from "./claude-recorder.ts";
import { ClaudeWriter } from "./claude-writer.ts";

const replay = (session: ImportedSession) => rebuildRequests(session, knownModel);
const stepsOf = (session: ImportedSession) => [...replay(session).steps()];
const hashes = (session: ImportedSession) =>
	stepsOf(session).map(({ blocks }) =>
		blocks.filter(({ part }) => part === "messages").map(({ hash }) => hash),
	);
const causes = (session: ImportedSession) =>
	findMisses(replay(session)).map(({ request, cause, changed }) => [request, cause, changed]);

/** Two turns, what is given, and another turn. */
function around(act: (recorder: ClaudeRecorder) => void): ClaudeRecorder {
	const recorder = new ClaudeRecorder();
	recorder.call("long ".repeat(2_000));
	recorder.call("long, too ".repeat(2_000));
	act(recorder);
	recorder.ask("and now? ".repeat(4_000));
	return recorder;
}

describe("a recorded request of Claude Code", () => {
	test("has the system prompt, the tools and the messages that were sent", async () => {
		const recorder = around(() => {});
		const steps = stepsOf(await recorder.read());
		expect(steps.map(({ blocks }) => blocks.map(({ kind }) => kind).join(" "))).toEqual([
			"tools system user",
			"tools system user call result",
			"tools system user call result text user",
			"tools system user call result text user call result",
			"tools system user call result text user call result text user",
		]);
		expect(steps.map(({ blocks }) => blocks.length - 2)).toEqual(
			recorder.requests.map(({ messages }) => messages.flatMap(({ content }) => content).length),
		);
	});

	test("is the same as the rebuilt one where the lines say it all", async () => {
		const recorder = around((one) => {
			one.rewind(1);
			one.ask("another way");
			one.delegate();
			one.compact();
		});
		expect(hashes(await recorder.read())).toEqual(
			hashes(await recorder.read({ isRecorded: false })),
		);
	});

	test.each<[string, (recorder: ClaudeRecorder) => void, unknown[]]>([
		[
			"a tool more",
			(one) => void one.tools.push(tool("Grep")),
			["tools", expect.stringMatching(/^tool/)],
		],
		[
			"another system prompt",
			(one) => (one.system = [text("Be brief.")]),
			["system", "system prompt"],
		],
		["another effort", (one) => (one.effort = "low"), ["thinking", undefined]],
		["cleared results", (one) => one.clearResults(), ["edit", "result of Read /w/t0.ts"]],
		[
			"a compaction after a pause",
			(one) => {
				one.pause(6);
				one.compact();
			},
			["compaction", "summary of a compaction"],
		],
		["a pause", (one) => one.pause(6), ["expired", undefined]],
	])("shows %s as the cause of a miss", async (_, act, expected) => {
		const recorder = around(act);
		for (const detail of ["contents", "bills"] as const) {
			expect(causes(await recorder.read({ detail }))).toEqual([[5, ...expected]]);
		}
	});

	test.each<[string, (recorder: ClaudeRecorder) => void]>([
		["a sub-agent", (one) => one.delegate()],
		["a step back, whose start was read", (one) => one.rewind(1)],
		["a compaction, whose head was read", (one) => one.compact()],
	])("shows no miss after %s", async (_, act) => {
		const recorder = around(act);
		for (const isRecorded of [true, false]) {
			expect(causes(await recorder.read({ isRecorded }))).toEqual([]);
		}
	});

	test("has lost no more by a compaction than the head that was sent again", async () => {
		const recorder = around((one) => {
			one.pause(6);
			one.compact();
		});
		const session = replay(await recorder.read());
		const head = [...session.steps()].at(-1)?.blocks.filter(({ part }) => part !== "messages");
		const tokens = head?.reduce((sum, block) => sum + block.tokens, 0);
		expect(findMisses(session)).toMatchObject([{ request: 5, tokens }]);
	});

	test("goes on from rebuilt ones in a session that an older version began, and after a gap", async () => {
		const recorder = around((one) => one.ask("a question"));
		const expected = hashes(await recorder.read());
		const answers = recorder.writer.lines.flatMap((line, at) =>
			line.includes('"requestRef"') ? [at] : [],
		);
		expect(answers).toHaveLength(6);
		const without = (left: readonly number[]) =>
			recorder.read({ change: (line, at) => (left.includes(at) ? withoutRecord(line) : line) });
		for (const left of [answers.slice(0, 3), answers.slice(2, 3), answers.slice(3)]) {
			const session = await without(left);
			expect(hashes(session)).toEqual(expected);
			expect(causes(session)).toEqual([]);
			expect(stepsOf(session).flatMap(({ changes }) => [...changes])).not.toContain("branch");
		}
	});

	test("that the program cut is rebuilt from the lines", async () => {
		const recorder = around((one) => one.tools.push(tool("Grep")));
		const session = await recorder.read({
			change: (line) => line.replace('"keep"', '"cut":{},"keep"'),
		});
		expect(stepsOf(session)[4]?.changes).toEqual(new Set());
		expect(hashes(session)).toEqual(hashes(await recorder.read({ isRecorded: false })));
	});

	test("is compared although the file lacks one of its messages", async () => {
		const recorder = around((one) => one.clearResults());
		const isBlob = (line: string) => line.startsWith('{"type":"api-request-blob"');
		const session = await recorder.read({ change: (line) => (isBlob(line) ? undefined : line) });
		const lost = "a message that is not in the file";
		expect(causes(session)).toEqual([[5, "edit", lost]]);
	});

	test("has the time of its sending, and the place and lifetime of its last cache marker", async () => {
		const recorder = around(() => {});
		const change = (line: string) =>
			line
				.replace(
					/"messages",\d+,"content",0\],"value":\{/,
					'"messages",0,"content",0],"value":{"ttl":"1h",',
				)
				.replace(/("type":"api-request",.*"timestamp":")[^"]*/, "$12026-06-30T12:00:00.000Z");
		const steps = stepsOf(await recorder.read({ change }));
		expect(steps.map(({ behindMarker }) => behindMarker)).toEqual([0, 2, 4, 6, 8]);
		expect(new Set(steps.map(({ atMs }) => atMs))).toEqual(new Set([Date.UTC(2026, 5, 30, 12)]));
		const entries = (await recorder.read({ change })).entries;
		expect(entries.find(({ type }) => type === "assistant")).toMatchObject({
			marker: { ttl: "1h" },
		});
	});

	test("reads a system prompt and tools that another session cached", async () => {
		const recorder = around(() => {});
		const isFirst = (line: string) => line.includes('"id":"m0"');
		const moved = (line: string) =>
			line.replace(
				/"cache_read_input_tokens":0(.*)"cache_creation_input_tokens":(\d+)/,
				(_, between, write) =>
					`"cache_read_input_tokens":${write - 10}${between}"cache_creation_input_tokens":10`,
			);
		const session = await recorder.read({ change: (line) => (isFirst(line) ? moved(line) : line) });
		const replayed = replay(session);
		expect(replayed.bills.map(({ warmBlocks }) => warmBlocks)).toEqual([2, 2, 2, 2, 2]);
		const { deviation } = buildReport(replayed, { policies: [] }).check;
		expect(Math.abs(deviation)).toBeLessThan(0.01);
		expect(replay(await recorder.read()).bills.map(({ warmBlocks }) => warmBlocks)).toEqual([
			...[0, 0, 0, 0, 0],
		]);
	});

	test("is kept without its texts", async () => {
		const recorder = new ClaudeRecorder();
		recorder.system = [text("a secret of the vendor ".repeat(2_000))];
		recorder.call("a secret of the project");
		recorder.clearResults();
		recorder.ask("a secret of the user");
		expect(JSON.stringify(await recorder.read())).not.toContain("secret");
	});
});

/** An answer whose request was not recorded. */
describe("a request for which the provider called the model several times", () => {
	const usage = (read: number, write: number) => ({
		...{ input_tokens: 0, cache_read_input_tokens: read, output_tokens: 100 },
		cache_creation_input_tokens: write,
	});

	async function session(): Promise<ImportedSession> {
		const writer = new ClaudeWriter();
		const rounds = [usage(20_000, 1000), usage(21_000, 1000)];
		const iterations = rounds.map((one) => ({ type: "message", ...one }));
		writer.user("a".repeat(400));
		writer.text("m1", "one", { input: 0, write: 20_000, output: 100 });
		writer.user("search the web");
		const more = { usage: { ...usage(41_000, 2000), iterations } };
		writer.text("m2", "two", {}, { more });
		writer.user("b".repeat(24_000));
		writer.text("m3", "three", { input: 0, read: 22_000, write: 8000, output: 100 });
		const [read] = await readSessions(writer.save());
		return read as ImportedSession;
	}

	test("is billed by its sums, and compared by its first and its last prompt", async () => {
		const rebuilt = replay(await session());
		expect(rebuilt.bills.map(({ billed }) => billed.read)).toEqual([0, 41_000, 22_000]);
		expect(findMisses(rebuilt)).toEqual([]);
		const blocks = [...rebuilt.steps()].map((step) => step.blocks);
		expect(blocks.map((all) => all.reduce((sum, { tokens }) => sum + tokens, 0))).toEqual([
			20_000, 21_000, 30_000,
		]);
		const { check } = buildReport(rebuilt, { policies: [] });
		expect(Math.abs(check.deviation)).toBeLessThan(0.05);
	});
});

describe("context that the provider cleared", () => {
	test("is the cause of a miss", async () => {
		const writer = new ClaudeWriter();
		const edit = { type: "clear_tool_uses_20250919", cleared_input_tokens: 20_000 };
		writer.user("a".repeat(400));
		writer.text("m1", "one", { input: 0, write: 60_000 });
		writer.user("next");
		writer.text("m2", "two", { input: 0, read: 60_000, write: 2000 });
		writer.user("more");
		const more = { context_management: { applied_edits: [edit] } };
		writer.text("m3", "three", { input: 0, read: 10_000, write: 32_000 }, { more });
		const [read] = await readSessions(writer.save());
		expect(causes(read as ImportedSession)).toMatchObject([[3, "cleared", expect.anything()]]);
	});
});

function withoutRecord(line: string): string {
	return line.replace(/"requestRef":"[^"]*"/, '"requestRef":null');
}
