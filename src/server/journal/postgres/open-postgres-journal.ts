import { databaseRefusal } from "./database-refusal.ts";
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
		throw new Error(`cannot use the database ${options.address.description}: ${reasonOf(error)}`, {
			cause: error,
		});
	}
}

function reasonOf(error: unknown): string {
	const { why } = databaseRefusal(error);
	const code = (error as NodeJS.ErrnoException)?.code;
	return code === undefined || why.includes(code) ? why : `${why} (${code})`;
}
