import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { writeFileAtomic } from "../core/atomic-file.ts";
import { describeError } from "../core/errno.ts";
import { isRecord, property } from "../core/property.ts";

/** How other commands of this user reach a running server. Never contains a token. */
export interface ServerAddress {
	readonly pid: number;
	readonly url?: string | undefined;
	readonly socket?: string | undefined;
	/** Absent if clients need no token. */
	readonly tokenFile?: string | undefined;
}

const addressFile = (dataDir: string) => join(dataDir, "address.json");

export async function writeServerAddress(dataDir: string, address: ServerAddress): Promise<void> {
	await writeFileAtomic(addressFile(dataDir), `${JSON.stringify(address)}\n`);
}

/** Leaves the file of another process, which may have started in the meantime. */
export async function removeServerAddress(dataDir: string): Promise<void> {
	const address = await readAddress(dataDir);
	if (address?.pid === process.pid) await rm(addressFile(dataDir), { force: true }).catch(() => {});
}

/**
 * The server that has this data folder, once it listens. A dead server's file names a port that may belong to another
 * program by now, so the lock of the folder decides: it ends with the process.
 */
export async function runningServer(dataDir: string): Promise<ServerAddress | undefined> {
	if (!(await isLocked(join(dataDir, "lock.db")))) return undefined;
	const address = await readAddress(dataDir);
	// A server that has just started may not have replaced the file of a dead one.
	const owner = await readJson(join(dataDir, "lock.json"));
	return address && property(owner, "pid") === address.pid ? address : undefined;
}

async function readAddress(dataDir: string): Promise<ServerAddress | undefined> {
	const value = await readJson(addressFile(dataDir));
	if (!isRecord(value) || typeof value.pid !== "number") return undefined;
	const text = (name: string) => {
		const found = value[name];
		return typeof found === "string" ? found : undefined;
	};
	const address = { url: text("url"), socket: text("socket"), tokenFile: text("tokenFile") };
	return { pid: value.pid, ...address };
}

async function readJson(path: string): Promise<unknown> {
	try {
		return JSON.parse(await readFile(path, "utf8"));
	} catch {
		return undefined; // no server, or one that is about to write the file
	}
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
