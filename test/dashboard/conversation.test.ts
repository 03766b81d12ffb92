import { describe, expect, test } from "vitest";
import {
	applyEvent,
	bashStarted,
	type Conversation,
	carryOver,
	conversationOf,
	EMPTY,
} from "../../src/dashboard/session/conversation.ts";
import type { AssistantItem } from "../../src/dashboard/session/items.ts";
import { branchOf, itemsOf } from "../../src/dashboard/session/message-items.ts";
import type { Data } from "../../src/protocol/index.ts";
import { fc, runs } from "../support/property.ts";
import { answerEvents, assistant, call, entriesOf, toolResult, user, words } from "./events.ts";

const IDLE = { isStreaming: false, isCompacting: false };
const BUSY = { isStreaming: true, isCompacting: false };

function play(events: readonly Data<"SessionEvent">[], from: Conversation = EMPTY): Conversation {
	return events.reduce(applyEvent, from);
}

function lastAnswer({ items }: Conversation): AssistantItem {
	const answer = items.findLast((item) => item.kind === "assistant");
	if (answer?.kind !== "assistant") throw new Error("there is no answer");
	return answer;
}

/** A run with a thought, a text, a call with its result, and a last word. */
const first = assistant(20, { type: "thinking", thinking: "hm" }, words("Reading."), call("c1"));
const last = assistant(40, words("Done."));
const run: Data<"SessionEvent">[] = [
	{ type: "agent_start" },
	{ type: "message_start", message: { ...user(10, ""), content: [] } },
	{ type: "message_end", message: user(10, "Look at a.ts") },
	...answerEvents(first, [
		{ type: "start" },
		{ type: "thinking_start", contentIndex: 0 },
		{ type: "thinking_delta", contentIndex: 0, delta: "hm" },
		{ type: "text_start", contentIndex: 1 },
		{ type: "text_delta", contentIndex: 1, delta: "Rea" },
		{ type: "text_delta", contentIndex: 1, delta: "ding." },
		{ type: "toolcall_start", contentIndex: 2, id: "c1", toolName: "read" },
		{ type: "toolcall_delta", contentIndex: 2, delta: '{"path":' },
		{ type: "toolcall_delta", contentIndex: 2, delta: '"a.ts"}' },
		{ type: "toolcall_end", contentIndex: 2 },
	]),
	{ type: "tool_execution_start", toolCallId: "c1", toolName: "read", args: { path: "a.ts" } },
	{
		type: "tool_execution_end",
		toolCallId: "c1",
		toolName: "read",
		result: { content: [words("1: x")] },
		isError: false,
	},
	{ type: "message_start", message: { ...toolResult(30, "c1", ""), content: [] } },
	{ type: "message_end", message: toolResult(30, "c1", "1: x") },
	{ type: "turn_end", message: first, toolResults: [] },
	...answerEvents(last, [{ type: "text_delta", contentIndex: 0, delta: "Done." }]),
	{ type: "agent_end", messages: [] },
	{ type: "agent_settled" },
];
const file = entriesOf(user(10, "Look at a.ts"), first, toolResult(30, "c1", "1: x"), last);

