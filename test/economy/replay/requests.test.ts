import { describe, expect, test } from "vitest";
import { createCalibration } from "../../../src/economy/replay/assembly.ts";
import {
	knownModel,
	type ReplayModel,
	type ReplayPolicy,
	replayPolicies,
	runPolicy,
	type Step,
} from "../../../src/economy/replay/index.ts";
import { rebuildRequests } from "../../../src/economy/replay/requests.ts";
import { fc, runs } from "../../support/property.ts";
import { readSessionFile } from "../../support/read-session-file.ts";
import { SessionWriter, type TestUsage, testModel } from "./session-writer.ts";

describe("rebuilding the requests of a session", () => {
	test("makes one of every billed answer, with what stood before it", async () => {
		const writer = new SessionWriter();
		writer.user("hello");
		writer.assistant("failed", {}, { stopReason: "error" });
		writer.assistant([writer.call("c1", "bash", { command: "ls" })], { input: 100, output: 20 });
		writer.result("c1", "bash", "a.ts");
		writer.assistant("done", { cacheRead: 100, cacheWrite: 40, output: 5 });
		const steps = [...(await writer.replay()).steps()];
		expect(steps.map(labels)).toEqual([
			["system prompt and tools (not in the file)", "user message"],
			[
				"system prompt and tools (not in the file)",
				"user message",
				"call of bash",
				"result of bash",
			],
		]);
		expect(steps[1]?.billed).toEqual({ input: 0, read: 100, write: 40, writeOneHour: 0 });
	});

	test("marks calls and results, replaced ones too, since a run of either is one position", async () => {
		const writer = new SessionWriter();
		writer.user("list");
		const calls = ["c1", "c2"].map((id) => writer.call(id, "bash", { command: "ls" }));
		writer.assistant(calls, { input: 100, output: 20 });
		const first = writer.result("c1", "bash", "a.ts");
		writer.result("c2", "bash", "b.ts");
		writer.entry("context_edit", { targetId: first, replacement: { content: "gone" } });
		writer.assistant("done", { input: 200 });
		const [, second] = [...(await writer.replay()).steps()];
		expect(second?.blocks.map(({ run }) => run)).toEqual([
			...Array(2),
			...["calls", "calls", "results", "results"],
		]);
	});

	test("gives a block the size by which the bill grew", async () => {
		const writer = new SessionWriter();
		writer.user("hello");
		writer.assistant([writer.call("c1", "bash", { command: "ls" })], { input: 3000, output: 20 });
		writer.result("c1", "bash", "x".repeat(400)); // 100 tokens by rule of thumb, 150 in truth
		writer.assistant("done", { input: 3170 });
		const [, second] = [...(await writer.replay()).steps()];
		expect(second?.blocks.map(({ tokens }) => tokens)).toEqual([2998, 2, 20, 150]);
	});

	test("the tokens of every request add up to its bill, whatever the bills say", {
		tags: "slow",
	}, async () => {
		await fc.assert(
			fc.asyncProperty(
				fc.array(fc.record({ prompt: fc.integer({ min: 1, max: 200_000 }), text: fc.string() }), {
					minLength: 1,
					maxLength: 12,
				}),
				async (turns) => {
					const writer = new SessionWriter();
					for (const { prompt, text } of turns) {
						writer.user(`question ${text}`);
						writer.assistant(`answer ${text}`, { input: prompt, output: text.length });
					}
					const session = await writer.replay();
					for (const { blocks, billed } of session.steps()) {
						expect(blocks.reduce((sum, { tokens }) => sum + tokens, 0)).toBe(billed.input);
						for (const { tokens } of blocks) expect(tokens).toBeGreaterThanOrEqual(0);
					}
				},
			),
			{ numRuns: runs(60) },
		);
	});

	describe("of a model without documented rules", () => {
		const glm = { provider: "some-gateway", model: "glm-5.2" };

		test("bills writes as plain input if the cache was read and no write was ever billed", async () => {
			const session = await unknownModel([{ input: 5000 }, { input: 920, cacheRead: 4992 }]);
			for (const { model } of session.bills) {
				expect(model.rules).toMatchObject({ writeRatio: 1, writeOneHourRatio: 1 });
				expect(model.rules.because).toContain("no writes");
			}
			const costs = ["append-only", "billed"].map((name) => {
				const policy = replayPolicies.find((found) => found.name === name) as ReplayPolicy;
				return runPolicy(policy, session).cost;
			});
			expect(costs[0]).toBe(costs[1]);
		});

		test.each([
			["a write was billed", [{ input: 5000 }, { cacheRead: 4992, cacheWrite: 920 }], knownModel],
			["nothing shows that anything was cached", [{ input: 5000 }, { input: 5920 }], knownModel],
			[
				"another model is asked about",
				[{ input: 5000 }, { input: 920, cacheRead: 4992 }],
				() => knownModel({ provider: "another", id: "unheard-of" }),
			],
		])("keeps the cautious price if %s", async (_, bills, modelFor) => {
			const session = await unknownModel(bills, modelFor);
			for (const { model } of session.bills) expect(model.rules.writeRatio).toBe(1.25);
		});

		test("does not doubt rules that are documented", async () => {
			const writer = new SessionWriter();
			writer.user("a");
			writer.assistant("b", { input: 5000 });
			writer.user("c");
			writer.assistant("d", { input: 1000, cacheRead: 5000 });
			for (const { model } of (await writer.replay()).bills) {
				expect(model.rules.writeRatio).toBe(1.25);
			}
		});

		async function unknownModel(
			bills: readonly TestUsage[],
			modelFor: (name: ReplayModel["name"]) => ReplayModel = knownModel,
		) {
			const writer = new SessionWriter();
			for (const bill of bills) {
				writer.user("go on");
				writer.assistant("done", bill, glm);
			}
			return rebuildRequests(await readSessionFile(writer.save()), modelFor);
		}
	});

	test("takes system prompt and tools from the file where it has them, and names their changes", async () => {
		const writer = new SessionWriter();
		const system = (fields: object) =>
			writer.entry("message", { message: { role: "system", content: "", ...fields } });
		const read = { name: "read", description: "reads" };
		system({ sections: { preamble: "You are …", cwd: "/p" }, toolsAdded: [read] });
		writer.user("a");
		writer.assistant("b", { input: 1000 });
		system({ sections: { cwd: "/q" } });
		writer.user("c");
		writer.assistant("d", { input: 1100 });
		system({ toolsAdded: [{ name: "write" }] });
		writer.user("e");
		writer.assistant("f", { input: 1200 });
		system({ sections: { cwd: "/q" } });
		writer.user("g");
		writer.assistant("h", { input: 1300 });
		const steps = [...(await writer.replay()).steps()];
		expect(labels(steps[0] as Step)).toEqual(["tools", "system prompt", "user message"]);
		expect(steps.map(({ changes }) => [...changes])).toEqual([[], ["system"], ["tools"], []]);
	});

	test("names a change of model, thinking and branch, a compaction and an edit", async () => {
		const writer = new SessionWriter();
		const first = writer.user("a");
		writer.assistant("b", { input: 1000 });
		writer.entry("thinking_level_change", { thinkingLevel: "high" });
		writer.user("c");
		writer.assistant("d", { input: 1100 });
		const kept = writer.user("e");
		writer.assistant("f", { input: 1200 }, { model: "claude-sonnet-4-5" });
		writer.entry("context_edit", { targetId: kept, replacement: { content: "short" } });
		writer.user("g");
		writer.assistant("h", { input: 1300 }, { model: "claude-sonnet-4-5" });
		writer.entry("compaction", { summary: "so far", firstKeptEntryId: kept });
		writer.user("i");
		writer.assistant("j", { input: 900 }, { model: "claude-sonnet-4-5" });
		writer.leaf = first;
		writer.user("k");
		writer.assistant("l", { input: 1000 }, { model: "claude-sonnet-4-5" });
		const steps = [...(await writer.replay()).steps()];
		expect(steps.map(({ changes }) => [...changes])).toEqual([
			[],
			["thinking"],
			["model"],
			["edit"],
			["compaction"],
			["branch", "thinking"],
		]);
		expect(labels(steps[4] as Step)).toEqual([
			"system prompt and tools (not in the file)",
			"summary of a compaction",
			"replaced content",
			"answer",
			"user message",
			"answer",
			"user message",
		]);
	});

	test("a ping that keeps the cache warm is the request before it once more", async () => {
		const writer = new SessionWriter();
		writer.user("a");
		writer.assistant("b", { cacheWrite: 5000, cacheWrite1h: 5000, output: 10 });
		const usage = { input: 0, output: 1, cacheRead: 5000, cacheWrite: 0 };
		const model = { provider: "anthropic", model: "claude-opus-4-5" };
		writer.entry("usage", { kind: "cache_warm", usage, ...model });
		const [answer, ping] = [...(await writer.replay()).steps()];
		expect(ping?.blocks).toEqual(answer?.blocks);
		expect(ping).toMatchObject({ ttl: "1h", billed: { read: 5000 } });
	});

	test("answers copied from before the clock went back do not go back in time", async () => {
		const writer = new SessionWriter();
		writer.user("a");
		writer.assistant("b", { input: 10 });
		writer.atMs -= 3_600_000;
		writer.user("c");
		writer.assistant("d", { input: 20 });
		const { bills } = await writer.replay();
		expect(bills[1]?.atMs).toBe(bills[0]?.atMs);
	});

	test("stops at the most work allowed and counts the requests it leaves out", async () => {
		const writer = new SessionWriter();
		for (let i = 0; i < 10; i++) {
			writer.user("a");
			writer.assistant("b", { input: 100 + i });
		}
		const session = rebuildRequests(await readSessionFile(writer.save()), testModel, {
			maxWork: 20,
		});
		expect(session.bills.length + session.skipped.requests).toBe(10);
		expect(session.skipped.requests).toBeGreaterThan(0);
	});
});

