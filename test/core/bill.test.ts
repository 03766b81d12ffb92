import { expect, test } from "vitest";
import { billOf, promptTokens, ttlOf } from "../../src/core/bill.ts";

test("a bill is read by how each token was paid for", () => {
	const usage = { input: 5, cacheRead: 100, cacheWrite: 40, cacheWrite1h: 30, output: 7 };
	expect(promptTokens(usage)).toEqual({ input: 5, read: 100, write: 40, writeOneHour: 30 });
});

test("what is no count of tokens counts for nothing, and no more can last than was written", () => {
	for (const usage of [undefined, null, "many", { input: "5", cacheRead: -1, cacheWrite: NaN }]) {
		expect(promptTokens(usage)).toEqual({ input: 0, read: 0, write: 0, writeOneHour: 0 });
	}
	expect(promptTokens({ cacheWrite: 10, cacheWrite1h: 99 }).writeOneHour).toBe(10);
});

test("only a request that wrote to the cache tells for how long that lasts", () => {
	expect(ttlOf(promptTokens({ input: 5, cacheRead: 100 }))).toBeUndefined();
	expect(ttlOf(promptTokens({ cacheWrite: 10 }))).toBe("5m");
	expect(ttlOf(promptTokens({ cacheWrite: 10, cacheWrite1h: 10 }))).toBe("1h");
});

test("the bill of an answer says who was asked, when, and for how much", () => {
	const usage = { input: 5, cacheRead: 100, cacheWrite: 40, output: 7 };
	const answer = { role: "assistant", provider: "p", model: "m", timestamp: 1000, usage };
	const tokens = { input: 5, read: 100, write: 40, writeOneHour: 0 };
	expect(billOf(answer)).toEqual({ provider: "p", model: "m", atMs: 1000, tokens, output: 7 });
});

test("there is no bill where nothing was billed, and one that says little is taken as it is", () => {
	for (const message of [undefined, "text", { role: "user", usage: { input: 5 } }]) {
		expect(billOf(message)).toBeUndefined();
	}
	expect(billOf({ role: "assistant", usage: { output: 7 } })).toBeUndefined();
	const vague = { role: "assistant", timestamp: "today", usage: { input: 5 } };
	expect(billOf(vague)).toMatchObject({ provider: "unknown", model: "unknown", atMs: 0 });
	expect(billOf(vague, 1000)?.atMs).toBe(1000);
});

test("a bill counts thinking that the provider dropped or let through, whatever else it reports", () => {
	const transformations = [
		{ type: "thinking_dropped", path: "messages.1.content.0", reason: "prefix_binding_mismatch" },
		{ type: "thinking_dropped", path: "messages.3.content.0", reason: "prefix_binding_mismatch" },
		{ type: "thinking_mismatch_allowed", path: "messages.5.content.0" },
		{ type: "something_new" },
		null,
	];
	const report = { type: "anthropic_input_transformations", details: { transformations } };
	const answer = { role: "assistant", usage: { input: 5 } };
	const thinkingOf = (diagnostics: unknown) => billOf({ ...answer, diagnostics })?.thinking;
	expect(thinkingOf([{ type: "other" }, report])).toEqual({ dropped: 2, allowed: 1 });
	for (const other of [undefined, "text", [], [{ ...report, details: null }], [null]]) {
		expect(thinkingOf(other)).toBeUndefined();
	}
});
