import { describe, expect, test } from "vitest";
import { type JournalProcess, testJournal } from "../../../contracts/journal.ts";
import { postgresPrograms, withPostgres } from "../../../support/postgres.ts";
import { newDatabase, startPostgresJournal } from "./start-postgres-journal.ts";

if (postgresPrograms) {
	testJournal("Postgres", async (clock) => startProcess(clock, await newDatabase()), {
		tags: "slow",
	});
} else {
	describe(withPostgres("a journal: Postgres"), () => {
		test("needs PostgreSQL on this machine", () => expect(postgresPrograms).toBeUndefined());
	});
}

async function startProcess(clock: { now: number }, url: string): Promise<JournalProcess> {
	const journal = await startPostgresJournal(url, { now: () => clock.now });
	return {
		journal,
		async crash() {
			// It does nothing more. The next one takes its place before its lease is over.
			await journal.lease.close();
			return startProcess(clock, url);
		},
		async restart() {
			await journal.close();
			return startProcess(clock, url);
		},
	};
}
