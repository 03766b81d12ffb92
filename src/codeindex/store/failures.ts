import { property } from "../../core/property.ts";
import { CodeIndexError } from "../code-index.ts";
import { MalformedBytes } from "./bytes.ts";

/** The database is not what was stored: damaged, deleted or another one. It has to be made again. */
export class DamagedDatabase extends Error {
	constructor(message: string, options?: ErrorOptions) {
		super(message, options);
		this.name = "DamagedDatabase";
	}
}

/** The files of an index cannot be opened or made; `cause` is what the system or SQLite said. */
export class UnavailableStore extends CodeIndexError {
	constructor(message: string, cause?: unknown) {
		super("unavailable", message, cause === undefined ? {} : { cause });
	}

	/** Of a database that did not open. */
	static of(refused: { readonly message: string; readonly cause?: unknown }): UnavailableStore {
		return new UnavailableStore(refused.message, refused.cause);
	}
}

export type StoreFailure = "damaged" | "full" | "unwritable" | "busy" | "other";

const BUSY = 5;
const READ_ONLY = 8;
const IO_ERROR = 10;
const CORRUPT = 11;
const FULL = 13;
const CANNOT_OPEN = 14;
const NOT_A_DATABASE = 26;
/** Further bits tell more: a read that ended early, and a database whose file was moved away. */
const SHORT_READ = IO_ERROR | (2 << 8);
const MOVED = READ_ONLY | (4 << 8);
/** Further bits of I/O errors: write, fsync (2), truncate, and the shared memory of a log (open, size, lock, map). */
const WRITING = new Set([3, 4, 5, 6, 18, 19, 20, 21]);

/** Tells what a failure of the store means; `other` for what is none of SQLite's or the disk's. */
export function storeFailure(error: unknown): StoreFailure {
	if (error instanceof DamagedDatabase || error instanceof MalformedBytes) return "damaged";
	const code = property(error, "errcode");
	if (typeof code !== "number") return failureOfDisk(error);
	if (code === SHORT_READ || code === MOVED) return "damaged";
	const primary = code & 0xff;
	if (meansDamage(primary)) return "damaged";
	switch (primary) {
		case FULL:
			return "full";
		case READ_ONLY:
		case CANNOT_OPEN:
			return "unwritable";
		case IO_ERROR:
			return WRITING.has(code >> 8) ? "unwritable" : "other";
		case BUSY:
			return "busy";
		default:
			return "other";
	}
}

/** Whether SQLite's primary code says that the file is no sound database. */
export function meansDamage(code: number | undefined): boolean {
	return code === CORRUPT || code === NOT_A_DATABASE;
}

/** What a failed system call means, or the one behind an error that explains it. */
function failureOfDisk(error: unknown): StoreFailure {
	switch (property(error, "code")) {
		case "ENOSPC":
		case "EDQUOT":
		case "EFBIG":
			return "full";
		case "EROFS":
		case "EACCES":
		case "EPERM":
			return "unwritable";
		default:
			return error instanceof UnavailableStore && error.cause !== undefined
				? storeFailure(error.cause)
				: "other";
	}
}