describe("a conversation that is watched", () => {
	test("grows letter by letter, and ends as the session's file has it", () => {
		const half = play(run.slice(0, 9));
		expect(half.isRunning).toBe(true);
		expect(lastAnswer(half)).toMatchObject({
			isStreaming: true,
			blocks: [
				{ kind: "thinking", text: "hm" },
				{ kind: "text", text: "Rea" },
			],
		});
		const whole = play(run);
		const fromFile = conversationOf(file, IDLE);
		expect(whole.isRunning).toBe(false);
		expect(withoutIds(whole)).toEqual(withoutIds(fromFile));
	});

	test("shows a call while it is written, waits, runs and is done", () => {
		const states = run.map((_, at) => {
			const item = play(run.slice(0, at + 1)).items.find(({ kind }) => kind === "assistant");
			const block = item?.kind === "assistant" ? item.blocks[2] : undefined;
			return block?.kind === "call" ? block.call.state : undefined;
		});
		const seen = states.filter((state, at) => state !== states[at - 1] && state);
		expect(seen).toEqual(["writing", "waiting", "running", "done"]);
	});

	test("an event that comes twice, or is in the file already, changes nothing", () => {
		const fromFile = conversationOf(file, IDLE);
		fc.assert(
			fc.property(fc.nat(run.length), (from) => {
				expect(play(run.slice(from), fromFile)).toEqual(fromFile);
			}),
			{ numRuns: runs(30) },
		);
		expect(play([...run, ...run])).toEqual(play(run));
	});

	test("whoever comes in the middle of a run sees at its end what everybody sees", () => {
		fc.assert(
			fc.property(fc.nat(run.length - 1), fc.nat(4), (at, kept) => {
				// Pi's file has the messages that have ended by then.
				const count = [0, 1, 2, 3, 4][kept] ?? 0;
				const ends = run.flatMap(({ type }, index) => (type === "message_end" ? [index] : []));
				fc.pre(at > (ends[count - 1] ?? -1) && at <= (ends[count] ?? run.length));
				const then = conversationOf(
					{ entries: file.entries.slice(0, count), leafId: count ? `e${count - 1}` : null },
					BUSY,
				);
				const end = play(run.slice(at), then);
				expect(withoutIds(end)).toEqual(withoutIds(play(run)));
			}),
		);
	});

	test("an answer joined in its middle says so until it is whole", () => {
		const late = play([
			{
				type: "message_update",
				assistantMessageEvent: { type: "text_delta", contentIndex: 1, delta: "ing." },
			},
		]);
		expect(lastAnswer(late)).toMatchObject({ isPartial: true, isStreaming: true });
		const whole = applyEvent(late, { type: "message_end", message: first });
		expect(whole.items).toHaveLength(1);
		expect(lastAnswer(whole)).not.toHaveProperty("isPartial");
	});
});

describe("what goes wrong", () => {
	test("an aborted run leaves no call that looks as if it ran", () => {
		const aborted = { ...first, stopReason: "aborted" };
		const state = play([...answerEvents(aborted), { type: "agent_settled", aborted: true }]);
		expect(lastAnswer(state)).toMatchObject({ isAborted: true });
		expect(lastAnswer(state).blocks[2]).toMatchObject({ call: { state: "lost" } });
	});

	test("an answer that was stopped is no failure, whatever the provider's client calls it", () => {
		const stopped = { ...first, stopReason: "error", errorMessage: "This operation was aborted" };
		const state = play([...answerEvents(stopped), { type: "agent_settled", aborted: true }]);
		expect(lastAnswer(state)).toMatchObject({ isAborted: true });
		expect(lastAnswer(state)).not.toHaveProperty("error");
	});

	test("an answer that failed says why", () => {
		const failed = { ...assistant(1), stopReason: "error", errorMessage: "overloaded" };
		expect(lastAnswer(play(answerEvents(failed))).error).toBe("overloaded");
	});

	test("a retry says what it waits for, and no longer when it goes on", () => {
		const waiting = play([
			{ type: "agent_end", messages: [], willRetry: true },
			{
				type: "auto_retry_start",
				attempt: 1,
				maxAttempts: 3,
				delayMs: 2000,
				errorMessage: "overloaded",
			},
		]);
		expect(waiting.retryText).toBe("overloaded (attempt 1 of 3 in 2 s)");
		expect(waiting.isRunning).toBe(true);
		expect(applyEvent(waiting, { type: "agent_start" }).retryText).toBeUndefined();
	});

	test("a failed tool shows its error, an update after the end is ignored", () => {
		const call1 = { toolCallId: "c1", toolName: "read" };
		const state = play([
			...answerEvents(first),
			{ type: "tool_execution_end", ...call1, result: { content: [words("no")] }, isError: true },
			{
				type: "tool_execution_update",
				...call1,
				args: {},
				partialResult: { content: [words("late")] },
			},
		]);
		expect(lastAnswer(state).blocks[2]).toMatchObject({ call: { state: "failed", output: "no" } });
	});

	test("a result whose call is not there is shown by itself, once", () => {
		const orphan: Data<"SessionEvent"> = {
			type: "message_end",
			message: toolResult(5, "c9", "lonely"),
		};
		const { items } = play([orphan, orphan]);
		expect(items).toMatchObject([{ kind: "custom", label: "Result of read", text: "lonely" }]);
	});

	test("an index out of all bounds makes no list of that length", () => {
		const step = { type: "text_delta", contentIndex: 2 ** 31, delta: "x" } as const;
		const state = play([
			{ type: "message_start", message: assistant(1) },
			{ type: "message_update", assistantMessageEvent: step },
		]);
		expect(lastAnswer(state).blocks).toEqual([]);
	});

	test("a message of an unknown shape or role is a quiet line, not an error", () => {
		const odd = [
			{ role: "martian", timestamp: 1 },
			{ role: "user", timestamp: 2, content: 7 },
		];
		const { items } = conversationOf(entriesOf(...odd, { type: "novelty" }), IDLE);
		expect(items.map(({ kind }) => kind)).toEqual(["note", "user", "note"]);
	});
});

