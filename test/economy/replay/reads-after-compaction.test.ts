import { expect, test } from "vitest";
import { findReadsAfterCompactions } from "../../../src/economy/replay/reads-after-compaction.ts";
import { SessionWriter } from "./session-writer.ts";

const TEXT = "first\nsecond\nthird\nfourth";

function read(writer: SessionWriter, id: string, path: string, text: string): void {
	const call = writer.call(id, "read", { path });
	writer.assistant([call], { cacheWrite: 5000 }, { stopReason: "toolUse" });
	writer.result(id, "read", text);
}

/** A session that reads `a` and `b`, is compacted, and reads on. */
function compacted(): SessionWriter {
	const writer = new SessionWriter();
	writer.user("go");
	read(writer, "t1", "a", TEXT);
	read(writer, "t2", "b", TEXT);
	writer.assistant("done", { cacheRead: 5000 });
	const kept = writer.user("go on");
	writer.entry("compaction", { summary: "so far", firstKeptEntryId: kept });
	return writer;
}

test("reads after a compaction are counted, and of them those of text that was in view", async () => {
	const writer = compacted();
	read(writer, "t3", "a", TEXT);
	read(writer, "t4", "b", `${TEXT}\nfifth`);
	read(writer, "t5", "c", TEXT);
	writer.assistant("done", { cacheRead: 5000 });
	const found = findReadsAfterCompactions(await writer.replay());
	expect(found).toMatchObject({ compactions: 1, reads: 3, unchanged: 1 });
	expect(found?.tokens).toBeGreaterThan(0);
});

test("lines of a file that was read whole count, and a text that is read twice counts once", async () => {
	const writer = compacted();
	read(writer, "t3", "a", "second\nthird");
	read(writer, "t4", "a", "second\nthird");
	writer.assistant("done", { cacheRead: 5000 });
	const found = findReadsAfterCompactions(await writer.replay());
	expect(found).toMatchObject({ reads: 2, unchanged: 1 });
});

test("a session without a compaction has no such reads", async () => {
	const writer = new SessionWriter();
	writer.user("go");
	read(writer, "t1", "a", TEXT);
	read(writer, "t2", "a", TEXT);
	writer.assistant("done", { cacheRead: 5000 });
	expect(findReadsAfterCompactions(await writer.replay())).toBeUndefined();
});
