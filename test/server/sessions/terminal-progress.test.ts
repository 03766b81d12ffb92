import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { TerminalProgress } from "../../../src/server/sessions/terminal-progress.ts";
import { fc, runs } from "../../support/property.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function progress(written: readonly number[] = []) {
	const events: { type: string; [field: string]: unknown }[] = [];
	const taking = new TerminalProgress({
		emit: (event) => void events.push(event),
		isWritten: (timestamp) => written.includes(timestamp),
		argsOf: (id) => (id === "t" ? { command: "ls" } : undefined),
	});
	const take = (more: object) =>
		taking.take({ sessionPath: "/a.jsonl", isRunning: true, ...more } as never);
	const text = (from: number, given: string, timestamp = 1) =>
		take({ message: { timestamp, blocks: [{ index: 0, kind: "text", from, text: given }] } });
	const shown = () =>
		events
			.map(({ assistantMessageEvent: step }) => (step as { delta?: string } | undefined)?.delta)
			.join("");
	return { taking, take, text, events, shown, types: () => events.map(({ type }) => type) };
}

test("a message begins once, and each report adds what is new", () => {
	const { text, shown, types } = progress();
	expect(text(0, "one ")).toEqual([4]);
	expect(text(4, "two")).toEqual([7]);
	expect(shown()).toBe("one two");
	expect(types().filter((type) => type === "message_start")).toHaveLength(1);
	expect(types()[0]).toBe("agent_start");
});

test("repeated, lost and overlapping reports never change the text", () => {
	const whole = "The text of one answer, in parts.";
	const part = fc.tuple(fc.nat(whole.length), fc.nat(whole.length));
	fc.assert(
		fc.property(fc.array(part, { maxLength: 30 }), (parts) => {
			const { text, shown } = progress();
			for (const [a, b] of parts) {
				const [from, to] = [Math.min(a, b), Math.max(a, b)];
				const [has = 0] = text(from, whole.slice(from, to));
				expect(shown()).toBe(whole.slice(0, has));
			}
		}),
		{ numRuns: runs(100) },
	);
});

test("blocks end where the next begins, and a block after a lost one waits", () => {
	const { take, events } = progress();
	const block = (index: number, kind: string, more: object = {}) => ({
		...{ index, kind, from: 0, text: "x" },
		...more,
	});
	expect(take({ message: { timestamp: 1, blocks: [block(1, "text")] } })).toEqual([]);
	const call = block(1, "toolCall", { id: "t", toolName: "bash" });
	take({ message: { timestamp: 1, blocks: [block(0, "thinking"), call] } });
	const steps = events.flatMap(({ assistantMessageEvent: step }) => (step ? [step] : []));
	expect(steps).toEqual([
		{ type: "thinking_start", contentIndex: 0 },
		{ type: "thinking_delta", contentIndex: 0, delta: "x" },
		{ type: "thinking_end", contentIndex: 0 },
		{ type: "toolcall_start", contentIndex: 1, id: "t", toolName: "bash" },
		{ type: "toolcall_delta", contentIndex: 1, delta: "x" },
	]);
});

test("a report that comes after the message is in the file starts nothing", () => {
	const { text, types } = progress([1]);
	expect(text(0, "late")).toEqual([4]);
	expect(types()).toEqual(["agent_start"]);
});

test("the file ends the message that was begun, and no other", () => {
	const { taking, text } = progress();
	text(0, "one");
	expect(taking.end(2)).toBe(false);
	expect(taking.end(1)).toBe(true);
	expect(taking.end(1)).toBe(false);
});

test("a tool that runs starts once, with the arguments from the file", () => {
	const { take, events } = progress();
	const call = { toolCallId: "t", toolName: "bash" };
	take({ calls: [call] });
	take({ calls: [{ ...call, output: "a" }] });
	take({ calls: [{ ...call, output: "a" }] });
	take({ calls: [] });
	expect(events.slice(1)).toMatchObject([
		{ type: "tool_execution_start", ...call, args: { command: "ls" } },
		{ type: "tool_execution_update", ...call, partialResult: { content: [{ text: "a" }] } },
	]);
});

test("a run ends when pi says so, or when its reports stop", async () => {
	const { taking, take, types } = progress();
	take({});
	expect(taking.isRunning).toBe(true);
	take({ isRunning: false });
	take({ isRunning: false });
	expect(types()).toEqual(["agent_start", "agent_settled"]);
	take({});
	await vi.advanceTimersByTimeAsync(15_000);
	take({});
	await vi.advanceTimersByTimeAsync(15_000);
	expect(taking.isRunning).toBe(true);
	await vi.advanceTimersByTimeAsync(10_000);
	expect(taking.isRunning).toBe(false);
	expect(types().at(-1)).toBe("agent_settled");
	expect(vi.getTimerCount()).toBe(0);
});