describe("what is beside the answers", () => {
	test("equal notes in a row are one line that counts them, and are not counted twice", () => {
		const custom = { type: "custom", customType: "strata-reads" };
		const { entries, leafId } = entriesOf(user(1, "hi"), custom, custom);
		const state = conversationOf({ entries, leafId }, IDLE);
		expect(state.items[1]).toMatchObject({
			text: "strata-reads",
			mergedKeys: ["entry:e1", "entry:e2"],
		});
		const again = entries.map((entry): Data<"SessionEvent"> => ({ type: "entry_appended", entry }));
		expect(play(again, state)).toEqual(state);
	});

	test("entries of ours that say nothing themselves are said in a sentence", () => {
		const { entries, leafId } = entriesOf(
			{
				type: "custom",
				customType: "pi-kota-pin",
				data: { toolCallId: "c", pinned: true },
			} as never,
			{ type: "custom", customType: "strata-workset", data: {} } as never,
			{
				type: "custom_message",
				customType: "strata-workset",
				content: "x",
				display: false,
			} as never,
		);
		const notes = itemsOf(branchOf(entries, leafId)).map((item) => "text" in item && item.text);
		expect(notes).toEqual([
			"A result was pinned: pruning will not replace it",
			"The working set was changed",
			"Files from the working set were added to the conversation",
		]);
	});

	test("the answer of a command of ours is shown in its columns, told or loaded; other notes of extensions are not", () => {
		const text = "system    state\nreadcache on";
		const report = { type: "custom", customType: "strata-report", data: { text } };
		const other = { type: "custom", customType: "strata-workset", data: { text } };
		const empty = { type: "custom", customType: "strata-report", data: {} };
		const { entries, leafId } = entriesOf(report, other, empty);
		const fromFile = conversationOf({ entries, leafId }, IDLE);
		expect(fromFile.items).toMatchObject([
			{ kind: "custom", label: "strata", text, hasColumns: true },
			{ kind: "note", text: "The working set was changed" },
			{ kind: "note", text: "strata-report" },
		]);
		const told = play(entries.map((entry) => ({ type: "entry_appended", entry })));
		expect(told).toEqual(fromFile);
	});

	test("only the branch in use is shown", () => {
		const { entries } = entriesOf(user(1, "root"), user(2, "left"));
		const right = { ...entries[1], id: "r", message: user(3, "right") } as (typeof entries)[0];
		const { items } = conversationOf({ entries: [...entries, right], leafId: "r" }, IDLE);
		expect(items.map((item) => item.kind === "user" && item.text)).toEqual(["root", "right"]);
	});

	test("a file that goes in circles comes to an end", () => {
		const { entries } = entriesOf(user(1, "a"), user(2, "b"));
		const [a, b] = entries.map((entry) => ({ ...entry }));
		if (a) a.parentId = "e1";
		const { items } = conversationOf(
			{ entries: [a, b].filter((entry) => entry !== undefined), leafId: "e1" },
			IDLE,
		);
		expect(items.length).toBeLessThanOrEqual(3);
		expect(new Set(items.map(({ key }) => key)).size).toBe(items.length);
	});

	test("a compaction shows its summary, one that failed its reason", () => {
		const base = { type: "compaction_end", reason: "manual", willRetry: false } as const;
		const result = { summary: "so far", firstKeptEntryId: "e1", tokensBefore: 900 };
		const started = applyEvent(EMPTY, { type: "compaction_start", reason: "manual" });
		expect(started.isCompacting).toBe(true);
		const done = applyEvent(started, { ...base, aborted: false, result });
		expect(done).toMatchObject({
			isCompacting: false,
			items: [{ kind: "summary", text: "so far" }],
		});
		const failed = applyEvent(started, { ...base, aborted: false, errorMessage: "too short" });
		expect(failed.items).toMatchObject([{ kind: "error" }]);
		const errorMessage = "Compaction failed: too short";
		const repeated = applyEvent(started, { ...base, aborted: false, errorMessage });
		expect(repeated.items).toMatchObject([{ text: errorMessage }]);
	});

	test("the output of a shell command gathers under its command, of another client's under a name for it", () => {
		const own = applyEvent(bashStarted(EMPTY, "b1", "ls"), {
			type: "bash_execution_update",
			id: "b1",
			delta: "a\n",
		});
		expect(own.items).toMatchObject([
			{ kind: "bash", command: "ls", output: "a\n", state: "running" },
		]);
		const other = applyEvent(EMPTY, { type: "bash_execution_update", id: "b2", delta: "x" });
		expect(other.items).toMatchObject([{ kind: "bash", output: "x" }]);
	});

	test("what came of an answer before its beginning was found is not shown beside it", () => {
		const step = (delta: string): Data<"SessionEvent"> => ({
			type: "message_update",
			assistantMessageEvent: { type: "text_delta", contentIndex: 0, delta },
		});
		const late = play([step("gin")]);
		expect(late.items).toHaveLength(1);
		const begun = play(
			[{ type: "message_start", message: assistant(9) }, step("be"), step("gin")],
			late,
		);
		expect(begun.items).toMatchObject([{ blocks: [{ kind: "text", text: "begin" }] }]);
		expect(begun.items[0]).not.toHaveProperty("isPartial");
	});

	test("a shell command keeps its key when it has come into the file, so that it stays as it was folded", () => {
		const bash = (timestamp: number, command: string) => ({
			...{ role: "bashExecution", timestamp, command, output: "a", exitCode: 0 },
			...{ cancelled: false, truncated: false },
		});
		const old = conversationOf(entriesOf(bash(1, "ls")), IDLE);
		const running = bashStarted(old, "b1", "ls");
		const first = carryOver(conversationOf(entriesOf(bash(1, "ls"), bash(2, "ls")), IDLE), running);
		const keys = running.items.map(({ key }) => key);
		expect(keys).toHaveLength(2);
		expect(first.items).toMatchObject([{ key: keys[0] }, { key: keys[1], state: "done" }]);
		const later = conversationOf(entriesOf(bash(1, "ls"), bash(2, "ls"), bash(3, "ls")), IDLE);
		const second = carryOver(later, first);
		expect(second.items.map(({ key }) => key)).toEqual([...keys, later.items[2]?.key]);
	});

	test("the queue is the last one that was told", () => {
		const state = play([
			{ type: "queue_update", steering: ["a"], followUp: [] },
			{ type: "queue_update", steering: [], followUp: ["b"] },
		]);
		expect(state.queue).toEqual({ steering: [], followUp: ["b"] });
	});

	test("a run that the server's end cut off takes its queue and its compaction with it", () => {
		const before = [
			{ type: "agent_start" },
			{ type: "queue_update", steering: ["a"], followUp: ["b"] },
			{ type: "compaction_start", reason: "threshold" },
		] satisfies Data<"SessionEvent">[];
		const running = play(before);
		const inOrder = applyEvent(running, { type: "agent_settled" });
		expect(inOrder).toMatchObject({ isCompacting: true, queue: { steering: ["a"] } });
		const cutOff = applyEvent(running, { type: "agent_settled", interrupted: true });
		expect(cutOff).toEqual(EMPTY);
	});

	test("a run that the server's end cut off says so, once", () => {
		const events: Data<"SessionEvent">[] = [
			{ type: "agent_start" },
			{ type: "message_end", message: user(10, "go") },
			{ type: "agent_settled", interrupted: true },
		];
		const cutOff = play(events);
		expect(cutOff.items).toMatchObject([
			{ kind: "user" },
			{ kind: "error", text: "The server stopped while this was running." },
		]);
		expect(play(events, cutOff).items).toEqual(cutOff.items);
		const next = play([{ type: "message_end", message: user(20, "again") }], cutOff);
		expect(next.items.map(({ kind }) => kind)).toEqual(["user", "error", "user"]);
	});

	test("it still says so when the conversation is loaded anew", () => {
		const cutOff = play([
			{ type: "message_end", message: user(10, "go") },
			{ type: "message_start", message: assistant(20) },
			{ type: "agent_settled", interrupted: true },
		]);
		// What was being written is not in the file.
		const entries = entriesOf(user(10, "go"), user(30, "again"), assistant(40, words("yes")));
		const fresh = carryOver(conversationOf(entries, IDLE), cutOff);
		expect(fresh.items.map(({ kind }) => kind)).toEqual(["user", "error", "user", "assistant"]);
		expect(fresh.items[1]).toMatchObject({ text: "The server stopped while this was running." });
		expect(carryOver(conversationOf(entries, IDLE), fresh).items).toEqual(fresh.items);
	});

	test("a file that ends in the middle of a run says so, unless it is running", () => {
		const cut = entriesOf(user(10, "go"), assistant(20, call("c1")));
		const text = "This run was cut off before it finished.";
		expect(conversationOf(cut, IDLE).items.at(-1)).toMatchObject({ kind: "error", text });
		expect(conversationOf(cut, { ...IDLE, isStreaming: true }).items.at(-1)?.kind).toBe(
			"assistant",
		);
		const done = entriesOf(user(10, "go"), assistant(20, words("done")));
		expect(conversationOf(done, IDLE).items.at(-1)?.kind).toBe("assistant");
	});

	test("what goes on after all was not cut off", () => {
		const cut = conversationOf(entriesOf(user(10, "go"), assistant(20, call("c1"))), IDLE);
		const state = play([{ type: "message_start", message: assistant(30) }], cut);
		expect(state.items.map(({ kind }) => kind)).toEqual(["user", "assistant", "assistant"]);
	});

	test("an event that is not known changes nothing", () => {
		expect(applyEvent(EMPTY, { type: "novelty" } as unknown as Data<"SessionEvent">)).toBe(EMPTY);
	});
});

