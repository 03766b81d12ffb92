import { type JournalProcess, testJournal } from "../../contracts/journal.ts";
import { createMemoryJournal, type MemoryJournal } from "../../support/memory-journal.ts";
import { tempDir } from "../../support/temp.ts";
import { startJournal } from "./start-journal.ts";

testJournal("SQLite", (clock) => startProcess(clock, tempDir()), { tags: "slow" });

async function startProcess(clock: { now: number }, dataDir: string): Promise<JournalProcess> {
	const { journal, killThread, threads } = await startJournal({ now: () => clock.now }, dataDir);
	return {
		journal,
		async crash() {
			threads.allowed = false;
			await killThread();
			return startProcess(clock, dataDir);
		},
		async restart() {
			await journal.close();
			return startProcess(clock, dataDir);
		},
	};
}

testJournal("memory", async (clock) => process(createMemoryJournal({ now: () => clock.now })));

function process(journal: MemoryJournal): JournalProcess {
	return {
		journal,
		async crash() {
			return process(journal.reopen());
		},
		async restart() {
			await journal.close();
			return process(journal.reopen());
		},
	};
}
