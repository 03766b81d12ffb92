import { describe, expect, test } from "vitest";
import { findMisses, knownModel, rebuildRequests } from "../../src/economy/replay/index.ts";
import { type ImportedSession, readSessions, resultTextOf } from "../../src/importers/index.ts";
import { randomSession } from "../economy/replay/random-session.ts";
import { fc, runs } from "../support/property.ts";
import { ClaudeWriter } from "./claude-writer.ts";

describe("a file that is read for its bills only", () => {
	test("has the bills and the misses of the whole file, however the session was rearranged", async () => {
		const seeds = fc.integer({ min: 1, max: 100_000 });
		await fc.assert(
			fc.asyncProperty(seeds, async (seed) => {
				const incidents = { rearranged: 0.1, misbilled: 0.1 };
				const file = randomSession(seed, 60, incidents).save();
				expect(await billsIn(file, "bills")).toEqual(await billsIn(file, "contents"));
			}),
			{ numRuns: runs(60) },
		);
	});

	test("has them for a transcript with a compaction, cleared results and a rewind", async () => {
		const writer = new ClaudeWriter();
		const first = writer.user("read it");
		writer.call("m1", "t1", { file_path: "/w/a.ts" }, { write: 30_000 });
		writer.result("t1", "text");
		writer.text("m2", "done", { read: 30_000, write: 50 });
		writer.line("system", {
			subtype: "microcompact_boundary",
			microcompactMetadata: { compactedToolIds: ["t1"] },
		});
		writer.text("m3", "after clearing", { read: 20_000, write: 9000 });
		writer.text("m4", "rewound", { read: 8000, write: 9000 }, { parent: first });
		const logicalParentUuid = writer.leaf;
		writer.line("system", { subtype: "compact_boundary", logicalParentUuid }, null);
		writer.user("what was said", { isCompactSummary: true });
		writer.text("m5", "after the compaction", { write: 9000 });
		const file = writer.save();
		const { misses } = await billsIn(file, "bills");
		expect(misses.map(({ cause }) => cause)).toEqual(["edit", "branch", "compaction"]);
		expect(await billsIn(file, "bills")).toEqual(await billsIn(file, "contents"));
	});
});

describe("a file that is read with the texts of its results", () => {
	const transcript = () => {
		const writer = new ClaudeWriter();
		writer.user("read it");
		writer.call("m1", "t1", { file_path: "/w/a.ts" }, { write: 30_000 });
		writer.result("t1", "text of the file");
		writer.text("m2", "done", { read: 30_000, write: 50 });
		return writer.save();
	};
	const resultIn = ({ entries }: ImportedSession) =>
		entries.flatMap((entry) => ("blocks" in entry ? entry.blocks : [])).find(({ result }) => result)
			?.result as Parameters<typeof resultTextOf>[0];

	test("has them, with the call of each", async () => {
		const [session] = await readSessions(transcript(), { detail: "texts" });
		expect(resultTextOf(resultIn(session as ImportedSession))).toEqual({
			callId: "t1",
			input: { file_path: "/w/a.ts" },
			text: "text of the file",
		});
	});

	test("differs in nothing else from one that is read without", async () => {
		const file = transcript();
		const [session] = await readSessions(file);
		expect(resultTextOf(resultIn(session as ImportedSession))).toBeUndefined();
		expect(await readSessions(file, { detail: "texts" })).toEqual([session]);
	});
});

async function billsIn(file: string, detail: "bills" | "contents") {
	const [session] = await readSessions(file, { detail });
	const requests = rebuildRequests(session as ImportedSession, knownModel);
	const misses = findMisses(requests).map(({ changed: _, ...miss }) => miss);
	return { bills: requests.bills.map(({ atMs, billed }) => ({ atMs, billed })), misses };
}
