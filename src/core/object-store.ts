import type { Stats } from "node:fs";
import { lstat, lutimes, mkdir, opendir, rename, unlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { isTemporaryName, temporaryName, writeFileAtomic } from "./atomic-file.ts";
import { describeError, errnoOf } from "./errno.ts";
import { type Hash, hashBytes, isHash } from "./hash.ts";
import { readRegularFile } from "./regular-file.ts";
import { chooseEvicted } from "./retention.ts";
import { openStoreFolder, type StoreFolder } from "./store-version.ts";

export type ObjectStoreOptions = {
	/** Created by the first `put`. */
	readonly folder: string;
	/** The store's name in `version.json`. */
	readonly name: string;
	readonly version: number;
	/** Must contain the hash. All files must be in one folder. Default: `objects/sha256-<hash>.txt`. */
	readonly fileName?: (hash: Hash) => string;
	/** Recognizes files of an older program, which do not make the folder foreign. Default: none. */
	readonly isLegacy?: (entryName: string) => boolean;
	readonly maxBytes: number;
	readonly maxAgeMs: number;
	/** Larger objects are not stored or loaded. Default: 32 MiB. */
	readonly maxObjectBytes?: number;
	/** Returns a reason if the bytes must not be stored. Default: accepts all bytes. */
	readonly refuse?: (bytes: Uint8Array) => Promise<string | undefined>;
	readonly now?: () => number;
};

type StoreFault = {
	readonly kind: "failed";
	/**
	 * `newer`, `unusable`: see {@link StoreFolder}. `too-big`: over `maxObjectBytes`. `corrupt`: the
	 * hash did not match; the object is deleted. `not-a-file`: a link or folder has the object's
	 * name. `io`: disk full, read-only or not permitted. `excluded`: refused by `refuse`.
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

export type SweepResult = Swept | StoreFault;

type Count = "removedObjects" | "removedBytes" | "removedTemporary" | "objects" | "bytes";
/** `trouble`: the first reason why an evicted object could not be deleted. */
type Swept = { kind: "swept"; trouble?: string } & Record<Count, number>;

/** `bytes` is the file size, `usedMs` the last use (ms since 1970). */
type StoredFile = { readonly path: string; readonly bytes: number; readonly usedMs: number };

/**
 * Stores bytes on disk by their sha256. Any number of processes can share a store, without a lock. It is
 * a cache: an object can vanish at any time, so every caller needs a fallback. No method throws or
 * rejects. The constructor does not access the disk.
 */
export class ObjectStore {
	readonly #options: Required<ObjectStoreOptions>;
	readonly #tmpFolder: string;
	/** Relative to the store's folder. */
	readonly #objectFolder: string;
	#opening: Promise<StoreFolder> | undefined;

	constructor(options: ObjectStoreOptions) {
		this.#options = { ...DEFAULTS, ...options };
		this.#tmpFolder = join(options.folder, "tmp");
		this.#objectFolder = dirname(this.#options.fileName(hashBytes("any")));
	}

	/** Stores the bytes, or records a use if they are already stored. `hash` must be the hash of the bytes. */
	async put(bytes: Uint8Array, hash = hashBytes(bytes)): Promise<PutResult> {
		const { maxObjectBytes, refuse } = this.#options;
		const refusal = await refuse(bytes);
		if (refusal !== undefined) return { ...failed("excluded", refusal), hash };
		if (bytes.length > maxObjectBytes) return { ...tooBig(maxObjectBytes), hash };
		const path = this.#pathOf(hash);
		for (let attempt = 1; ; attempt++) {
			const opened = await this.#open();
			if (opened.kind !== "ready") return { ...failed(opened.kind, opened.message), hash };
			try {
				if (await this.#isPresent(path, bytes.length)) return { kind: "present", hash };
				// Not flushed to disk, since `get` detects damage from a power cut.
				await writeFileAtomic(path, bytes, { tmpFolder: this.#tmpFolder });
				return { kind: "stored", hash };
			} catch (error) {
				// On Windows, the write fails if another process has the object open. The object is present then.
				const present = await this.#isPresent(path, bytes.length).catch(() => false);
				if (present) return { kind: "present", hash };
				if (errnoOf(error) !== "ENOENT" || attempt === 2) return { ...ioFault(error), hash };
				// The folder was removed during the session: retry once with a new folder.
				this.#opening = undefined;
			}
		}
	}

	/** Verifies the hash, and records a use of the object. */
	async get(hash: Hash): Promise<GetResult> {
		// Hashes come from session files; a malformed one must never become part of a path.
		if (!isHash(hash)) return { kind: "missing" };
		const { maxObjectBytes } = this.#options;
		const path = this.#pathOf(hash);
		return await this.#ifExisting<GetResult>({ kind: "missing" }, async () => {
			const file = await readRegularFile(path, maxObjectBytes);
			if (file.kind === "missing") return file;
			if (file.kind === "refused") {
				if (file.reason === "too-big") return tooBig(maxObjectBytes);
				return failed("not-a-file", `${path} is a link or a folder, not an object`);
			}
			if (hashBytes(file.bytes) !== hash) {
				await remove(path);
				return failed("corrupt", `${path} did not match its hash and was deleted`);
			}
			await this.#countUse(path, file.modifiedMs);
			return { kind: "found", bytes: file.bytes };
		});
	}

	/** Evicts the objects that {@link chooseEvicted} selects. Deletes temporary files that crashes left. */
	async sweep(maxBytes = this.#options.maxBytes): Promise<SweepResult> {
		const { maxAgeMs, now } = this.#options;
		const removed = { removedObjects: 0, removedBytes: 0, removedTemporary: 0 };
		const swept: Swept = { kind: "swept", ...removed, objects: 0, bytes: 0 };
		return await this.#ifExisting(swept, async () => {
			for await (const file of filesIn(this.#tmpFolder, isTemporaryName)) {
				if (Math.abs(now() - file.usedMs) <= TEMPORARY_AGE_MS) continue;
				if (await remove(file.path)) swept.removedTemporary++;
			}
			const objects: StoredFile[] = [];
			for await (const file of this.#objects()) {
				objects.push(await this.#withoutFutureDate(file));
				swept.objects++;
				swept.bytes += file.bytes;
			}
			for (const file of chooseEvicted(objects, { maxBytes, maxAgeMs, nowMs: now() })) {
				const outcome = await removeUnused(file, this.#tmpFolder);
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

	/** Evicts everything, by sweeping with a cap of 0 bytes. */
	async clear(): Promise<SweepResult> {
		return await this.sweep(0);
	}

	/** Best effort. Returns an empty list for an unusable store. */
	async list(): Promise<StoredFile[]> {
		return (await this.#look()).found;
	}

	/** If `fault` is set, the counts are lower bounds. */
	async stats(): Promise<{ objects: number; bytes: number; fault?: StoreFault }> {
		const { found, fault } = await this.#look();
		const bytes = found.reduce((sum, file) => sum + file.bytes, 0);
		return { objects: found.length, bytes, ...(fault && { fault }) };
	}

	/** Opens the folder once. After a failure the next call tries again, since disks can recover. */
	#open(): Promise<StoreFolder> {
		this.#opening ??= this.#openFolders().then((opened) => {
			if (opened.kind !== "ready") this.#opening = undefined;
			return opened;
		});
		return this.#opening;
	}

	async #openFolders(): Promise<StoreFolder> {
		const { folder, name, version, isLegacy } = this.#options;
		const owns = (entry: string) =>
			entry === this.#objectFolder || entry === "tmp" || this.#isObject(entry) || isLegacy(entry);
		const opened = await openStoreFolder({ folder, name, version, owns });
		if (opened.kind !== "ready") return opened;
		for (const inner of [join(folder, this.#objectFolder), this.#tmpFolder]) {
			const reason = await makeFolder(inner);
			if (reason === undefined) continue;
			return { kind: "unusable", message: `The ${name} store cannot use ${inner}: ${reason}.` };
		}
		return opened;
	}

	/** Does the work if the store is usable. Returns `absent` if the store does not exist. */
	async #ifExisting<T>(absent: T, work: () => Promise<T>): Promise<T | StoreFault> {
		try {
			if (this.#opening === undefined && (await isMissing(this.#options.folder))) return absent;
			const opened = await this.#open();
			return opened.kind === "ready" ? await work() : failed(opened.kind, opened.message);
		} catch (error) {
			return ioFault(error);
		}
	}

	async #look(): Promise<{ found: StoredFile[]; fault?: StoreFault }> {
		const found: StoredFile[] = [];
		const fault = await this.#ifExisting(undefined, async () => {
			for await (const file of this.#objects()) found.push(file);
			return undefined;
		});
		return { found, ...(fault && { fault }) };
	}

	#objects(): AsyncGenerator<StoredFile> {
		const folder = join(this.#options.folder, this.#objectFolder);
		return filesIn(folder, (name) => this.#isObject(name));
	}

	#isObject(entryName: string): boolean {
		const hash = entryName.match(/[0-9a-f]{64}/)?.[0];
		return isHash(hash) && basename(this.#options.fileName(hash)) === entryName;
	}

	#pathOf(hash: Hash): string {
		return join(this.#options.folder, this.#options.fileName(hash));
	}

	/** Records a use at most once per `USE_INTERVAL_MS`. Returns false if the object has vanished. */
	async #countUse(path: string, usedMs: number): Promise<boolean> {
		const nowMs = this.#options.now();
		// A time in the future is corrected too: otherwise the object would never expire.
		if (Math.abs(nowMs - usedMs) < USE_INTERVAL_MS) return true;
		try {
			await lutimes(path, nowMs / 1000, nowMs / 1000);
			return true;
		} catch (error) {
			// On a read-only disk the object stays usable; it only looks older than it is.
			return errnoOf(error) !== "ENOENT";
		}
	}

	/** An object dated in the future would never expire, so it counts as used now. */
	async #withoutFutureDate(file: StoredFile): Promise<StoredFile> {
		if (file.usedMs - this.#options.now() < USE_INTERVAL_MS) return file;
		await this.#countUse(file.path, file.usedMs);
		const stats = await statOf(file.path);
		return stats ? { ...file, usedMs: stats.mtimeMs } : file;
	}

	async #isPresent(path: string, size: number): Promise<boolean> {
		const stats = await statOf(path);
		if (!stats?.isFile() || stats.size !== size) return false;
		return await this.#countUse(path, stats.mtimeMs);
	}
}

/** Minimum time between mtime updates. Half of `RETENTION_GUARD_MS`, so a use without an update still protects the object for the other half. */
const USE_INTERVAL_MS = 5 * 60_000;
/** No write takes this long: an older temporary file was left by a crash. */
const TEMPORARY_AGE_MS = 60 * 60_000;

const DEFAULTS = {
	fileName: (hash: Hash) => `objects/sha256-${hash}.txt`,
	isLegacy: () => false,
	maxObjectBytes: 32 * 1024 * 1024,
	refuse: async () => undefined,
	now: () => Date.now(),
};

function failed(reason: StoreFault["reason"], message: string): StoreFault {
	return { kind: "failed", reason, message };
}

function tooBig(maxObjectBytes: number): StoreFault {
	return failed("too-big", `The object is larger than ${maxObjectBytes} bytes`);
}

function ioFault(error: unknown): StoreFault {
	return failed("io", describeError(error));
}

/** Returns a reason if this fails or the path is not a folder, such as a link in a repository. */
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

async function* filesIn(folder: string, isOurs: (name: string) => boolean) {
	if (await isMissing(folder)) return;
	for await (const entry of await opendir(folder)) {
		if (!isOurs(entry.name)) continue;
		const path = join(folder, entry.name);
		const stats = await statOf(path);
		if (stats?.isFile()) yield { path, bytes: stats.size, usedMs: stats.mtimeMs };
	}
}

/**
 * Deletes an object unless it was used since it was listed. Renames the object before the check: a use
 * before the rename shows in the mtime, and a `put` after the rename writes the object again.
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
