import type { Stats } from "node:fs";
import { lstat, lutimes, mkdir, opendir, rename, unlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { isTemporaryName, temporaryName, writeFileAtomic } from "./atomic-file.ts";
import { describeError, errnoOf } from "./errno.ts";
import { type Hash, hashBytes, isHash } from "./hash.ts";
import { readRegularFile } from "./regular-file.ts";
import { chooseExpired } from "./retention.ts";
import { openStoreFolder, type StoreFolder } from "./store-version.ts";

export type ObjectStoreOptions = {
	/** Created by the first `put`. */
	readonly folder: string;
	/** As in `version.json`. */
	readonly name: string;
	readonly version: number;
	/** Must contain the hash; one folder for all. Default: `objects/sha256-<hash>.txt`. */
	readonly fileName?: (hash: Hash) => string;
	/** Files of an older program that do not make the folder foreign. Default: none. */
	readonly isLegacy?: (entryName: string) => boolean;
	readonly maxBytes: number;
	readonly maxAgeMs: number;
	/** A larger object is neither stored nor loaded. Default: 32 MiB. */
	readonly maxObjectBytes?: number;
	readonly now?: () => number;
};

type StoreFault = {
	readonly kind: "failed";
	/**
	 * `newer`, `unusable`: see {@link StoreFolder}. `too-big`: over `maxObjectBytes`. `corrupt`: the
	 * hash did not match; the object is deleted. `not-a-file`: a link or folder has the object's
	 * name. `io`: disk full, read-only or not permitted. `excluded`: the caller refused it.
	 */
	readonly reason: "newer" | "unusable" | "too-big" | "corrupt" | "not-a-file" | "io" | "excluded";
	readonly message: string;
};

type PutResult =
	| { readonly kind: "stored" | "present"; readonly hash: Hash }
	| (StoreFault & { readonly hash: Hash });

type GetResult =
	| { readonly kind: "found"; readonly bytes: Buffer }
	| { readonly kind: "missing" }
	| StoreFault;

export type ObjectStore = ReturnType<typeof createObjectStore>;
export type SweepResult = Swept | StoreFault;

type Count = "removedObjects" | "removedBytes" | "removedTemporary" | "objects" | "bytes";
/** `trouble`: the first reason why an expired object could not be deleted. */
type Swept = { kind: "swept"; trouble?: string } & Record<Count, number>;

/** `bytes` is the file size, `usedMs` the last use (ms since 1970). */
type StoredFile = { path: string; bytes: number; usedMs: number };

/**
 * Content-addressed bytes on disk (sha256), shared by any number of processes without a lock. A
 * cache: an object can vanish at any time, so every caller needs a fallback. No method throws or
 * rejects. The disk is not touched before the first call.
 */
export function createObjectStore(options: ObjectStoreOptions) {
	const { folder, name, version, maxBytes, maxAgeMs, now = Date.now } = options;
	const { fileName = defaultFileName, maxObjectBytes = 32 * 1024 * 1024 } = options;
	const { isLegacy = () => false } = options;
	const tmpFolder = join(folder, "tmp");
	const pathOf = (hash: Hash) => join(folder, fileName(hash));
	const objectFolder = dirname(fileName(anyHash));
	const isObject = (entryName: string) => {
		const hash = entryName.match(/[0-9a-f]{64}/)?.[0];
		return isHash(hash) && basename(fileName(hash)) === entryName;
	};

	let opening: Promise<StoreFolder> | undefined;

	/** Opens once. The next call retries after a failure, as disks recover. */
	function open(): Promise<StoreFolder> {
		opening ??= openFolders().then((opened) => {
			if (opened.kind !== "ready") opening = undefined;
			return opened;
		});
		return opening;
	}

	/** Does the work in a store that exists and can be used; `absent` is the result without one. */
	async function ifExisting<Result>(
		absent: Result,
		work: () => Promise<Result>,
	): Promise<Result | StoreFault> {
		try {
			if (opening === undefined && (await isMissing(folder))) return absent;
			const opened = await open();
			return opened.kind === "ready" ? await work() : failed(opened.kind, opened.message);
		} catch (error) {
			return ioFault(error);
		}
	}

	async function openFolders(): Promise<StoreFolder> {
		const owns = (entry: string) =>
			entry === objectFolder || entry === "tmp" || isObject(entry) || isLegacy(entry);
		const opened = await openStoreFolder({ folder, name, version, owns });
		if (opened.kind !== "ready") return opened;
		for (const inner of [join(folder, objectFolder), tmpFolder]) {
			const reason = await makeFolder(inner);
			if (reason === undefined) continue;
			return { kind: "unusable", message: `The ${name} store cannot use ${inner}: ${reason}.` };
		}
		return opened;
	}

	/** Records a use at most once per `useIntervalMs`; false if the object has vanished. */
	async function countUse(path: string, usedMs: number): Promise<boolean> {
		const nowMs = now();
		// A time in the future is corrected too, or the object would never expire.
		if (Math.abs(nowMs - usedMs) < useIntervalMs) return true;
		try {
			await lutimes(path, nowMs / 1000, nowMs / 1000);
			return true;
		} catch (error) {
			// On a read-only disk the object stays usable; it only looks older than it is.
			return errnoOf(error) !== "ENOENT";
		}
	}

	/** An object dated in the future would never expire, so it counts as used now. */
	async function notAhead(file: StoredFile): Promise<StoredFile> {
		if (file.usedMs - now() < useIntervalMs) return file;
		await countUse(file.path, file.usedMs);
		const stats = await statOf(file.path);
		return stats ? { ...file, usedMs: stats.mtimeMs } : file;
	}

	async function isPresent(path: string, size: number): Promise<boolean> {
		const stats = await statOf(path);
		if (!stats?.isFile() || stats.size !== size) return false;
		return await countUse(path, stats.mtimeMs);
	}

	/** Stores the bytes, or counts a use if present. `hash` must be the hash of the bytes. */
	async function put(bytes: Uint8Array, hash = hashBytes(bytes)): Promise<PutResult> {
		if (bytes.length > maxObjectBytes) return { ...tooBig(maxObjectBytes), hash };
		const path = pathOf(hash);
		for (let attempt = 1; ; attempt++) {
			const opened = await open();
			if (opened.kind !== "ready") return { ...failed(opened.kind, opened.message), hash };
			try {
				if (await isPresent(path, bytes.length)) return { kind: "present", hash };
				// Not flushed: `get` detects damage by a power cut.
				await writeFileAtomic(path, bytes, { tmpFolder });
				return { kind: "stored", hash };
			} catch (error) {
				// On Windows, a file that another process has open cannot be replaced.
				const present = await isPresent(path, bytes.length).catch(() => false);
				if (present) return { kind: "present", hash };
				if (errnoOf(error) !== "ENOENT" || attempt === 2) return { ...ioFault(error), hash };
				// The folder was removed during the session: create it again.
				opening = undefined;
			}
		}
	}

	/** Verifies the hash; counts as a use. */
	async function get(hash: Hash): Promise<GetResult> {
		// Hashes come from session files; a malformed one must never become part of a path.
		if (!isHash(hash)) return { kind: "missing" };
		const path = pathOf(hash);
		return await ifExisting<GetResult>({ kind: "missing" }, async () => {
			const file = await readRegularFile(path, maxObjectBytes);
			if (file.kind === "missing") return file;
			if (file.kind === "refused") {
				if (file.reason === "too-big") return tooBig(maxObjectBytes);
				return failed("not-a-file", `${path} is a link or a folder, not an object`);
			}
			if (hashBytes(file.bytes) !== hash) {
				await remove(path);
				return failed(
					"corrupt",
					`${path} did not hold the bytes it is named after and was deleted`,
				);
			}
			await countUse(path, file.modifiedMs);
			return { kind: "found", bytes: file.bytes };
		});
	}

	/** Evicts by {@link chooseExpired}, and deletes leftovers of crashes. */
	async function sweepTo(limitBytes: number): Promise<SweepResult> {
		const swept: Swept = {
			kind: "swept",
			removedObjects: 0,
			removedBytes: 0,
			removedTemporary: 0,
			objects: 0,
			bytes: 0,
		};
		return await ifExisting(swept, async () => {
			for await (const file of filesIn(tmpFolder, isTemporaryName)) {
				if (Math.abs(now() - file.usedMs) <= temporaryAgeMs) continue;
				if (await remove(file.path)) swept.removedTemporary++;
			}
			const objects: StoredFile[] = [];
			for await (const file of filesIn(join(folder, objectFolder), isObject)) {
				objects.push(await notAhead(file));
				swept.objects++;
				swept.bytes += file.bytes;
			}
			for (const file of chooseExpired(objects, { maxBytes: limitBytes, maxAgeMs, nowMs: now() })) {
				const outcome = await removeUnused(file, tmpFolder);
				if (outcome === "kept") continue;
				if (typeof outcome !== "string") {
					swept.trouble ??= outcome.message;
					continue;
				}
				swept.objects--;
				swept.bytes -= file.bytes;
				if (outcome === "gone") continue;
				swept.removedObjects++;
				swept.removedBytes += file.bytes;
			}
			return swept;
		});
	}

	async function look(): Promise<{ found: StoredFile[]; fault?: StoreFault }> {
		const found: StoredFile[] = [];
		const fault = await ifExisting(undefined, async () => {
			for await (const file of filesIn(join(folder, objectFolder), isObject)) found.push(file);
			return undefined;
		});
		return { found, ...(fault && { fault }) };
	}

	/** With a `fault`, the counts are lower bounds. */
	async function stats() {
		const { found, fault } = await look();
		const bytes = found.reduce((sum, file) => sum + file.bytes, 0);
		return { objects: found.length, bytes, ...(fault && { fault }) };
	}

	return {
		put,
		get,
		sweep: () => sweepTo(maxBytes),
		clear: () => sweepTo(0), // a cap of 0 bytes evicts everything
		/** Best effort; empty for an unusable store. */
		list: async () => (await look()).found,
		stats,
	};
}

/**
 * Interval of mtime updates, half the guard of {@link chooseExpired}: a use protects for the rest.
 */
const useIntervalMs = 5 * 60_000;
/** No write takes this long: an older temporary file was left by a crash. */
const temporaryAgeMs = 60 * 60_000;

const anyHash = hashBytes("");
const defaultFileName = (hash: Hash) => `objects/sha256-${hash}.txt`;

function failed(reason: StoreFault["reason"], message: string): StoreFault {
	return { kind: "failed", reason, message };
}

function tooBig(maxObjectBytes: number): StoreFault {
	return failed("too-big", `The object is larger than ${maxObjectBytes} bytes`);
}

function ioFault(error: unknown): StoreFault {
	return failed("io", describeError(error));
}

/** Returns a reason if something else, such as a repository's link, is in its place. */
async function makeFolder(path: string): Promise<string | undefined> {
	try {
		await mkdir(path, { recursive: true, mode: 0o700 });
		return (await lstat(path)).isDirectory() ? undefined : "it is a link";
	} catch (error) {
		return describeError(error);
	}
}

async function isMissing(path: string): Promise<boolean> {
	return (await statOf(path).catch(() => "unreadable")) === undefined;
}

async function statOf(path: string): Promise<Stats | undefined> {
	try {
		return await lstat(path);
	} catch (error) {
		if (errnoOf(error) === "ENOENT") return undefined;
		throw error;
	}
}

async function* filesIn(
	folder: string,
	isOurs: (name: string) => boolean,
): AsyncGenerator<StoredFile> {
	if (await isMissing(folder)) return;
	for await (const entry of await opendir(folder)) {
		if (!isOurs(entry.name)) continue;
		const path = join(folder, entry.name);
		const stats = await statOf(path);
		if (stats?.isFile()) yield { path, bytes: stats.size, usedMs: stats.mtimeMs };
	}
}

/**
 * Deletes an object unless it was used since it was listed. Renames it before the check: an earlier
 * use shows in its mtime, and a later `put` finds nothing and writes the object again.
 */
async function removeUnused(
	file: StoredFile,
	tmpFolder: string,
): Promise<"removed" | "kept" | "gone" | StoreFault> {
	const aside = join(tmpFolder, temporaryName());
	try {
		await rename(file.path, aside);
		if ((await lstat(aside)).mtimeMs === file.usedMs) {
			await unlink(aside);
			return "removed";
		}
		await rename(aside, file.path);
		return "kept";
	} catch (error) {
		return errnoOf(error) === "ENOENT" ? "gone" : ioFault(error);
	}
}

async function remove(path: string): Promise<boolean> {
	return await unlink(path).then(
		() => true,
		() => false,
	);
}
