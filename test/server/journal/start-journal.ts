import { vi } from "vitest";
import type { WorkerPort } from "../../../src/core/worker-port.ts";
import {
	createWriterThread,
	startJournalWorker,
} from "../../../src/server/journal/journal-file-proxy.ts";
import {
	type JournalOptions,
	openJournal,
	type SqliteJournal,
} from "../../../src/server/journal/sqlite-journal.ts";
import { PATIENCE } from "../../support/patience.ts";
import { atEnd, tempDir } from "../../support/temp.ts";

/** A journal on a folder of its own, and its thread within reach. */
export interface StartedJournal {
	journal: SqliteJournal;
	dataDir: string;
	/** Kills the thread that writes, as the death of the process would. */
	killThread(): Promise<void>;
	/** From now on no new thread can be started. */
	threads: { allowed: boolean };
}

export async function startJournal(
	options: Partial<JournalOptions> = {},
	dataDir = tempDir(),
): Promise<StartedJournal> {
	let worker: WorkerPort | undefined;
	const threads = { allowed: true };
	const thread = createWriterThread(() => {
		if (!threads.allowed) throw new Error("no thread left");
		worker = startJournalWorker();
		return worker;
	});
	// The commands and events of the contract suite are from the first seconds of 1970.
	const journal = await openJournal({ dataDir, thread, now: () => 10_000, ...options });
	atEnd(() => journal.close());
	return {
		journal,
		dataDir,
		threads,
		async killThread() {
			const before = thread.workers;
			worker?.end();
			await vi.waitFor(() => {
				if (thread.workers.some((id) => before.includes(id))) throw new Error("it is alive");
			}, PATIENCE);
		},
	};
}
