import { unusable } from "./database-refusal.ts";
import { PostgresJournal, type PostgresJournalOptions } from "./postgres-journal.ts";

/** Rejects if the database cannot be used at the start. */
export async function openPostgresJournal(
	options: PostgresJournalOptions,
): Promise<PostgresJournal> {
	const journal = new PostgresJournal(options);
	try {
		await journal.open();
		return journal;
	} catch (error) {
		await journal.end();
		throw unusable(options.address, error);
	}
}
