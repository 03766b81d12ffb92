import { property } from "../../core/property.ts";
import { MalformedBytes } from "./bytes.ts";

/** The database is not what was stored: damaged, deleted or another one. It has to be made again. */
export class DamagedDatabase extends Error {
	constructor(message: string, options?: ErrorOptions) {
		super(message, options);
		this.name = "DamagedDatabase";
	}
}

/** What a failure of the store means for the one who asked. */
export type StoreFailure = "damaged" | "full" | "busy" | "other";

/** SQLite's primary result codes. */
const BUSY = 5;
const IO_ERROR = 10;
const CORRUPT = 11;
const FULL = 13;
const NOT_A_DATABASE = 26;
/** Further bits tell more: a read that ended early, and a database whose file was moved away. */
const SHORT_READ = IO_ERROR | (2 << 8);
const MOVED = 8 | (4 << 8);

/** Tells what a failure of the store means; `other` for what is none of SQLite's or the disk's. */
export function storeFailure(error: unknown): StoreFailure {
	if (error instanceof DamagedDatabase || error instanceof MalformedBytes) return "damaged";
	const code = property(error, "errcode");
	if (typeof code !== "number") return property(error, "code") === "ENOSPC" ? "full" : "other";
	if (code === SHORT_READ || code === MOVED) return "damaged";
	const primary = code & 0xff;
	if (meansDamage(primary)) return "damaged";
	switch (primary) {
		case FULL:
			return "full";
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
