import { describe, expect, test } from "vitest";
import { rulesFor } from "../../src/economy/rules.ts";
import { CacheTracker, type PrefixKey } from "../../src/session/cache-clock.ts";
import type { StartReason } from "../../src/session/host.ts";
import { fakeSession } from "../support/fake-host.ts";

const CLAUDE = { provider: "anthropic", id: "claude-opus-4-5" };
const MINUTE = 60_000;
const WRITTEN = { "5m": { cacheWrite: 10 }, "1h": { cacheWrite: 10, cacheWrite1h: 10 } };
const sent = (more: Partial<PrefixKey> = {}): PrefixKey => ({
	model: "anthropic/claude-opus-4-5",
	thinking: "off",
	head: "prompt",
	tools: "read",
	...more,
});
const answer = (usage: object) => ({ role: "assistant", ...CLAUDE, model: CLAUDE.id, usage });

/** A tracker with a clock of its own. */
function startTracker({
	entries = [] as object[],
	reason = "startup" as StartReason,
	model = CLAUDE,
} = {}) {
	let nowMs = 0;
	const tracker = new CacheTracker({ entries: entries as never, reason, now: () => nowMs });
	const sessionManager = { getBranch: () => [] };
	const ctx = { model, sessionManager, modelRegistry: { find: () => undefined } } as never;
	return {
		tracker,
		to(ms: number) {
			nowMs = ms;
		},
		request(more: Partial<PrefixKey> = {}) {
			tracker.noteRequest(sent(more), rulesFor(model));
			tracker.noteBuilt();
		},
		clock: () => tracker.clockFor(ctx, () => sent()),
		/** Why the next request finds a cold cache. */
		why(more: Partial<PrefixKey> = {}) {
			const { coldness } = tracker.clockFor(ctx, () => sent(more));
			return coldness.cold && coldness.why;
		},
	};
}

/** Why the cache is cold a minute after a request at time zero. */
function why(
	next: Partial<PrefixKey>,
	{ ttl = "5m" as "5m" | "1h", atMs = MINUTE, model = CLAUDE } = {},
) {
	const { tracker, request, to, why } = startTracker({ model });
	request();
	tracker.noteAnswer(answer(WRITTEN[ttl]));
	to(atMs);
	return why(next);
}

describe("the next request", () => {
	test("finds a warm cache soon after another", () => {
		expect(why({})).toBe(false);
		expect(why({}, { atMs: 5 * MINUTE })).toBe("gap");
		expect(why({}, { atMs: 5 * MINUTE, ttl: "1h" })).toBe(false);
	});

	test("finds a cold one with another model, prompt or tools, and thinking where the provider says so", () => {
		expect(why({ model: "anthropic/other" })).toBe("model");
		expect(why({ head: "another" })).toBe("tools");
		expect(why({ tools: "read,bash" })).toBe("tools");
		expect(why({ thinking: "high" })).toBe("thinking");
		const model = { provider: "openai", id: "gpt-5.4" };
		expect(why({ thinking: "high" }, { model })).toBe(false);
	});

	test("is judged without its system prompt before it is built, and without tools where they do not count", () => {
		expect(why({ head: undefined as never })).toBe(false);
		expect(why({ tools: undefined })).toBe(false);
	});

	test("finds a cold one after a compaction, and only that request", () => {
		const { tracker, request, why } = startTracker();
		request();
		tracker.noteCompaction();
		expect(why()).toBe("compaction");
		request();
		expect(why()).toBe(false);
	});
});

test("a request that is being built is judged by the one before it", () => {
	const { tracker, clock, to, request } = startTracker();
	request();
	to(6 * MINUTE);
	tracker.noteRequest(sent(), rulesFor(CLAUDE));
	expect(clock().coldness).toEqual({ cold: true, why: "gap" });
	tracker.noteBuilt();
	expect(clock().coldness).toEqual({ cold: false });
});

