import { setImmediate as nextTick } from "node:timers/promises";
import { afterEach, expect, test, vi } from "vitest";
import { command, finished } from "../../contracts/journal.ts";
import { startJournal } from "./start-journal.ts";

afterEach(() => void vi.useRealTimers());

test("outcomes of reads that come one by one are written together, since nobody waits for them", {
	tags: "slow",
}, async () => {
	const { journal } = await startJournal();
	await journal.flush();
	const before = journal.stats().commits;
	vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
	for (let number = 0; number < 50; number++) {
		journal.note(finished(command(`read-${number}`)));
		for (let tick = 0; tick < 20; tick++) await nextTick();
	}
	expect(journal.stats()).toMatchObject({ commits: before, pending: 50 });
	vi.advanceTimersByTime(25);
	while (journal.stats().pending > 0 || journal.stats().commits === before) await nextTick();
	expect(journal.stats()).toMatchObject({ commits: before + 1, commands: 50 });
});

test("they go with the next record that somebody waits for, and before the journal is closed", {
	tags: "slow",
}, async () => {
	const first = await startJournal();
	await first.journal.flush();
	first.journal.note(finished(command("read-1")));
	await first.journal.admit(command("change"));
	expect(first.journal.stats()).toMatchObject({ commands: 2, pending: 0 });
	first.journal.note(finished(command("read-2")));
	await first.journal.close();
	const second = await startJournal({}, first.dataDir);
	expect(second.journal.byId("ann", "read-2")?.response?.success).toBe(true);
});
