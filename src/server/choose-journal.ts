import type { Journal } from "./journal/journal.ts";
import { homeOf } from "./journal/postgres/home.ts";
import type {
	PostgresJournal,
	PostgresJournalOptions,
} from "./journal/postgres/postgres-journal.ts";
import { openJournal } from "./journal/sqlite-journal.ts";
import type { ServerOptions } from "./options.ts";

interface ChosenJournal {
	readonly journal: Journal;
	/** Present if several servers share the journal. */
	readonly shared?: PostgresJournal;
}

/** The journal in the data folder, or in a database that servers share. */
export async function chooseJournal(
	{ dataDir, warn, database }: ServerOptions,
	clientAddress: string,
	hooks: Pick<PostgresJournalOptions, "onRenewed" | "about" | "onNodes">,
): Promise<ChosenJournal> {
	if (!database) return { journal: await openJournal({ dataDir, warn }) };
	// The database's client is loaded only if it is used.
	const { openPostgresJournal } = await import("./journal/postgres/open-postgres-journal.ts");
	const shared = await openPostgresJournal({
		address: database.address,
		home: await homeOf(dataDir),
		clientAddress: database.advertise ?? clientAddress,
		...(database.leaseMs !== undefined && {
			lease: { leaseMs: database.leaseMs, renewMs: Math.ceil(database.leaseMs / RENEWALS) },
		}),
		...hooks,
		warn,
	});
	return { journal: shared, shared };
}

/** A lease is renewed this often before it is over. */
const RENEWALS = 5;