describe("pictures in a conversation", () => {
	const picture = { mimeType: "image/png", data: "AAAA" };
	const image = { type: "image", ...picture };
	const shot = { ...toolResult(30, "c1", ""), content: [words("Read"), image] };

	test("belong to what the user said, to results and to what extensions say", () => {
		const { items } = conversationOf(
			entriesOf(
				{ ...user(10, ""), content: [words("look"), image, image] },
				assistant(20, call("c1")),
				shot,
				{ type: "custom_message", customType: "camera", content: [image] } as { type: string },
			),
			IDLE,
		);
		expect(items).toMatchObject([
			{ kind: "user", text: "look", pictures: [picture, picture] },
			{ blocks: [{ call: { output: "Read", pictures: [picture], state: "done" } }] },
			{ kind: "custom", label: "camera", pictures: [picture] },
		]);
	});

	test("come with events, too; of one that the server left out the type is known", () => {
		const after = play([
			{ type: "message_end", message: { ...user(10, ""), content: [{ ...image, data: "" }] } },
			...answerEvents(assistant(20, call("c1"))),
			{
				type: "tool_execution_end",
				toolCallId: "c1",
				toolName: "read",
				result: { content: [image] },
				isError: false,
			},
		]);
		expect(after.items).toMatchObject([
			{ pictures: [{ mimeType: "image/png", data: "" }] },
			{ blocks: [{ call: { pictures: [picture] } }] },
		]);
	});

	test("of an unknown shape are empty ones", () => {
		const odd = [{ type: "image" }, { type: "image", data: 5, mimeType: null }, null, "image"];
		const { items } = play([{ type: "message_end", message: { ...user(1, ""), content: odd } }]);
		const none = { mimeType: "", data: "" };
		expect(items).toMatchObject([{ kind: "user", text: "", pictures: [none, none] }]);
	});
});

/** Only a file knows the ids of entries. */
function withoutIds(state: Conversation) {
	// Only the session's file has the ids of entries.
	const isId = (key: string) => key === "entryId" || key === "resultId";
	return JSON.parse(JSON.stringify(state, (key, value) => (isId(key) ? undefined : value)));
}
