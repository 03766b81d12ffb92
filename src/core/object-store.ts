import type { Stats } from "node:fs";
import { lstat, lutimes, mkdir, opendir, rename, unlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { isTemporaryName, temporaryName, writeFileAtomic } from "./atomic-file.ts";
import { describeError, errnoOf } from "./errno.ts";
import { type Hash, hashBytes, isHash } from "./hash.ts";
import { readRegularFile } from "./regular-file.ts";
import { chooseExpired } from "./retention.ts";
import { openStoreFolder, type StoreFolder } from "./store-version.ts";

/** Where objects are kept, under which names, how many and how long. */
export type ObjectStoreOptions = {
	/** The store's own folder; created by the first `put`. */
	readonly folder: string;
	/** The kind of store and the version of its layout, as written to its `version.json`. */
	readonly name: string;
	readonly version: number;
	/**
	 * The path of an object within `folder`; it must contain the hash, and the same folder for every
	 * object. Default: `objects/sha256-<hash>.txt`.
	 */
	readonly fileName?: (hash: Hash) => string;
	/** Files beside the objects that an older program may have left, and that are no sign of a foreign folder. Default: none. */
	readonly isLegacy?: (entryName: string) => boolean;
	/** What `sweep` leaves at most. */
	readonly maxBytes: number;
	/** How long `sweep` leaves an object that nobody uses. */
	readonly maxAgeMs: number;
	/** A larger object is neither stored nor loaded. Default: 32 MiB. */
	readonly maxObjectBytes?: number;
	readonly now?: () => number;
};

/** Why a store did not do its work. The caller goes on without it, and may count or report the reason. */
export type StoreFault = {
	readonly kind: "failed";
	/**
	 * `newer`, `unusable`: the folder, see {@link StoreFolder}. `too-big`: over `maxObjectBytes`.
	 * `corrupt`: the bytes were not the object's, which is now deleted. `not-a-file`: a link or folder
	 * bears the object's name. `io`: the disk (full, read-only, not permitted). `excluded`: the caller does not want it stored.
	 */
	readonly reason: "newer" | "unusable" | "too-big" | "corrupt" | "not-a-file" | "io" | "excluded";
	readonly message: string;
};

/** `stored` was written by this call, `present` was there already. */
export type PutResult =
	| { readonly kind: "stored" | "present"; readonly hash: Hash }
	| (StoreFault & { readonly hash: Hash });

/** `missing` is the ordinary answer for an object never stored, or swept since. */
export type GetResult =
	| { readonly kind: "found"; readonly bytes: Buffer }
	| { readonly kind: "missing" }
	| StoreFault;

/** What a sweep removed, and what it left. */
export type SweepResult =
	| {
			readonly kind: "swept";
			readonly removedObjects: number;
			readonly removedBytes: number;
			readonly removedTemporary: number;
			readonly objects: number;
			readonly bytes: number;
			/** Why an object that should have gone is still there: the first reason. */
			readonly trouble?: string;
	  }
	| StoreFault;

/** How much is kept. With a `fault` there may be more: the store, or part of it, cannot be looked at. */
export type StoreStats = {
	readonly objects: number;
	readonly bytes: number;
	readonly fault?: StoreFault;
};

/**
 * Bytes kept on disk under their own sha256, shared by any number of processes without a lock. It is
 * supporting data: an object can vanish at any time, so every caller needs another way. No method throws
 * or rejects.
 */
export type ObjectStore = {
	/** Keeps the bytes, or counts a use if they are kept already. A given `hash` must be theirs. */
	put(bytes: Uint8Array, hash?: Hash): Promise<PutResult>;
	/** The bytes of an object, proven to be what the hash says; counts as a use. */
	get(hash: Hash): Promise<GetResult>;
	/** Removes what is too old or too much (see {@link chooseExpired}), and what crashes left behind. */
	sweep(): Promise<SweepResult>;
	/** Removes all objects, whoever may still count on them. */
	clear(): Promise<SweepResult>;
	/** What is kept, in no order, as far as it can be found; nothing for a store that cannot be used. */
	list(): Promise<StoredFile[]>;
	stats(): Promise<StoreStats>;
};

/** The file of an object, its size, and when it was last used (ms since 1970). */
export type StoredFile = { path: string; bytes: number; usedMs: number };

/** Makes a store; the disk is not touched before the first call, nor is a folder made before the first `put`. */
export function createObjectStore(options: ObjectStoreOptions): ObjectStore {
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

	/** Opens the store once; a failure is tried again by the next call, as disks get mended. */
	function open(): Promise<StoreFolder> {
		opening ??= openFolders().then((opened) => {
			if (opened.kind !== "ready") opening = undefined;
			return opened;
		});
		return opening;
	}

	/** Like `open`, but a store that was never written to is not created by being looked at. */
	async function openExisting(): Promise<StoreFolder | { kind: "absent" }> {
		if (opening === undefined && (await isMissing(folder))) return { kind: "absent" };
		return await open();
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

	/** Marks an object as used now, as seldom as the guard of sweeping allows; false if it has vanished. */
	async function countUse(path: string, usedMs: number): Promise<boolean> {
		const nowMs = now();
		// A time ahead of the clock is corrected too, or the object would never age.
		if (Math.abs(nowMs - usedMs) < useIntervalMs) return true;
		try {
			await lutimes(path, nowMs / 1000, nowMs / 1000);
			return true;
		} catch (error) {
			// Elsewhere (a read-only disk) the object is of use all the same; it only looks older than it is.
			return errnoOf(error) !== "ENOENT";
		}
	}

	/** An object dated ahead of the clock would never age, so it counts as used now. */
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

	async function put(bytes: Uint8Array, hash = hashBytes(bytes)): Promise<PutResult> {
		if (bytes.length > maxObjectBytes) return { ...tooBig(maxObjectBytes), hash };
		const path = pathOf(hash);
		for (let attempt = 1; ; attempt++) {
			const opened = await open();
			if (opened.kind !== "ready") return { ...faultOf(opened), hash };
			try {
				if (await isPresent(path, bytes.length)) return { kind: "present", hash };
				// Not forced to the disk: what a power cut damages is found when it is loaded.
				await writeFileAtomic(path, bytes, { tmpFolder });
				return { kind: "stored", hash };
			} catch (error) {
				// Windows lets nobody replace a file that another process, which was quicker, has open.
				const present = await isPresent(path, bytes.length).catch(() => false);
				if (present) return { kind: "present", hash };
				if (errnoOf(error) !== "ENOENT" || attempt === 2) return { ...ioFault(error), hash };
				// Someone removed the folder under a running session: set it up once more.
				opening = undefined;
			}
		}
	}

	async function get(hash: Hash): Promise<GetResult> {
		// Hashes come from session files; a malformed one must never become part of a path.
		if (!isHash(hash)) return { kind: "missing" };
		const path = pathOf(hash);
		try {
			const opened = await openExisting();
			if (opened.kind === "absent") return { kind: "missing" };
			if (opened.kind !== "ready") return faultOf(opened);

			const file = await readRegularFile(path, maxObjectBytes);
			if (file.kind === "missing") return file;
			if (file.kind === "refused") {
				if (file.reason === "too-big") return tooBig(maxObjectBytes);
				const message = `${path} is a link or a folder, not an object`;
				return { kind: "failed", reason: "not-a-file", message };
			}
			if (hashBytes(file.bytes) !== hash) {
				await remove(path);
				const message = `${path} did not hold the bytes it is named after and was deleted`;
				return { kind: "failed", reason: "corrupt", message };
			}
			await countUse(path, file.modifiedMs);
			return { kind: "found", bytes: file.bytes };
		} catch (error) {
			return ioFault(error);
		}
	}

	async function sweepTo(limitBytes: number): Promise<SweepResult> {
		const swept = {
			kind: "swept" as const,
			removedObjects: 0,
			removedBytes: 0,
			removedTemporary: 0,
			objects: 0,
			bytes: 0,
		};
		let trouble: string | undefined;
		try {
			const opened = await openExisting();
			if (opened.kind === "absent") return swept;
			if (opened.kind !== "ready") return faultOf(opened);

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
					trouble ??= outcome.message;
					continue;
				}
				swept.objects--;
				swept.bytes -= file.bytes;
				if (outcome === "gone") continue;
				swept.removedObjects++;
				swept.removedBytes += file.bytes;
			}
			return { ...swept, ...(trouble !== undefined && { trouble }) };
		} catch (error) {
			return ioFault(error);
		}
	}

	/** What could be found; with a fault there may be more. */
	async function look(): Promise<{ found: StoredFile[]; fault?: StoreFault }> {
		const found: StoredFile[] = [];
		try {
			const opened = await openExisting();
			if (opened.kind === "absent") return { found };
			if (opened.kind !== "ready") return { found, fault: faultOf(opened) };
			for await (const file of filesIn(join(folder, objectFolder), isObject)) found.push(file);
			return { found };
		} catch (error) {
			return { found, fault: ioFault(error) };
		}
	}

	async function stats(): Promise<StoreStats> {
		const { found, fault } = await look();
		const bytes = found.reduce((sum, file) => sum + file.bytes, 0);
		return { objects: found.length, bytes, ...(fault && { fault }) };
	}

	return {
		put,
		get,
		sweep: () => sweepTo(maxBytes),
		clear: () => sweepTo(0), // everything is too much for a store of no bytes
		list: async () => (await look()).found,
		stats,
	};
}

