import { describe, expect, test } from "vitest";
import { joinChecks } from "../../../src/economy/replay/deviation.ts";
import { appendOnly } from "../../../src/economy/replay/policies.ts";
import { buildReport, joinReports } from "../../../src/economy/replay/report.ts";
import { reportText } from "../../../src/economy/replay/report-text.ts";
import { SessionWriter } from "./session-writer.ts";

describe("a deviation of more than 2 %", () => {
	test("is explained by a cache that was read after its lifetime", async () => {
		const writer = began();
		writer.atMs += 3_600_000;
		billed(writer, { cacheRead: 30_000, cacheWrite: 21_000 });
		const { check } = await report(writer);
		expect(check.deviation).toBeGreaterThan(0.02);
		expect(check.reasons).toHaveLength(1);
		expect(check.reasons?.[0]).toMatch(
			/^\+\d+\.\d\d % in 1 request: .* after its documented lifetime/,
		);
	});

	test("is explained by a request that the file lacks", async () => {
		const writer = began();
		billed(writer, { cacheRead: 90_000, cacheWrite: 1000 });
		expect((await report(writer)).check.reasons?.[0]).toContain("missing from the file");
	});

	test("is explained by writes that the rules do not foresee", async () => {
		const writer = new SessionWriter();
		writer.user("a");
		writer.assistant("b", { input: 50_000 });
		expect((await report(writer)).check.reasons).toEqual([
			"+25.00 % in 1 request: the bill has plain input that the documented rules count as cache writes",
		]);
	});

	test("is explained by a compaction that left less equal than the file shows", async () => {
		const writer = began();
		writer.entry("compaction", { summary: "so far", firstKeptEntryId: "none" });
		billed(writer, { cacheRead: 4000, cacheWrite: 46_000 });
		expect((await report(writer)).check.reasons?.[0]).toMatch(
			/^−.*: the conversation was compacted/,
		);
	});

	test("is said to be unexplained as far as no part explains it", async () => {
		const writer = began();
		billed(writer, { cacheRead: 50_000, cacheWrite: 1000 });
		const { check } = await report(writer);
		const rest = joinChecks([{ ...check, simulated: check.billed * 1.1, differences: [] }]);
		expect(rest.reasons).toEqual(["+10.00 %: not explained"]);
	});

	test("has parts that add up to it", async () => {
		const writer = began();
		for (const cacheRead of [20_000, 0, 60_000, 30_000]) {
			writer.atMs += 400_000;
			billed(writer, { input: 700, cacheRead, cacheWrite: 70_000 - cacheRead });
		}
		const { check } = await report(writer);
		const parts = check.differences.reduce((sum, { cost }) => sum + cost, 0);
		expect(Math.abs(parts - (check.simulated - check.billed))).toBeLessThan(10);
		const sizes = check.differences.map(({ cost }) => Math.abs(cost));
		expect(sizes).toEqual(sizes.toSorted((a, b) => b - a));
	});

	test("is explained for all sessions of a file together, and in the text", async () => {
		const writer = began();
		writer.atMs += 3_600_000;
		billed(writer, { cacheRead: 30_000, cacheWrite: 21_000 });
		const one = await report(writer);
		const joined = joinReports([one, one]);
		expect(joined?.check.reasons?.[0]).toContain("in 2 requests");
		const lines = reportText(one);
		const at = lines.findIndex((line) => line.includes("deviates from the bill"));
		expect(lines[at + 1]).toBe(`  ${one.check.reasons?.[0]}`);
	});
});

test("a cache that served messages after its lifetime was alive, and lost the rest", async () => {
	const writer = began();
	writer.user("c".repeat(160_000));
	writer.assistant("d", { cacheRead: 50_000, cacheWrite: 40_000 });
	writer.atMs += 3_600_000;
	billed(writer, { cacheRead: 70_000, cacheWrite: 21_000 });
	const { check, misses } = await report(writer);
	expect(misses).toMatchObject([{ request: 3, tokens: 20_000, cause: "expired" }]);
	expect(Math.abs(check.deviation)).toBeLessThan(0.01);
});

test("a smaller deviation has no reasons", async () => {
	const writer = began();
	billed(writer, { cacheRead: 50_000, cacheWrite: 1000 });
	expect((await report(writer)).check).not.toHaveProperty("reasons");
});

/** A session whose first request left 50,000 tokens in the cache. */
function began(): SessionWriter {
	const writer = new SessionWriter();
	billed(writer, { cacheWrite: 50_000 });
	return writer;
}

function billed(writer: SessionWriter, usage: Parameters<SessionWriter["assistant"]>[1]): void {
	writer.user("next");
	writer.assistant("answer", usage);
}

async function report(writer: SessionWriter) {
	return buildReport(await writer.replay(), { policies: [appendOnly] });
}
