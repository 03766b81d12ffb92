import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { writeFileAtomic } from "../core/atomic-file.ts";
import { describeError } from "../core/errno.ts";
import { property } from "../core/property.ts";
import { claimDataFolder, makePrivateFile } from "./data-folder.ts";

/** Held by the one server of a data folder. */
export interface Lock {
	release(): void;
}

/**
 * Takes a data folder for this process, as {@link claimDataFolder} makes or finds it. The lock is SQLite's own on `lock.db`, which the
 * system takes back when the process ends, however it ends. Throws one clear line when another server has it.
 */
export async function lockDataFolder(folder: string): Promise<Lock> {
	await claimDataFolder(folder);
	const { DatabaseSync } = await import("node:sqlite");
	const path = join(folder, "lock.db");
	const owner = join(folder, "lock.json");
	const database = open(() => {
		makePrivateFile(path); // SQLite would go by the umask
		return new DatabaseSync(path);
	}, path);
	try {
		// The transaction is never ended: as long as it is open no other process can begin one. It writes nothing, so that a
		// full disk does not matter.
		database.exec("PRAGMA busy_timeout = 0; PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
	} catch (error) {
		database.close();
		if (!/locked|busy/i.test(describeError(error))) {
			throw cannotLock(path, error);
		}
		const pid = await pidIn(owner);
		throw new Error(
			`another server${pid === undefined ? "" : ` (process ${pid})`} uses ${folder}; stop it or choose another folder with --data-dir`,
			{ cause: error },
		);
	}
	// Only for the message above: who holds the lock is the system's to know.
	await writeFileAtomic(owner, JSON.stringify({ pid: process.pid })).catch(() => {});
	return { release: () => database.close() };
}

function open<Database>(opening: () => Database, path: string): Database {
	try {
		return opening();
	} catch (error) {
		throw cannotLock(path, error);
	}
}

function cannotLock(path: string, error: unknown): Error {
	const why = describeError(error);
	return new Error(`cannot write ${path} (${why}); choose another folder with --data-dir`, {
		cause: error,
	});
}

async function pidIn(path: string): Promise<number | undefined> {
	try {
		const pid = property(JSON.parse(await readFile(path, "utf8")), "pid");
		return typeof pid === "number" ? pid : undefined;
	} catch {
		return undefined; // not written yet
	}
}
