import type { AgentSessionEvent } from "@earendil-works/pi-coding-agent";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Data } from "../../../src/protocol/index.ts";
import { EventTranslator } from "../../../src/server/sessions/events.ts";

function translate() {
	const sent: Data<"SessionEvent">[] = [];
	const translator = new EventTranslator({
		emit: (event) => sent.push(event),
		wasAborted: () => false,
	});
	return {
		sent,
		take: (event: object) => translator.translate(event as AgentSessionEvent),
		translator,
	};
}

const update = (text: string) => ({
	type: "tool_execution_update",
	toolCallId: "c1",
	toolName: "bash",
	args: {},
	partialResult: { content: [{ type: "text", text }] },
});

describe("pi's events", () => {
	beforeEach(() => {
		vi.useFakeTimers();
	});
	afterEach(() => {
		vi.useRealTimers();
	});

	test("of a tool that keeps printing are sent now and then, the latest always", () => {
		const { sent, take } = translate();
		for (let index = 0; index < 100; index++) take(update(`${index}`));
		expect(sent).toHaveLength(1);
		vi.advanceTimersByTime(250);
		expect(sent).toHaveLength(2);
		expect(JSON.stringify(sent[1])).toContain('"99"');
		take(update("100"));
		take({
			type: "tool_execution_end",
			toolCallId: "c1",
			toolName: "bash",
			result: {},
			isError: false,
		});
		vi.advanceTimersByTime(1000);
		expect(sent.map(({ type }) => type)).toEqual([
			"tool_execution_update",
			"tool_execution_update",
			"tool_execution_end",
		]);
		expect(vi.getTimerCount()).toBe(0);
	});

	test("with a huge result are cut and marked", () => {
		const { sent, take } = translate();
		const result = { content: [{ type: "text", text: "x".repeat(600_000) }] };
		take({
			type: "tool_execution_end",
			toolCallId: "c1",
			toolName: "read",
			result,
			isError: false,
		});
		expect(sent[0]).toMatchObject({ truncated: true, toolCallId: "c1", isError: false });
		expect(JSON.stringify(sent[0]).length).toBeLessThan(270_000);
	});

	test("of an answer repeat its usage only when that has changed", () => {
		const { sent, take } = translate();
		const delta = (total: number) => ({
			type: "message_update",
			message: { role: "assistant", usage: { totalTokens: total } },
			assistantMessageEvent: {
				type: "text_delta",
				contentIndex: 0,
				delta: "x",
				partial: { huge: true },
			},
		});
		for (const total of [1, 1, 1, 2]) take(delta(total));
		expect(sent.map((event) => "usage" in event)).toEqual([true, false, false, true]);
		expect(JSON.stringify(sent)).not.toContain("huge");
	});

	test("that wait are dropped when the session closes", () => {
		const { sent, take, translator } = translate();
		take(update("1"));
		take(update("2"));
		translator.close();
		vi.advanceTimersByTime(1000);
		expect(sent).toHaveLength(1);
	});
});
