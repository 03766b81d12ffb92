import { describe, expect, test } from "vitest";
import { type Grouping, groupRows, UsageAccount } from "../../src/usage/account.ts";
import type { RequestUsage } from "../../src/usage/file-usage.ts";
import { readUsage } from "../../src/usage/read-usage.ts";
import { SessionWriter } from "../economy/replay/session-writer.ts";
import { ClaudeWriter } from "../importers/claude-writer.ts";

const OPUS = "anthropic/claude-opus-4-5";

describe("sums", () => {
	test("a transcript counts to the token: the last line of an answer, every kind of token", async () => {
		const writer = new ClaudeWriter();
		writer.user("Hello");
		writer.text("m1", "one", { input: 3, write: 20_000, hour: 20_000, output: 1 });
		writer.text("m1", "two", { input: 3, write: 20_000, hour: 20_000, output: 50 });
		writer.user("Again");
		writer.text("m2", "three", { input: 5, read: 20_003, write: 120, output: 7 });
		const { total, rows } = await reportOf(writer.save());
		expect(total.tokens).toEqual({
			...{ input: 8, read: 20_003, write: 20_120, writeOneHour: 20_000, output: 57 },
		});
		expect(rows).toEqual([
			expect.objectContaining({
				...{ agent: "claude-code", project: "/w/app", model: OPUS, requests: 2, unpriced: 0 },
			}),
		]);
		// Per million: input 5, one-hour writes 10, reads 0.5, writes 6.25, output 25.
		const dollars = 8 * 5 + 20_000 * 10 + 20_003 * 0.5 + 120 * 6.25 + 57 * 25;
		expect(total.dollars).toBeCloseTo(dollars / 1e6, 10);
	});

	test("a session of pi counts its answers, those that failed after they were billed too", async () => {
		const writer = new SessionWriter();
		writer.user("Hello");
		writer.assistant("one", { input: 10, cacheWrite: 9000, output: 20 });
		writer.assistant("cut", { input: 4, cacheRead: 9000, output: 2 }, { stopReason: "aborted" });
		writer.assistant("none", {}, { stopReason: "error" });
		const { total, rows } = await reportOf(writer.save());
		expect(total).toMatchObject({
			requests: 2,
			tokens: { input: 14, read: 9000, write: 9000, writeOneHour: 0, output: 22 },
		});
		expect(rows).toMatchObject([{ agent: "pi", project: "/project" }]);
	});

	test("requests of the demo count nowhere: their prices are made up", () => {
		const account = new UsageAccount();
		const tokens = { input: 1, read: 2, write: 3, writeOneHour: 0, output: 4 };
		const request = (model: string): RequestUsage => ({ model, atMs: 0, tokens, isFirst: true });
		const requests = [request("strata-demo/scripted"), request(OPUS)];
		account.add("a", { sessions: [{ agent: "pi", project: "/w", requests }], skipped: 0 });
		const { total, rows } = account.report();
		expect(total.requests).toBe(1);
		expect(rows.map(({ model }) => model)).toEqual([OPUS]);
	});

	test("writes cost as much as input where the table has no price for them", () => {
		const account = new UsageAccount();
		const tokens = { ...TOKENS, input: 0, write: 100_000, output: 0 };
		account.add("a", usage([request({ model: "openai/gpt-5.5", tokens })]));
		const plain = new UsageAccount();
		const asInput = { ...tokens, input: 100_000, write: 0 };
		plain.add("a", usage([request({ model: "openai/gpt-5.5", tokens: asInput })]));
		expect(account.report().total.dollars).toBeGreaterThan(0.1);
		expect(account.report().total.dollars).toBe(plain.report().total.dollars);
	});

	test("a request at another speed or service tier has no list price", async () => {
		const writer = new ClaudeWriter();
		writer.user("Hello");
		const usage = { input_tokens: 10, output_tokens: 5, service_tier: "standard" };
		writer.text("m1", "slow", {}, { more: { usage: { ...usage, speed: "standard" } } });
		writer.text("m2", "fast", {}, { more: { usage: { ...usage, speed: "fast" } } });
		const { total, unpricedModels, dearest } = await reportOf(writer.save());
		expect(total).toMatchObject({ requests: 2, unpriced: 1, tokens: { input: 20 } });
		expect(unpricedModels).toEqual([`${OPUS} (fast)`]);
		expect(dearest).toHaveLength(1);
	});

	test("sub-agents count, inside a transcript and in files of their own", async () => {
		const writer = new ClaudeWriter();
		writer.user("Hello");
		writer.text("m1", "main", { write: 9000 });
		const agent = { isSidechain: true, agentId: "a1", parent: null };
		writer.text("m2", "inside", { write: 500 }, agent);
		const own = new ClaudeWriter();
		own.common = { ...own.common, isSidechain: true, agentId: "a2" };
		own.text("m3", "of its own", { write: 70 });
		const { total, dearest } = await reportOf(writer.save(), own.save("agent-a2.jsonl"));
		expect(total).toMatchObject({ requests: 3, tokens: { write: 9570 } });
		expect(dearest.map(({ isSubagent }) => isSubagent)).toEqual([false, true, true]);
	});
});

