import { sqliteErrorCode } from "../../core/sqlite.ts";

export interface Refusal {
	/** For clients: no paths, no content. */
	readonly why: string;
	/** A retry cannot help or would do harm: a person must act and restart the server. */
	readonly permanent: boolean;
}

/** Returns `undefined` if the error is about a record, not the file. */
export function refusalOf(error: unknown): Refusal | undefined {
	return refusalOfCode(sqliteErrorCode(error));
}

export function refusalOfCode(code: number | undefined): Refusal | undefined {
	return REASONS.get(code ?? -1);
}

/** Permanent, because a damaged journal can look empty, and its commands must not run again. */
export const DAMAGED = permanent(
	"the journal's file is damaged; restore it, or move it and journal.mark away, then restart the server",
);

/** Permanent: SQLite would continue with the remaining records, so confirmed commands could run again. */
export const LOST = permanent(
	"the journal lacks records that were already confirmed, because journal.db or journal.db-wal is damaged, truncated, missing or outdated; restore both files, or delete journal.mark to continue without the lost records, then restart the server",
);

export const MARK_DAMAGED = permanent(
	"journal.mark is damaged, so the server cannot tell whether the journal is complete; restore journal.mark, or delete it to continue with the journal as it is, then restart the server",
);

export const NO_DATABASE = transient("the journal's database cannot be used on this host");

export const NEWER = permanent("the journal was written by a newer pi-strata; update pi-strata");

/** The journal has content that this process did not recover. */
export const FOUND_LATE = permanent(
	"the journal could not be read when the server started, but it can be read now; restart the server",
);

/** SQLite keeps writing to an unlinked file, which is lost when the process ends. */
export const TAKEN_AWAY = permanent(
	"the journal's file was removed or replaced while the server ran; restore it, then restart the server",
);

export const DISK_FULL = transient(
	"the journal's disk is full, or its file has reached its size limit",
);

const HELD = transient("another process has locked the journal");

/** Refusals by SQLite's primary error code. */
const REASONS: ReadonlyMap<number, Refusal> = new Map([
	[3, transient("the server has no permission to access the journal's file")],
	[5, HELD],
	[6, HELD],
	[7, transient("there is not enough memory to write the journal")],
	[8, transient("the journal's file cannot be written")],
	[10, transient("the disk of the journal reports an error")],
	[11, DAMAGED],
	[13, DISK_FULL],
	[14, transient("the journal's file cannot be opened")],
	[15, HELD],
	[26, DAMAGED],
]);

function transient(why: string): Refusal {
	return { why, permanent: false };
}

function permanent(why: string): Refusal {
	return { why, permanent: true };
}
