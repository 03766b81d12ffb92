import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { answerReport } from "../../src/extension/answer-report.ts";
import {
	type ProgressConnection,
	type ProgressReport,
	ProgressReporter,
} from "../../src/extension/progress-reporter.ts";
import type { PartialAnswer } from "../../src/session/index.ts";
import { fakeSession } from "../support/fake-host.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const answer = (text: string, timestamp = 1) =>
	({ role: "assistant", timestamp, model: "m", content: [{ type: "text", text }] }) as never;

/** A reporter in a session with a file. The server says what `reply` returns, when `reply` returns. */
function reporter(
	reply: (report: ProgressReport) => unknown,
	isServerThere: () => boolean = () => true,
) {
	const reports: ProgressReport[] = [];
	const state = { looks: 0, open: 0 };
	const connection: ProgressConnection = {
		report: async (report) => {
			reports.push(structuredClone(report));
			return (await reply(report)) as never;
		},
		close: () => void state.open--,
	};
	const system = new ProgressReporter("/nowhere", async () => {
		state.looks++;
		if (!isServerThere()) return undefined;
		state.open++;
		return connection;
	});
	const { view } = fakeSession({ sessionManager: { getSessionFile: () => "/s/a.jsonl" } });
	system.start(view());
	return { system, reports, state };
}

/** A server that keeps what it gets of each block, as the real one does. */
function keeping(isWatched: () => boolean = () => true) {
	const kept = { text: "", stamp: 0 };
	const reply = ({ message }: ProgressReport) => {
		if (message && message.timestamp !== kept.stamp) Object.assign(kept, { text: "", stamp: 1 });
		for (const { from, text } of message?.blocks ?? []) {
			if (from <= kept.text.length) kept.text += text.slice(kept.text.length - from);
		}
		return { watched: isWatched(), has: message ? [kept.text.length] : [] };
	};
	return { kept, reply };
}

test("without a server a run looks every two seconds, and after the run never", async () => {
	const { system, reports, state } = reporter(
		() => undefined,
		() => false,
	);
	system.onProgress({ kind: "run", isRunning: true });
	for (let word = 0; word < 1_000; word++) {
		system.onProgress({ kind: "answer", answer: answer("x".repeat(word)) });
	}
	await vi.advanceTimersByTimeAsync(9_000);
	expect(state.looks).toBe(5);
	system.onProgress({ kind: "run", isRunning: false });
	await vi.advanceTimersByTimeAsync(60_000);
	expect(state.looks).toBeLessThanOrEqual(6);
	expect(reports).toEqual([]);
	expect(vi.getTimerCount()).toBe(0);
});

test("words that come fast go into few reports, each with what is new", async () => {
	const { kept, reply } = keeping();
	const { system, reports } = reporter(reply);
	system.onProgress({ kind: "run", isRunning: true });
	await vi.advanceTimersByTimeAsync(1);
	let text = "";
	for (let word = 0; word < 1_000; word++) {
		text += `${word} `;
		system.onProgress({ kind: "answer", answer: answer(text) });
		await vi.advanceTimersByTimeAsync(1);
	}
	await vi.advanceTimersByTimeAsync(200);
	expect(kept.text).toBe(text);
	expect(reports.length).toBeLessThan(15);
	const sent = reports.flatMap(({ message }) => message?.blocks ?? []);
	expect(sent.reduce((sum, block) => sum + block.text.length, 0)).toBe(text.length);
	system.stop();
});

test("a server that does not answer gets no second report, and pi's words are not kept for it", async () => {
	const { system, reports, state } = reporter(() => new Promise(() => {}));
	system.onProgress({ kind: "run", isRunning: true });
	for (let word = 0; word < 100; word++) {
		system.onProgress({ kind: "answer", answer: answer("x".repeat(word)) });
		await vi.advanceTimersByTimeAsync(100);
	}
	expect(reports).toHaveLength(1);
	system.stop();
	expect(state.open).toBe(0);
	expect(vi.getTimerCount()).toBe(0);
});

test("a server that fails is left, and looked for again ten seconds later", async () => {
	let fails = true;
	const { kept, reply } = keeping();
	const { system, state } = reporter((report) =>
		fails ? Promise.reject(new Error("gone")) : reply(report),
	);
	system.onProgress({ kind: "run", isRunning: true });
	system.onProgress({ kind: "answer", answer: answer("all of it") });
	await vi.advanceTimersByTimeAsync(5_000);
	expect(state).toEqual({ looks: 1, open: 0 });
	fails = false;
	await vi.advanceTimersByTimeAsync(10_000);
	expect(state.looks).toBe(2);
	expect(kept.text).toBe("all of it");
	system.stop();
});

