import { chmodSync, closeSync, openSync } from "node:fs";
import { join } from "node:path";
import { describeError } from "./errno.ts";
import { type Migration, type OpenedDatabase, openDatabase } from "./sqlite.ts";
import { openStoreFolder } from "./store-version.ts";

interface DatabaseStoreOptions {
	readonly folder: string;
	/** The kind of store; see `StoreFolderOptions`. */
	readonly name: string;
	/** Name of the database file in the folder. */
	readonly file: string;
	readonly migrations: Migration[];
	/** Another entry of the folder that belongs to the store. */
	readonly besides?: string;
}

/** Opens or creates a store that is one database in a folder of its own, readable by the user only. */
export async function openDatabaseStore(options: DatabaseStoreOptions): Promise<OpenedDatabase> {
	const { folder, name, file, migrations, besides } = options;
	// SQLite adds its log and index under longer names.
	const owns = (entry: string) => entry.startsWith(file) || entry === besides;
	const store = await openStoreFolder({ folder, name, version: 1, owns });
	if (store.kind !== "ready") return { kind: "unavailable", message: store.message };
	const path = join(folder, file);
	try {
		// SQLite would let others read it, and gives its log the mode of the database.
		closeSync(openSync(path, "a", 0o600));
		chmodSync(path, 0o600);
	} catch (cause) {
		return { kind: "unavailable", message: `Cannot open ${path}: ${describeError(cause)}`, cause };
	}
	return await openDatabase(path, migrations);
}
