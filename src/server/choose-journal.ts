import { randomUUID } from "node:crypto";
import { readFile, realpath } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { writeFileAtomic } from "../core/atomic-file.ts";
import { errnoOf } from "../core/errno.ts";
import { hashBytes } from "../core/hash.ts";
import type { Journal } from "./journal/journal.ts";
import type { PostgresJournal } from "./journal/postgres/postgres-journal.ts";
import { openJournal } from "./journal/sqlite-journal.ts";
import type { ServerOptions } from "./options.ts";

export interface ChosenJournal {
	readonly journal: Journal;
	/** Present if several servers share the journal. */
	readonly shared?: PostgresJournal;
}

/** The journal in the data folder, or in a database that servers share. */
export async function chooseJournal(
	{ dataDir, warn, database }: ServerOptions,
	clientAddress: string,
	onRenewed: (leftMs: number) => void,
): Promise<ChosenJournal> {
	if (!database) return { journal: await openJournal({ dataDir, warn }) };
	// The database's client is loaded only if it is used.
	const { openPostgresJournal } = await import("./journal/postgres/postgres-journal.ts");
	const shared = await openPostgresJournal({
		address: database.address,
		home: await homeOf(dataDir),
		clientAddress: database.advertise ?? clientAddress,
		...(database.leaseMs !== undefined && {
			lease: { leaseMs: database.leaseMs, renewMs: Math.ceil(database.leaseMs / RENEWALS) },
		}),
		onRenewed,
		warn,
	});
	return { journal: shared, shared };
}

/** A lease is renewed this often before it is over. */
const RENEWALS = 5;

/**
 * The name of the data folder among all servers. A copy of the folder, on another machine or beside it, has
 * another name: only the lock of the same folder proves that its last process is dead.
 */
async function homeOf(dataDir: string): Promise<string> {
	const file = join(dataDir, "server-id");
	let id = await readFile(file, "utf8").catch((error: unknown) => {
		if (errnoOf(error) === "ENOENT") return "";
		throw error;
	});
	if (id.trim() === "") {
		id = randomUUID();
		await writeFileAtomic(file, `${id}\n`, { durable: true });
	}
	return hashBytes(JSON.stringify([id.trim(), hostname(), await realpath(dataDir)])).slice(0, 32);
}
