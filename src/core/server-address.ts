import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { writeFileAtomic } from "./atomic-file.ts";
import { describeError } from "./errno.ts";
import { isAlive } from "./is-alive.ts";
import { isRecord } from "./property.ts";

/** How other programs of this user reach the server of a data folder. Never contains a token. */
export interface ServerAddress {
	readonly pid: number;
	/** Absent until it listens, and without a port. */
	readonly url?: string | undefined;
	readonly socket?: string | undefined;
	/** Absent if clients need no token. */
	readonly tokenFile?: string | undefined;
}

/** The data folder of a server that is started without another one. */
export function serverFolderIn(agentDir: string): string {
	return join(agentDir, "strata", "server");
}

/** SQLite locks it while a server runs. */
export function serverLock(dataDir: string): string {
	return join(dataDir, "lock.db");
}

function addressFile(dataDir: string): string {
	return join(dataDir, "lock.json");
}

/** Only a server that has the lock writes it. Errors are ignored: others then do not find the server. */
export async function writeServerAddress(dataDir: string, address: ServerAddress): Promise<void> {
	await writeFileAtomic(addressFile(dataDir), JSON.stringify(address)).catch(() => {});
}

/** The address of the last server of this folder, which may have ended. */
export async function lastServerAddress(dataDir: string): Promise<ServerAddress | undefined> {
	try {
		const value: unknown = JSON.parse(await readFile(addressFile(dataDir), "utf8"));
		if (!isRecord(value) || typeof value.pid !== "number") return undefined;
		const text = (name: string) => {
			const found = value[name];
			return typeof found === "string" && found !== "" ? { [name]: found } : {};
		};
		return { pid: value.pid, ...text("url"), ...text("socket"), ...text("tokenFile") };
	} catch {
		return undefined; // no server, or one that is about to write the file
	}
}

/**
 * The server that has this data folder, once it listens. A dead server's port may belong to another program by now, so
 * the lock of the folder decides: it ends with the process.
 */
export async function runningServer(dataDir: string): Promise<ServerAddress | undefined> {
	if (!(await isLocked(serverLock(dataDir)))) return undefined;
	const address = await lastServerAddress(dataDir);
	// A server that has just taken the lock may not have replaced the address of a dead one.
	if (!address || !isAlive(address.pid)) return undefined;
	return address.url === undefined && address.socket === undefined ? undefined : address;
}

/** A read needs a shared lock, which the server's exclusive one refuses. */
async function isLocked(path: string): Promise<boolean> {
	const { DatabaseSync } = await import("node:sqlite");
	let database: InstanceType<typeof DatabaseSync> | undefined;
	try {
		database = new DatabaseSync(path, { readOnly: true });
		database.exec("PRAGMA busy_timeout = 0; SELECT count(*) FROM sqlite_master");
		return false;
	} catch (error) {
		return database !== undefined && /locked|busy/i.test(describeError(error));
	} finally {
		database?.close();
	}
}