describe("copies", () => {
	test("a request that several files hold counts once, with the output of the complete copy", async () => {
		const [cut, whole] = [new ClaudeWriter(), new ClaudeWriter()];
		for (const writer of [cut, whole]) {
			writer.user("Hello");
			writer.text("m1", "one", { write: 9000, output: 3 });
		}
		whole.text("m1", "two", { write: 9000, output: 80 });
		whole.text("m2", "three", { read: 9000, output: 5 });
		const files = [cut.save("a.jsonl"), whole.save("b.jsonl")];
		const expected = { requests: 2, tokens: { read: 9000, write: 9000, output: 85 } };
		expect((await reportOf(...files)).total).toMatchObject(expected);
		expect((await reportOf(...files.toReversed())).total).toMatchObject(expected);
	});

	test("a miss stays with its request, whatever copies stand before it", async () => {
		const writer = new SessionWriter();
		writer.user("Hello");
		for (const at of [1, 2]) {
			const fields = { responseId: "r1" };
			writer.assistant("one", { cacheWrite: 9000, output: at }, fields);
		}
		writer.user("Again");
		writer.assistant("two", { cacheWrite: 9100, output: 1 }, { responseId: "r2" });
		const { sessions } = await readUsage(writer.save());
		const missed = sessions.flatMap(({ requests }) =>
			requests.map(({ id = "", miss }) => [id.includes("r2"), miss !== undefined]),
		);
		expect(missed.filter(([, isMissed]) => isMissed)).toEqual([[true, true]]);
	});

	test("requests without an id are never taken for copies", () => {
		const account = new UsageAccount();
		for (const file of ["a", "b"]) account.add(file, usage([request(), request()]));
		expect(account.report().total.requests).toBe(4);
	});

	test("ids of different agents do not collide", () => {
		const account = new UsageAccount();
		account.add("a", usage([request({ id: "x" })]));
		account.add("b", usage([request({ id: "x" })], "pi"));
		expect(account.report().total.requests).toBe(2);
	});
});

describe("groups", () => {
	test("days are in local time: midnight parts two of them", () => {
		const before = new Date(2026, 10, 15, 23, 59, 59).getTime();
		const after = new Date(2026, 10, 16, 0, 0, 1).getTime();
		expect(names("day", request({ atMs: before }), request({ atMs: after }))).toEqual([
			"2026-11-15",
			"2026-11-16",
		]);
	});

	test("a week is its Monday, also across a year and a change of the clock", () => {
		const at = (year: number, month: number, day: number) =>
			request({ atMs: new Date(year, month - 1, day, 0, 30).getTime() });
		const days = [
			at(2026, 12, 28),
			at(2027, 1, 3),
			at(2027, 1, 4),
			at(2026, 10, 25),
			at(2026, 3, 29),
		];
		expect(names("week", ...days)).toEqual([
			...["2026-03-23", "2026-10-19", "2026-12-28", "2027-01-04"],
		]);
	});

	test("models, agents and projects: the dearest first", () => {
		const account = new UsageAccount();
		account.add("a", usage([request({ model: "anthropic/claude-haiku-4-5" })], "pi", "/cheap"));
		account.add("b", usage([request()], "claude-code", "/dear"));
		const { rows } = account.report();
		expect(groupRows(rows, "model").map(({ name }) => name)).toEqual([
			OPUS,
			"anthropic/claude-haiku-4-5",
		]);
		expect(groupRows(rows, "agent").map(({ name }) => name)).toEqual(["claude-code", "pi"]);
		expect(groupRows(rows, "project").map(({ name }) => name)).toEqual(["/dear", "/cheap"]);
	});

	test("a selection leaves out earlier requests and other agents", () => {
		const account = new UsageAccount({ sinceMs: 1000, agents: ["pi"] });
		account.add("a", usage([request({ atMs: 999 }), request({ atMs: 1000 })], "pi"));
		account.add("b", usage([request({ atMs: 2000 })]));
		expect(account.report().total.requests).toBe(1);
	});

	function names(by: Grouping, ...requests: RequestUsage[]): string[] {
		const account = new UsageAccount();
		account.add("a", usage(requests));
		return groupRows(account.report().rows, by).map(({ name }) => name);
	}
});

