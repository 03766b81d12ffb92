import { describe, expect, test } from "vitest";
import { rulesFor } from "../../src/economy/rules.ts";
import { createCacheTimer, type SentWith } from "../../src/session/cache-clock.ts";
import type { StartReason } from "../../src/session/host.ts";
import { fakeSession } from "../support/fake-host.ts";

const CLAUDE = { provider: "anthropic", id: "claude-opus-4-5" };
const MINUTE = 60_000;
const WRITTEN = { "5m": { cacheWrite: 10 }, "1h": { cacheWrite: 10, cacheWrite1h: 10 } };
const sent = (more: Partial<SentWith> = {}): SentWith => ({
	model: "anthropic/claude-opus-4-5",
	thinking: "off",
	head: "prompt",
	tools: "read",
	...more,
});
const answer = (usage: object) => ({ role: "assistant", ...CLAUDE, model: CLAUDE.id, usage });

/** A timer with a clock of its own. */
function startTimer({
	entries = [] as object[],
	reason = "startup" as StartReason,
	model = CLAUDE,
} = {}) {
	let nowMs = 0;
	const timer = createCacheTimer(() => nowMs);
	const sessionManager = { getEntries: () => entries, getBranch: () => [] };
	const ctx = { model, sessionManager, modelRegistry: { find: () => undefined } } as never;
	timer.open(ctx, reason);
	return {
		timer,
		to(ms: number) {
			nowMs = ms;
		},
		request(more: Partial<SentWith> = {}) {
			timer.noteRequest(sent(more), rulesFor(model));
			timer.noteBuilt();
		},
		clock: () => timer.at(ctx, () => sent()),
		/** Why the next request finds a cold cache. */
		why(more: Partial<SentWith> = {}) {
			const { coldness } = timer.at(ctx, () => sent(more));
			return coldness.cold && coldness.why;
		},
	};
}

/** Why the cache is cold a minute after a request at time zero. */
function why(
	next: Partial<SentWith>,
	{ ttl = "5m" as "5m" | "1h", atMs = MINUTE, model = CLAUDE } = {},
) {
	const { timer, request, to, why } = startTimer({ model });
	request();
	timer.noteAnswer(answer(WRITTEN[ttl]));
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
		const { timer, request, why } = startTimer();
		request();
		timer.noteCompaction();
		expect(why()).toBe("compaction");
		request();
		expect(why()).toBe(false);
	});
});

test("a request that is being built is judged by the one before it", () => {
	const { timer, clock, to, request } = startTimer();
	request();
	to(6 * MINUTE);
	timer.noteRequest(sent(), rulesFor(CLAUDE));
	expect(clock().coldness).toEqual({ cold: true, why: "gap" });
	timer.noteBuilt();
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
		const { timer, to, why } = startTimer({ entries: [answered(1)] });
		to(4 * MINUTE);
		expect(why()).toBe(false);
		timer.notePayload({}, "off");
		to(8 * MINUTE);
		expect(why()).toBe(false);
		to(9 * MINUTE);
		expect(why()).toBe("gap");
		const fresh = startTimer();
		fresh.timer.notePayload({}, "off");
		expect(fresh.why()).toBe("gap");
	});

	test("counts pings that its entries tell of", () => {
		const ping = { type: "usage", timestamp: at(5 * MINUTE) };
		const { to, why } = startTimer({ entries: [answered(1), ping] });
		to(9 * MINUTE);
		expect(why()).toBe(false);
	});

	test("has what it cached for as long as it was paid for, until a bill states another time", () => {
		const { timer, request, to, why, clock } = startTimer({
			entries: [answered(1, WRITTEN["1h"])],
		});
		expect(clock().ttl).toBe("1h");
		to(59 * MINUTE);
		expect(why()).toBe(false);
		to(61 * MINUTE);
		expect(why()).toBe("gap");
		request();
		timer.noteAnswer(answer({ cacheRead: 10 }));
		expect(clock().ttl).toBe("1h");
		timer.noteAnswer(answer(WRITTEN["5m"]));
		to(67 * MINUTE);
		expect(why()).toBe("gap");
	});

	test("may have been used a moment ago by the session that it was forked from", () => {
		const entries = [answered(1)];
		const { timer, to, why, request } = startTimer({ entries, reason: "fork" });
		expect(why()).toBe(false);
		to(4 * MINUTE);
		expect(why()).toBe(false);
		const empty = startTimer({ reason: "fork" });
		empty.to(4 * MINUTE);
		empty.timer.notePayload({}, "off");
		empty.to(8 * MINUTE);
		expect(empty.why()).toBe(false);
		// The diagnosis of its first bill goes by what is known.
		to(30 * MINUTE);
		request();
		timer.notePayload({}, "off");
		expect(timer.noteAnswer(answer({ input: 1 }))?.request.gapMs).toBe(30 * MINUTE - 1);
	});
});

describe("a bill", () => {
	test("comes with what happened since the one before it, once", () => {
		const { timer, to, request, clock } = startTimer();
		request();
		timer.notePayload({ first: true }, "high");
		timer.noteBranch();
		timer.noteCompaction();
		clock().notePruned();
		const { bill, request: first } = timer.noteAnswer(answer({ input: 7 })) ?? {};
		expect(first).toEqual({
			payload: { first: true },
			atMs: 0,
			gapMs: 0,
			thinking: "high",
			compacted: true,
			pruned: true,
			branched: true,
		});
		expect(bill).toMatchObject({ tokens: { input: 7 } });
		to(MINUTE);
		request();
		timer.notePayload({}, "off");
		expect(timer.noteAnswer(answer({ input: 7 }))?.request).toMatchObject({
			gapMs: MINUTE,
			compacted: false,
			pruned: false,
			branched: false,
		});
	});

	test("of a retry has the gap before its first attempt", () => {
		const { timer, to, request } = startTimer();
		request();
		timer.notePayload({}, "off");
		to(10 * MINUTE);
		for (const _ of [1, 2]) {
			request();
			timer.notePayload({}, "off");
		}
		expect(timer.noteAnswer(answer({}))).toBeUndefined();
		expect(timer.noteAnswer(answer({ input: 1 }))?.request.gapMs).toBe(10 * MINUTE);
	});

	test("has the gap since something left: a request that was only built counts for nothing", () => {
		const { timer, to, request } = startTimer();
		request();
		timer.notePayload({}, "off");
		to(4 * MINUTE);
		request();
		to(8 * MINUTE);
		request();
		timer.notePayload({}, "off");
		expect(timer.noteAnswer(answer({ input: 1 }))?.request.gapMs).toBe(8 * MINUTE);
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