test("no text is sent until a client follows, and then all of it", async () => {
	let isWatched = false;
	const { kept, reply } = keeping(() => isWatched);
	const { system, reports } = reporter(reply);
	system.onProgress({ kind: "run", isRunning: true });
	system.onProgress({ kind: "answer", answer: answer("hidden so far") });
	await vi.advanceTimersByTimeAsync(10_000);
	expect(reports.length).toBeLessThanOrEqual(7);
	expect(JSON.stringify(reports)).not.toContain("hidden");
	isWatched = true;
	await vi.advanceTimersByTimeAsync(3_000);
	expect(kept.text).toBe("hidden so far");
	system.stop();
});

test("the end of a run is reported, and then the connection is closed", async () => {
	const { reply } = keeping();
	const { system, reports, state } = reporter(reply);
	system.onProgress({ kind: "run", isRunning: true });
	await vi.advanceTimersByTimeAsync(500);
	expect(state.open).toBe(1);
	system.onProgress({ kind: "run", isRunning: false });
	await vi.advanceTimersByTimeAsync(500);
	expect(reports.at(-1)).toMatchObject({ sessionPath: "/s/a.jsonl", isRunning: false });
	expect(state.open).toBe(0);
	expect(vi.getTimerCount()).toBe(0);
});

test("tools that run are reported with the end of their output, and the arguments of a call as written", async () => {
	const { system, reports } = reporter(({ message }) => ({
		watched: true,
		has: message?.blocks.map(({ from, text }) => from + text.length) ?? [],
	}));
	system.onProgress({ kind: "run", isRunning: true });
	await vi.advanceTimersByTimeAsync(200);
	const call = { type: "toolCall", id: "t", name: "bash", arguments: {} };
	const writing = { role: "assistant", timestamp: 2, content: [call] } as unknown as PartialAnswer;
	const delta = (type: string, text?: string) =>
		({ type, contentIndex: 0, ...(text && { delta: text }) }) as never;
	system.onProgress({ kind: "answer", answer: writing, delta: delta("toolcall_start") });
	system.onProgress({ kind: "answer", answer: writing, delta: delta("toolcall_delta", '{"com') });
	await vi.advanceTimersByTimeAsync(200);
	expect(reports.at(-1)?.message?.blocks).toEqual([
		{ index: 0, kind: "toolCall", from: 0, text: '{"com', id: "t", toolName: "bash" },
	]);
	system.onProgress({ kind: "answered" });
	const bash = { toolCallId: "t", toolName: "bash" };
	const output = { content: [{ type: "text", text: `${"x".repeat(20_000)}end` }] };
	system.onProgress({ kind: "call", call: { ...bash, args: {} }, output });
	await vi.advanceTimersByTimeAsync(200);
	const [running] = reports.at(-1)?.calls ?? [];
	expect(running).toMatchObject({ toolCallId: "t", toolName: "bash" });
	expect(running?.output).toMatch(/xend$/);
	expect(running?.output?.length).toBe(8 * 1024);
	const ended = { content: [], details: undefined, isError: false };
	system.onProgress({ kind: "called", call: bash, ended });
	await vi.advanceTimersByTimeAsync(200);
	expect(reports.at(-1)?.calls).toEqual([]);
	system.stop();
});

test("a session without a file reports nothing", async () => {
	const connect = vi.fn();
	const system = new ProgressReporter("/nowhere", connect);
	system.start(fakeSession({ sessionManager: { getSessionFile: () => undefined } }).view());
	system.onProgress({ kind: "run", isRunning: true });
	await vi.advanceTimersByTimeAsync(10_000);
	expect(connect).not.toHaveBeenCalled();
});

test("one report is bounded, and a long answer needs several; beyond a megabyte nothing is reported", () => {
	const long = answer("x".repeat(3_000_000)) as PartialAnswer;
	let has = 0;
	let reports = 0;
	for (;;) {
		const [block] = answerReport(long, reports === 0 ? [] : [has], () => "").blocks;
		if (!block) break;
		expect(block.from).toBe(has);
		expect(block.text.length).toBeLessThanOrEqual(32 * 1024);
		has += block.text.length;
		reports++;
	}
	expect(has).toBe(1024 * 1024);
	expect(reports).toBe(32);
});
