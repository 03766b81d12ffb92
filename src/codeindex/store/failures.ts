import { property } from "../../core/property.ts";
import { CodeIndexError } from "../code-index.ts";
import { MalformedBytes } from "./bytes.ts";

/** Damaged, deleted or replaced: rebuild. */
export class DamagedDatabase extends Error {
	constructor(message: string, options?: ErrorOptions) {
		super(message, options);
		this.name = "DamagedDatabase";
	}
}

export class UnavailableStore extends CodeIndexError {
	constructor(message: string, cause?: unknown) {
		super("unavailable", message, cause === undefined ? {} : { cause });
	}

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
/** SQLite extended codes: short read, and a moved database file. */
const SHORT_READ = IO_ERROR | (2 << 8);
const MOVED = READ_ONLY | (4 << 8);
/** SQLite I/O subcodes: write, fsync (2), truncate, WAL memory (open, size, lock, map). */
const WRITING = new Set([3, 4, 5, 6, 18, 19, 20, 21]);

/** `other`: neither SQLite nor the disk. */
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

export function meansDamage(code: number | undefined): boolean {
	return code === CORRUPT || code === NOT_A_DATABASE;
}

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
