import { closeSync, fchmodSync, openSync, type Stats } from "node:fs";
import { chmod, mkdir, realpath, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { describeError, errnoOf } from "../core/errno.ts";
import { lastServerAddress, serverLock, writeServerAddress } from "../core/server-address.ts";

/** The server's files, except token files: `loadTokens` checks those. */
const OWN_FILES = [
	"lock.db",
	"lock.db-journal",
	"lock.json",
	"journal.db",
	"journal.db-wal",
	"journal.db-shm",
	"journal.mark",
	"metrics.db",
	"metrics.db-wal",
	"metrics.db-shm",
];

const HAS_MODES = process.platform !== "win32";

/** Creates the folder; makes its files private. Throws if another user could write to it and forge tokens. */
export async function claimDataFolder(folder: string): Promise<void> {
	const created = await mkdir(folder, { recursive: true, mode: 0o700 }).catch((error: unknown) => {
		const why = errnoOf(error) === "EEXIST" ? "it is a file" : describeError(error);
		throw unusable(folder, why, error);
	});
	if (!HAS_MODES) return;
	if (created !== undefined) await chmod(folder, 0o700);
	const real = await realpath(folder);
	refuseIfOthersCanWrite(await stat(real), folder, "data folder");
	for (let path = dirname(real), above = real; path !== above; above = path, path = dirname(path)) {
		const { mode } = await stat(path);
		if ((mode & 0o1002) !== 0o002) continue; // in a sticky folder, users can move only their own files
		const why = `any user can replace it, because all users can write to ${path} (run chmod o-w ${path} to prevent this)`;
		throw unusable(folder, why);
	}
	for (const name of OWN_FILES) {
		const path = join(folder, name);
		const stats = await stat(path).catch(() => undefined);
		if (!stats?.isFile()) continue; // missing, or opening it reports the error
		refuseIfOthersCanWrite(stats, path, "file");
		if ((stats.mode & 0o077) !== 0) await chmod(path, 0o600);
	}
}

/** Creates a missing file, and sets mode 0600 whatever the umask. */
export function makePrivateFile(path: string): void {
	const file = openSync(path, "a", 0o600);
	try {
		if (HAS_MODES) fchmodSync(file, 0o600);
	} finally {
		closeSync(file);
	}
}

function refuseIfOthersCanWrite({ uid, mode }: Stats, path: string, noun: string): void {
	if (uid !== process.getuid?.()) {
		throw new Error(
			`the ${noun} ${path} belongs to another user; start the server as that user, or choose another folder with --data-dir`,
		);
	}
	if ((mode & 0o022) !== 0) {
		const octal = (mode & 0o777).toString(8).padStart(4, "0");
		throw new Error(
			`other users can write to the ${noun} ${path} (mode ${octal}); run: chmod go-w ${path}`,
		);
	}
}

function unusable(folder: string, why: string, cause?: unknown): Error {
	const message = `cannot use ${folder} as the data folder: ${why}; choose another folder with --data-dir`;
	return new Error(message, { cause });
}

/** SQLite locks a file in it. The lock ends with the process. Rejects with a one-line error. */
export async function lockDataFolder(folder: string): Promise<{ release(): void }> {
	await claimDataFolder(folder);
	const sqlite = await import("node:sqlite");
	const path = serverLock(folder);
	let database: DatabaseSync | undefined;
	try {
		makePrivateFile(path); // if SQLite created it, the umask would apply
		database = new sqlite.DatabaseSync(path);
		// The open transaction locks out other processes. It writes nothing, so it works on a full disk.
		database.exec("PRAGMA busy_timeout = 0; PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
	} catch (error) {
		database?.close();
		const why = describeError(error);
		if (!database || !/locked|busy/i.test(why)) {
			const message = `cannot write ${path} (${why}); choose another folder with --data-dir`;
			throw new Error(message, { cause: error });
		}
		const { pid, url } = (await lastServerAddress(folder)) ?? {};
		const process = pid === undefined ? "" : ` (process ${pid})`;
		const where =
			url !== undefined && /^https?:[!-~]{1,200}$/.test(url) ? ` and listens on ${url}` : "";
		throw new Error(
			`another server${process} uses ${folder}${where}; stop it or choose another folder with --data-dir`,
			{ cause: error },
		);
	}
	await writeServerAddress(folder, { pid: process.pid });
	return { release: () => database.close() };
}
