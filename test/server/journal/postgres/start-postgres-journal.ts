import { parseDatabaseUrl } from "../../../../src/server/journal/postgres/database-url.ts";
import { openPostgresJournal } from "../../../../src/server/journal/postgres/open-postgres-journal.ts";
import type {
	PostgresJournal,
	PostgresJournalOptions,
} from "../../../../src/server/journal/postgres/postgres-journal.ts";
import { sharedPostgres } from "../../../support/postgres.ts";
import { atEnd } from "../../../support/temp.ts";

/** A database of its own on the Postgres of the tests. */
export async function newDatabase(): Promise<string> {
	return (await sharedPostgres()).database();
}

export async function startPostgresJournal(
	url: string,
	options: Partial<PostgresJournalOptions> = {},
): Promise<PostgresJournal> {
	const journal = await openPostgresJournal({
		address: parseDatabaseUrl(url),
		home: "a",
		clientAddress: "http://a/",
		...options,
	});
	atEnd(() => journal.end());
	return journal;
}