describe("a hostile session", () => {
	test("whose prompts shrink with each request is left out beyond the most work", async () => {
		const writer = new SessionWriter();
		for (let at = 0; at < 200; at++) {
			writer.user("a");
			writer.assistant("b", { input: 10_000 - at });
		}
		const file = await readSessionFile(writer.save());
		const session = rebuildRequests(file, testModel, { maxWork: 5000 });
		let made = 0;
		for (const { blocks } of session.steps()) made += blocks.length;
		expect(made).toBeLessThan(6000);
		expect(session.skipped.requests).toBeGreaterThan(0);
	});

	test("whose system prompt and tools are empty still adds up to its bill", async () => {
		const writer = new SessionWriter();
		writer.entry("message", { message: { role: "system", content: "", replace: true } });
		writer.assistant("a", { cacheWrite: 5000 });
		writer.assistant("b", { cacheRead: 5000, cacheWrite: 10 });
		const session = await writer.replay();
		const sums = [...session.steps()].map(({ blocks }) =>
			blocks.reduce((sum, { tokens }) => sum + tokens, 0),
		);
		expect(sums).toEqual([5000, 5010]);
	});

	test("that changes its system prompt with every request is cut off like any other that is too large", async () => {
		const writer = new SessionWriter();
		for (let i = 0; i < 100; i++) {
			const sections = Object.fromEntries(Array.from({ length: 10 }, (_, j) => [`${i}/${j}`, "x"]));
			writer.entry("message", { message: { role: "system", content: "", sections } });
			writer.assistant("a", { cacheWrite: 5000 });
		}
		const file = await readSessionFile(writer.save());
		expect(rebuildRequests(file, testModel, { maxWork: 20_000 }).skipped.requests).toBeGreaterThan(
			30,
		);
	});
});

