import { expect, test } from "vitest";
import { promptTokens, ttlOf } from "../../src/extension/prompt-tokens.ts";

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
