import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { openDatabase } from "../../../src/core/sqlite.ts";
import { BadRecord, JournalWriter } from "../../../src/server/journal/journal-writer.ts";
import { migrations } from "../../../src/server/journal/schema.ts";
import { command, event } from "../../contracts/journal.ts";
import { atEnd, tempDir } from "../../support/temp.ts";
import { startJournal } from "./start-journal.ts";

async function openWriter(): Promise<{ writer: JournalWriter; database: DatabaseSync }> {
	const opened = await openDatabase(join(tempDir(), "journal.db"), migrations);
	if (opened.kind !== "open") throw new Error(opened.message);
	const { database } = opened;
	atEnd(() => database.close());
	return { writer: new JournalWriter(database), database };
}

const unwritable = event(2, { body: {} as string });

test("a transaction waits for the disk itself only when it must survive a power cut", async () => {
	const { writer, database } = await openWriter();
	const mode = () => database.prepare("PRAGMA synchronous").get()?.synchronous;
	writer.write([{ kind: "event", event: event(1) }], false);
	expect(mode()).toBe(1);
	writer.write([{ kind: "admit", command: command("a") }], true);
	expect(mode()).toBe(2);
	writer.write([{ kind: "event", event: event(2) }], false);
	expect(mode()).toBe(1);
});

test("a batch is written as a whole or not at all, and twice is like once", async () => {
	const { writer, database } = await openWriter();
	const good = [
		{ kind: "admit", command: command("a") },
		{ kind: "event", event: event(1) },
	] as const;
	expect(() => writer.write([...good, { kind: "event", event: unwritable }], true)).toThrow(
		BadRecord,
	);
	expect(writer.size()).toMatchObject({ commands: 0, events: 0 });
	expect(database.prepare("SELECT count(*) AS n FROM commands").get()).toEqual({ n: 0 });
	writer.write(good, true);
	writer.write(good, true);
	expect(writer.size()).toMatchObject({ commands: 1, events: 1 });
});

test("a record that cannot be written does not keep the others from it", {
	tags: "slow",
}, async () => {
	const { journal } = await startJournal();
	const writing = [event(1), unwritable, event(3)].map((one) => journal.append(one));
	const settled = await Promise.allSettled(writing);
	expect(settled.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
	expect(journal.health()).toEqual({ ok: true });
	const kept = journal.events({ principal: "ann", sessionId: "s" }, 0, 10);
	expect(kept.map(({ seq }) => seq)).toEqual([1, 3]);
});
