import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { inTime } from "../../src/core/in-time.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("what comes in time is given, and no timer is left", async () => {
	expect(await inTime(Promise.resolve("done"), 1000)).toBe("done");
	expect(vi.getTimerCount()).toBe(0);
});

test("a failure in time is thrown, and no timer is left", async () => {
	await expect(inTime(Promise.reject(new Error("broken")), 1000)).rejects.toThrow("broken");
	expect(vi.getTimerCount()).toBe(0);
});

test("what takes longer is not waited for", async () => {
	const waiting = inTime(new Promise(() => {}), 1000);
	await vi.advanceTimersByTimeAsync(1000);
	expect(await waiting).toBeUndefined();
});
