import { expect, test } from "vitest";
import { UpdateQueue } from "../../src/acp/update-queue.ts";
import { UpdateTranslator } from "../../src/acp/updates.ts";
import { fc, runs } from "../support/property.ts";
import { textOf } from "./editor.ts";

const translator = () =>
	new UpdateTranslator("/project", (severity, title) => ({
		...{ sessionUpdate: "notice", severity, title },
	}));

const assistant = (content: object[], timestamp = 1) => ({ role: "assistant", content, timestamp });
const delta = (text: string) => ({
	type: "message_update" as const,
	assistantMessageEvent: { type: "text_delta" as const, contentIndex: 0, delta: text },
});

test("a text is shown whole and once, wherever deltas are lost", () => {
	const texts = fc.array(fc.string({ minLength: 1 }), { minLength: 1, maxLength: 8 });
	fc.assert(
		fc.property(texts, fc.nat(8), fc.nat(8), (parts, from, length) => {
			const updates = translator();
			const whole = parts.join("");
			const start = { type: "message_start" as const, message: assistant([]) };
			const sent = updates.event(start);
			for (const [at, part] of parts.entries()) {
				if (at === from && length > 0) updates.gap();
				if (at < from || at >= from + length) sent.push(...updates.event(delta(part)));
			}
			const message = assistant([{ type: "text", text: whole }]);
			sent.push(...updates.event({ type: "message_end", message }));
			expect(textOf(sent)).toBe(whole);
		}),
		{ numRuns: runs(200) },
	);
});

test("a message that began before the subscription is shown at its end", () => {
	const updates = translator();
	expect(updates.event(delta("lo"))).toEqual([]);
	const message = assistant([{ type: "text", text: "Hello" }]);
	expect(textOf(updates.event({ type: "message_end", message }))).toBe("Hello");
});

test("what the history has is not shown again as an event", () => {
	const updates = translator();
	const call = { type: "toolCall", id: "c1", name: "read", arguments: { path: "a.ts", offset: 7 } };
	const result = { role: "toolResult", toolCallId: "c1", toolName: "read", content: [] };
	const message = assistant([{ type: "text", text: "Hi" }, call]);
	const entry = (id: string, parentId: string | null, value: object) => ({
		...{ type: "message", id, parentId, timestamp: "2026-01-01T00:00:00Z" },
		message: value as { role: string },
	});
	const history = updates.history([entry("1", null, message), entry("2", "1", result)], "2");
	expect(textOf(history)).toBe("Hi");
	expect(history).toContainEqual(
		expect.objectContaining({ locations: [{ path: "/project/a.ts", line: 7 }] }),
	);
	expect(history.at(-1)).toMatchObject({ toolCallId: "c1", status: "completed" });
	expect(updates.endOpenCalls()).toEqual([]);
	const again = [
		...updates.event({ type: "message_end", message }),
		...updates.event({
			type: "tool_execution_start",
			toolCallId: "c1",
			toolName: "read",
			args: {},
		}),
	];
	expect(again).toEqual([]);
});

test("a history whose entries form a cycle ends", () => {
	const message = { role: "user", content: "Hi", timestamp: 1 };
	const entry = (id: string, parentId: string) => ({
		...{ type: "message", id, parentId, timestamp: "", message },
	});
	const history = translator().history([entry("1", "2"), entry("2", "1")], "2");
	expect(history).toHaveLength(2);
});

test("a call without a result ends with its run, and a failed edit is not shown as a diff", () => {
	const updates = translator();
	const args = { path: "a.ts", edits: [{ oldText: "a", newText: "b" }] };
	const call = (toolCallId: string) => ({ toolCallId, toolName: "edit" });
	const started = updates.event({ type: "tool_execution_start", ...call("1"), args });
	const diff = { type: "diff", path: "/project/a.ts", oldText: "a", newText: "b" };
	expect(started.at(-1)).toMatchObject({ status: "in_progress", kind: "edit", content: [diff] });
	const result = { content: [{ type: "text", text: "no ```` match" }] };
	const failed = { type: "tool_execution_end" as const, ...call("1"), result, isError: true };
	const text = "`````\nno ```` match\n`````";
	expect(updates.event(failed)).toMatchObject([
		{ status: "failed", content: [{ type: "content", content: { text } }] },
	]);
	updates.event({ type: "tool_execution_start", ...call("2"), args });
	const settled = updates.event({ type: "agent_settled", interrupted: true });
	expect(settled).toMatchObject([
		{ toolCallId: "2", status: "failed" },
		{ sessionUpdate: "notice", severity: "error" },
	]);
});

test("a slow editor gets joined texts, in order", async () => {
	const sent: string[] = [];
	let free = Promise.withResolvers<void>();
	const queue = new UpdateQueue(async (update) => {
		sent.push(textOf([update]));
		await free.promise;
	});
	const chunk = (text: string, messageId = "1") => ({
		...{ sessionUpdate: "agent_message_chunk" as const, messageId },
		content: { type: "text" as const, text },
	});
	queue.push([chunk("a")]);
	queue.push([chunk("b"), chunk("c"), chunk("d", "2")]);
	expect(sent).toEqual(["a"]);
	free.resolve();
	await queue.flushed();
	expect(sent).toEqual(["a", "bc", "d"]);
	free = Promise.withResolvers();
});
