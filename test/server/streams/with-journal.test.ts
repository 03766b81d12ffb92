import { expect, test } from "vitest";
import { Streams } from "../../../src/server/streams/streams.ts";
import { command, finished, session } from "../../contracts/journal.ts";
import { startJournal } from "../journal/start-journal.ts";
import { recordingClient } from "./recording-client.ts";

const stream = { principal: "ann", sessionId: "s" };
const now = () => 10_000;

test("a stream goes on after a crash where it was, and who resumes misses nothing", {
	tags: "slow",
}, async () => {
	const first = await startJournal();
	await first.journal.finish(finished(command("create"), { session: session("s") }));
	const before = new Streams({ journal: first.journal, now });
	const client = recordingClient();
	await before.subscribe(client, stream);
	for (let n = 0; n < 700; n++) before.emit(stream, { type: "turn_start" });
	await before.whenDrained();
	first.threads.allowed = false;
	await first.killThread();

	const { journal } = await startJournal({}, first.dataDir);
	const after = new Streams({ journal, now });
	after.emit(stream, { type: "agent_settled" });
	const late = recordingClient("late");
	await after.subscribe(client, stream, 700);
	await after.subscribe(late, stream, 0);
	for (let n = 0; n < 300; n++) after.emit(stream, { type: "turn_start" });
	await after.whenDrained();
	const all = Array.from({ length: 1_001 }, (_, index) => index + 1);
	expect(client.seen()).toEqual(all);
	expect(late.seen()).toEqual(all);
	expect(late.messages[700]?.value).toMatchObject({ seq: 701, event: { type: "agent_settled" } });
});

test("events go on while the disk is full, and are numbered again once it is not", async () => {
	const { journal } = await startJournal({ limits: { maxFileBytes: 300_000, retryMs: 10_000 } });
	const streams = new Streams({ journal, now });
	const client = recordingClient();
	await streams.subscribe(client, stream);
	const output = "x".repeat(50_000);
	for (let n = 0; n < 20; n++) {
		streams.emit(stream, { type: "bash_execution_update", delta: output });
		await streams.whenDrained();
	}
	const seen = client.seen();
	const kept = seen.indexOf("?");
	expect(kept).toBeGreaterThan(0);
	expect(seen).toEqual(Array.from({ length: 20 }, (_, n) => (n < kept ? n + 1 : "?")));
	expect(journal.extent(stream).last).toBe(kept);
});