describe("prices and reasons", () => {
	test("unknown prices give no dollars, and are named", () => {
		const account = new UsageAccount();
		const miss = { cause: "expired", tokens: 5000, cost: 4000 } as const;
		account.add("a", usage([request({ model: "acme/thinker-1", miss })]));
		const { total, dearest, unpricedModels } = account.report();
		expect(total).not.toHaveProperty("dollars");
		expect(total).toMatchObject({ unpriced: 1, misses: { expired: { count: 1, tokens: 5000 } } });
		expect(total.misses.expired).not.toHaveProperty("dollars");
		expect(dearest).toEqual([]);
		expect(unpricedModels).toEqual(["acme/thinker-1"]);
	});

	test("known and unknown prices together: dollars of the known, and how many are missing", () => {
		const account = new UsageAccount();
		account.add("a", usage([request(), request({ model: "acme/thinker-1" })]));
		const { total } = account.report();
		expect(total.dollars).toBeGreaterThan(0);
		expect(total).toMatchObject({ requests: 2, unpriced: 1 });
	});

	test("a miss costs what its tokens cost more than a read", async () => {
		const writer = new ClaudeWriter();
		writer.user("Hello");
		writer.text("m1", "one", { input: 0, write: 20_000 });
		writer.atMs += 3_600_000;
		writer.user("Late");
		writer.text("m2", "two", { input: 0, write: 20_100 }, { more: NOT_FOUND });
		const { total, dearest } = await reportOf(writer.save());
		const { dollars, ...expired } = total.misses.expired ?? {};
		expect(expired).toEqual({ count: 1, tokens: 20_000 });
		expect(dollars).toBeCloseTo((20_000 * (6.25 - 0.5)) / 1e6, 10);
		expect(dearest).toMatchObject([
			{ reason: "expired", providerReason: "previous_message_not_found", missDollars: dollars },
			{ reason: "first request" },
		]);
	});

	test.each([
		["output", { input: 0, read: 100, write: 100, writeOneHour: 0, output: 5000 }],
		["large new content", { input: 0, read: 100, write: 9000, writeOneHour: 0, output: 10 }],
		["long context", { input: 0, read: 500_000, write: 100, writeOneHour: 0, output: 10 }],
	])("a request without a miss is dear by its largest part: %s", (reason, tokens) => {
		const account = new UsageAccount();
		account.add("a", usage([request({ tokens })]));
		expect(account.report().dearest).toMatchObject([{ reason, missDollars: 0 }]);
	});

	test("the ten dearest are listed, the dearest first", () => {
		const account = new UsageAccount();
		const outputs = Array.from({ length: 30 }, (_, at) => 100 + ((at * 7) % 30));
		const made = outputs.map((output) => request({ tokens: { ...TOKENS, output } }));
		account.add("a", usage(made));
		const { dearest } = account.report();
		expect(dearest.map(({ tokens }) => tokens.output)).toEqual(
			Array.from({ length: 10 }, (_, at) => 129 - at),
		);
	});
});

const NOT_FOUND = {
	diagnostics: { cache_miss_reason: { type: "previous_message_not_found" } },
};

const TOKENS = { input: 10, read: 0, write: 0, writeOneHour: 0, output: 5 };

function request(fields: Partial<RequestUsage> = {}): RequestUsage {
	return { atMs: Date.UTC(2026, 5, 1, 12), model: OPUS, tokens: TOKENS, ...fields };
}

function usage(
	requests: RequestUsage[],
	agent: "pi" | "claude-code" = "claude-code",
	project = "/w/app",
) {
	return { sessions: [{ agent, project, requests }], skipped: 0 };
}

async function reportOf(...files: string[]) {
	const account = new UsageAccount();
	for (const file of files) account.add(file, await readUsage(file));
	return account.report();
}
