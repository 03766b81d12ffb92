import { expect, test } from "vitest";
import { isCold, rulesFor } from "../../src/economy/index.ts";
import { createColdWatch, type SentWith } from "../../src/extension/cold-watch.ts";

const claude = rulesFor({ provider: "anthropic", id: "claude-opus-4-5" });
const MINUTE = 60_000;
const sent = (more: Partial<SentWith> = {}): SentWith => ({
	atMs: 0,
	model: "anthropic/claude-opus-4-5",
	thinking: "off",
	head: "prompt",
	...more,
});

/** Why the cache is cold for the next request, after one at time zero. */
function why(next: Partial<SentWith>, ttl: "5m" | "1h" = "5m", rules = claude) {
	const watch = createColdWatch();
	watch.noteSent(sent());
	const coldness = isCold(watch.since(sent({ atMs: MINUTE, ...next }), rules, ttl));
	return coldness.cold && coldness.why;
}

test("a request soon after another finds a warm cache", () => {
	expect(why({})).toBe(false);
	expect(why({ atMs: 5 * MINUTE })).toBe("gap");
	expect(why({ atMs: 5 * MINUTE }, "1h")).toBe(false);
});

test("another model, prompt or tools make it cold, and thinking where the provider says so", () => {
	expect(why({ model: "anthropic/other" })).toBe("model");
	expect(why({ head: "another" })).toBe("tools");
	expect(why({ thinking: "high" })).toBe("thinking");
	const openai = rulesFor({ provider: "openai", id: "gpt-5.4" });
	expect(why({ thinking: "high" }, "5m", openai)).toBe(false);
});

test("a compaction makes the next request cold, and only that", () => {
	const watch = createColdWatch(0);
	const cold = () => isCold(watch.since(sent({ atMs: MINUTE }), claude, "5m")).cold;
	watch.noteCompaction();
	expect(cold()).toBe(true);
	watch.noteSent(sent({ atMs: MINUTE }));
	expect(cold()).toBe(false);
});

test("a session that was answered before counts from then; pings prolong it", () => {
	const watch = createColdWatch(0);
	const cold = (atMs: number) => isCold(watch.since(sent({ atMs }), claude, "5m")).cold;
	expect(cold(4 * MINUTE)).toBe(false);
	expect(cold(6 * MINUTE)).toBe(true);
	watch.noteUse(4 * MINUTE);
	expect(cold(6 * MINUTE)).toBe(false);
	const fresh = createColdWatch();
	fresh.noteUse(0);
	expect(isCold(fresh.since(sent(), claude, "5m")).cold).toBe(true);
});

test("what was cached before the session was opened lives as long as it was paid for", () => {
	const watch = createColdWatch(0, "1h");
	const cold = (atMs: number) => isCold(watch.since(sent({ atMs }), claude, "5m")).cold;
	expect(cold(59 * MINUTE)).toBe(false);
	expect(cold(60 * MINUTE)).toBe(true);
	watch.noteSent(sent());
	expect(cold(6 * MINUTE)).toBe(true);
});
