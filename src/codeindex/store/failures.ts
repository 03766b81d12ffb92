import { MalformedBytes } from "../../core/bytes.ts";
import { property } from "../../core/property.ts";
import { CodeIndexError } from "../code-index.ts";

/** The database is damaged, deleted or replaced, and must be rebuilt. */
export class DamagedDatabase extends Error {
	override readonly name = "DamagedDatabase";
}

export class UnavailableStore extends CodeIndexError {
	constructor({ message, cause }: { readonly message: string; readonly cause?: unknown }) {
		super("unavailable", message, { cause });
	}
}

type StoreFailure = "damaged" | "full" | "unwritable" | "busy" | "other";

const IO_ERROR = 10;
/** SQLite's primary codes: busy, read-only, corrupt, full, cannot open, not a database. */
const BY_CODE: Record<number, StoreFailure> = {
	5: "busy",
	8: "unwritable",
	11: "damaged",
	13: "full",
	14: "unwritable",
	26: "damaged",
};
/** SQLite's extended codes for a database file that was moved, and for a short read. */
const MOVED = 8 | (4 << 8);
const SHORT_READ = IO_ERROR | (2 << 8);
/** SQLite's I/O subcodes: write, file fsync, folder fsync, truncate, WAL memory (open, size, lock, map). */
const WRITING = new Set([3, 4, 5, 6, 18, 19, 20, 21]);

const BY_ERRNO: Record<string, StoreFailure> = {
	ENOSPC: "full",
	EDQUOT: "full",
	EFBIG: "full",
	EROFS: "unwritable",
	EACCES: "unwritable",
	EPERM: "unwritable",
};

/** `other`: not a known failure of SQLite or the disk. */
export function storeFailure(error: unknown): StoreFailure {
	if (error instanceof DamagedDatabase || error instanceof MalformedBytes) return "damaged";
	if (error instanceof UnavailableStore && error.cause !== undefined) {
		return storeFailure(error.cause);
	}
	const code = property(error, "errcode");
	if (typeof code !== "number") return BY_ERRNO[String(property(error, "code"))] ?? "other";
	if (code === SHORT_READ || code === MOVED) return "damaged";
	if ((code & 0xff) === IO_ERROR) return WRITING.has(code >> 8) ? "unwritable" : "other";
	return BY_CODE[code & 0xff] ?? "other";
}

export function meansDamage(code: number | undefined): boolean {
	return code !== undefined && BY_CODE[code] === "damaged";
}