describe("a session that was answered before", () => {
	const at = (ms: number) => new Date(ms).toISOString();
	const answered = (ms: number, usage = {}) => ({
		type: "message",
		timestamp: at(ms),
		message: answer(usage),
	});

	test("counts from then; pings prolong it", () => {
		const { tracker, to, why } = startTracker({ entries: [answered(1)] });
		to(4 * MINUTE);
		expect(why()).toBe(false);
		tracker.notePayload({}, "off");
		to(8 * MINUTE);
		expect(why()).toBe(false);
		to(9 * MINUTE);
		expect(why()).toBe("gap");
		const fresh = startTracker();
		fresh.tracker.notePayload({}, "off");
		expect(fresh.why()).toBe("gap");
	});

	test("counts from the start of the last request, not from the end of its answer", () => {
		const slow = { ...answered(4 * MINUTE), message: { ...answer({}), timestamp: 1 } };
		const { to, why } = startTracker({ entries: [slow] });
		to(5 * MINUTE);
		expect(why()).toBe(false);
		to(5 * MINUTE + 1);
		expect(why()).toBe("gap");
	});

	test("does not trust a start that lies after the entry was written", () => {
		const odd = { ...answered(1), message: { ...answer({}), timestamp: 9 * MINUTE } };
		const { to, why } = startTracker({ entries: [odd] });
		to(6 * MINUTE);
		expect(why()).toBe("gap");
	});

	test("counts pings that its entries tell of", () => {
		const ping = { type: "usage", timestamp: at(5 * MINUTE) };
		const { to, why } = startTracker({ entries: [answered(1), ping] });
		to(9 * MINUTE);
		expect(why()).toBe(false);
	});

	test("has what it cached for as long as it was paid for, until a bill states another time", () => {
		const { tracker, request, to, why, clock } = startTracker({
			entries: [answered(1, WRITTEN["1h"])],
		});
		expect(clock().ttl).toBe("1h");
		to(59 * MINUTE);
		expect(why()).toBe(false);
		to(61 * MINUTE);
		expect(why()).toBe("gap");
		request();
		tracker.noteAnswer(answer({ cacheRead: 10 }));
		expect(clock().ttl).toBe("1h");
		tracker.noteAnswer(answer(WRITTEN["5m"]));
		to(67 * MINUTE);
		expect(why()).toBe("gap");
	});

	test("may have been used a moment ago by the session that it was forked from", () => {
		const entries = [answered(1)];
		const { tracker, to, why, request } = startTracker({ entries, reason: "fork" });
		expect(why()).toBe(false);
		to(4 * MINUTE);
		expect(why()).toBe(false);
		const empty = startTracker({ reason: "fork" });
		empty.to(4 * MINUTE);
		empty.tracker.notePayload({}, "off");
		empty.to(8 * MINUTE);
		expect(empty.why()).toBe(false);
		// The diagnosis of its first bill goes by what is known.
		to(30 * MINUTE);
		request();
		tracker.notePayload({}, "off");
		expect(tracker.noteAnswer(answer({ input: 1 }))?.request.gapMs).toBe(30 * MINUTE - 1);
	});
});

test("a prompt that is held for longer than its last write stays warm until the next answer", () => {
	const { tracker, to, request, clock, why } = startTracker();
	request();
	tracker.noteAnswer(answer({ cacheWrite: 7 }));
	clock().noteTtl("1h");
	to(30 * MINUTE);
	expect(why()).toBe(false);
	expect(clock().ttl).toBe("5m");
	request();
	tracker.noteAnswer(answer({ cacheWrite: 7 }));
	to(40 * MINUTE);
	expect(why()).toBe("gap");
});

describe("a bill", () => {
	test("comes with what happened since the one before it, once", () => {
		const { tracker, to, request, clock } = startTracker();
		request();
		tracker.notePayload({ first: true }, "high");
		tracker.noteBranch();
		tracker.noteCompaction();
		clock().notePruned(30);
		clock().notePruned(12);
		const { bill, request: first } = tracker.noteAnswer(answer({ input: 7 })) ?? {};
		expect(first).toEqual({
			payload: { first: true },
			atMs: 0,
			gapMs: 0,
			thinking: "high",
			compacted: true,
			pruned: true,
			removedTokens: 42,
			branched: true,
		});
		expect(bill).toMatchObject({ tokens: { input: 7 } });
		to(MINUTE);
		request();
		tracker.notePayload({}, "off");
		expect(tracker.noteAnswer(answer({ input: 7 }))?.request).toMatchObject({
			gapMs: MINUTE,
			compacted: false,
			pruned: false,
			branched: false,
		});
	});

	test("of a request that was not seen has the time at which it began", () => {
		const { tracker, to } = startTracker();
		to(4 * MINUTE);
		const late = { ...answer({ input: 1 }), timestamp: MINUTE };
		expect(tracker.noteAnswer(late)?.request.atMs).toBe(MINUTE);
		expect(tracker.noteAnswer(answer({ input: 1 }))?.request.atMs).toBe(4 * MINUTE);
	});

	test("has the gap since the start of the one before, however long its answer took", () => {
		const { tracker, to, request, why } = startTracker();
		request();
		tracker.notePayload({}, "off");
		to(4 * MINUTE);
		tracker.noteAnswer(answer(WRITTEN["5m"]));
		to(6 * MINUTE);
		expect(why()).toBe("gap");
		request();
		tracker.notePayload({}, "off");
		expect(tracker.noteAnswer(answer({ input: 1 }))?.request.gapMs).toBe(6 * MINUTE);
	});

	test("of a retry has the gap before its first attempt", () => {
		const { tracker, to, request } = startTracker();
		request();
		tracker.notePayload({}, "off");
		to(10 * MINUTE);
		for (const _ of [1, 2]) {
			request();
			tracker.notePayload({}, "off");
		}
		expect(tracker.noteAnswer(answer({}))).toBeUndefined();
		expect(tracker.noteAnswer(answer({ input: 1 }))?.request.gapMs).toBe(10 * MINUTE);
	});

	test("has the gap since something left: a request that was only built counts for nothing", () => {
		const { tracker, to, request } = startTracker();
		request();
		tracker.notePayload({}, "off");
		to(4 * MINUTE);
		request();
		to(8 * MINUTE);
		request();
		tracker.notePayload({}, "off");
		expect(tracker.noteAnswer(answer({ input: 1 }))?.request.gapMs).toBe(8 * MINUTE);
	});
});

test("in a session, tools that changed since the last request make the cache cold for every system", async () => {
	const { run, emit, view, state } = fakeSession();
	await run([]);
	await emit("context_with_system", { messages: [{ role: "system", content: "prompt" }] });
	expect(view().cache.coldness).toEqual({ cold: false });
	state.tools = ["read"];
	expect(view().cache.coldness).toEqual({ cold: true, why: "tools" });
});