/**
 * An object's modification time is its last use, written at most this often. Half the guard of
 * {@link chooseExpired}, so that a use protects for at least the other half.
 */
const useIntervalMs = 5 * 60_000;
/** No write takes this long: the process behind an older temporary file is gone. */
const temporaryAgeMs = 60 * 60_000;

const anyHash = hashBytes("");
const defaultFileName = (hash: Hash) => `objects/sha256-${hash}.txt`;

function faultOf(opened: Exclude<StoreFolder, { kind: "ready" }>): StoreFault {
	return { kind: "failed", reason: opened.kind, message: opened.message };
}

function tooBig(maxObjectBytes: number): StoreFault {
	const message = `The object is larger than ${maxObjectBytes} bytes`;
	return { kind: "failed", reason: "too-big", message };
}

function ioFault(error: unknown): StoreFault {
	return { kind: "failed", reason: "io", message: describeError(error) };
}

/** Makes a folder of the store; a reason if something else, such as a repository's link, is in its place. */
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

/** The regular files of a folder whose name is right, one by one. A folder that is gone holds none. */
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
 * Deletes an object unless it was used since it was listed; `gone` if another process swept it first, a fault if the
 * disk did not let it go.
 * Moved aside before it is looked at: a use before the move shows in its time, and a `put` after the move
 * finds nothing and writes the object anew.
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

/** Deletes a file; false if that was not possible, or another process did it. */
async function remove(path: string): Promise<boolean> {
	return await unlink(path).then(
		() => true,
		() => false,
	);
}
