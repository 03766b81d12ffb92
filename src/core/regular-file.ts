import * as fs from "node:fs";
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { lstat } from "node:fs/promises";
import { promisify } from "node:util";
import { errnoOf } from "./errno.ts";

type RegularFile =
	| { readonly kind: "read"; readonly bytes: Buffer; readonly modifiedMs: number }
	| { readonly kind: "missing" }
	| { readonly kind: "refused"; readonly reason: "not-a-file" | "too-big" };

// Plain descriptors, since a `FileHandle` takes twice as long for a small file (`bench/readcache.ts`).
const open = promisify(fs.open);
const read = promisify(fs.read);

/** For untrusted files. Refuses a link as `path`, and never blocks on a pipe. Throws on other failures. */
export async function readRegularFile(path: string, maxBytes: number): Promise<RegularFile> {
	const file = await openWithoutFollowing(path);
	if (typeof file !== "number") return file;
	try {
		// Synchronous `fstat` and `close` take a microsecond each; the thread pool costs a tenth of pi's read.
		const stats = fstatSync(file);
		if (!stats.isFile()) return NOT_A_FILE;
		if (stats.size > maxBytes) return { kind: "refused", reason: "too-big" };
		// Generated files (`/proc`) have content but report size 0.
		const isGenerated = stats.size === 0 && (await readUpTo(file, 1)).length > 0;
		if (isGenerated) return NOT_A_FILE;
		return { kind: "read", bytes: await readUpTo(file, stats.size), modifiedMs: stats.mtimeMs };
	} finally {
		closeSync(file);
	}
}

// Windows lacks both flags. Without O_NONBLOCK, opening a pipe blocks until the pipe has a writer.
const FOLLOWING_FLAGS = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);
const FLAGS = FOLLOWING_FLAGS | (constants.O_NOFOLLOW ?? 0);

const NOT_A_FILE = { kind: "refused", reason: "not-a-file" } as const;

async function openWithoutFollowing(path: string): Promise<number | RegularFile> {
	try {
		const isFollowed = constants.O_NOFOLLOW === undefined;
		if (isFollowed && (await lstat(path)).isSymbolicLink()) return NOT_A_FILE;
		return await open(path, FLAGS);
	} catch (error) {
		if (errnoOf(error) === "ENOENT") return { kind: "missing" };
		if (errnoOf(error) === "ELOOP") return NOT_A_FILE;
		throw error;
	}
}

async function readUpTo(file: number, size: number): Promise<Buffer> {
	const bytes = Buffer.allocUnsafe(size);
	let filled = 0;
	while (filled < size) {
		const { bytesRead } = await read(file, bytes, filled, size - filled, filled);
		if (bytesRead === 0) break;
		filled += bytesRead;
	}
	return bytes.subarray(0, filled);
}

/** Reads up to `length` bytes from `start` on. Follows links. Never blocks on a pipe. */
export function readPartSync(path: string, start: number, length: number): Buffer {
	return withFileSync(path, FOLLOWING_FLAGS, (file, { size }) =>
		// Tries to read up to 64 KiB whatever the size, since some file systems report a size of 0.
		readRangeSync(file, start, Math.min(length, Math.max(65_536, size - start))),
	);
}

/** `undefined` if `path` is not a regular file; no `bytes` above `maxBytes`. Never blocks on a pipe. */
export function readWholeSync(path: string, maxBytes: number, followLinks: boolean) {
	return withFileSync(path, followLinks ? FOLLOWING_FLAGS : FLAGS, (file, stats) => {
		if (!stats.isFile()) return undefined;
		const { size } = stats;
		return { size, bytes: size > maxBytes ? undefined : readRangeSync(file, 0, size) };
	});
}

function withFileSync<T>(path: string, mode: number, use: (file: number, stats: fs.Stats) => T): T {
	const file = openSync(path, mode);
	try {
		return use(file, fstatSync(file));
	} finally {
		closeSync(file);
	}
}

function readRangeSync(file: number, start: number, length: number): Buffer {
	const bytes = Buffer.allocUnsafe(length);
	let filled = 0;
	for (let count = -1; count !== 0 && filled < length; filled += count)
		count = readSync(file, bytes, filled, length - filled, start + filled);
	return bytes.subarray(0, filled);
}