describe("calibration", () => {
	const rough = (id: number, estimate: number) => ({ id, estimate, counted: false });

	test("what the file does not show takes the rest of the first prompt", () => {
		const calibration = createCalibration();
		const unseen = { id: -1, estimate: undefined, counted: false };
		expect(calibration.learn([unseen, rough(1, 100)], 3000)).toBe(1);
		expect([calibration.sizeOf(-1), calibration.sizeOf(1)]).toEqual([2900, 100]);
	});

	test("what the provider counted is kept, and estimates share the difference", () => {
		const calibration = createCalibration();
		calibration.learn([rough(1, 100)], 100);
		const counted = { id: 2, estimate: 50, counted: true };
		calibration.learn([rough(1, 100), counted, rough(3, 100), rough(4, 300)], 750);
		expect([2, 3, 4].map(calibration.sizeOf)).toEqual([50, 150, 450]);
	});

	test("a prompt that shrank without reason shrinks all blocks alike, and only from then on", () => {
		const calibration = createCalibration();
		calibration.learn([rough(1, 1000)], 1000);
		expect(calibration.learn([rough(1, 1000), rough(2, 100)], 550)).toBe(0.5);
		expect(calibration.sizeOf(1)).toBe(1000);
	});
});

function labels({ blocks }: Pick<Step, "blocks">): string[] {
	return blocks.map(({ label }) => label);
}
