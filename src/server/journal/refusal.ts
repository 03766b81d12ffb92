import { sqliteErrorCode } from "../../core/sqlite.ts";

export interface Refusal {
	/** For clients: no paths, no content. */
	why: string;
	/** A retry cannot help or does harm: a person must act and restart the server. */
	lasting: boolean;
}

/** `undefined` if the error is about the record, not the file. */
export function refusalOf(error: unknown): Refusal | undefined {
	return refusalOfCode(sqliteErrorCode(error));
}

export function refusalOfCode(code: number | undefined): Refusal | undefined {
	return REASONS.get(code ?? -1);
}

/** Lasting: a damaged journal can look empty, and its ids must not run again. */
export const DAMAGED = lasting(
	"the journal's file is damaged; restore it, or move it and journal.mark away, then start the server again",
);

/** SQLite would continue with the rest: confirmed ids would run again. */
export const LOST = lasting(
	"the journal lacks commands that were confirmed: its log or its file is damaged, cut, gone or an older one; restore it, or delete journal.mark to go on without them, then start the server again",
);

export const MARK_DAMAGED = lasting(
	"journal.mark is damaged, so it is not known whether the journal is whole; restore it, or delete it to go on with the journal as it is, then start the server again",
);

export const NO_DATABASE = passing("the journal's database cannot be used on this host");

export const NEWER = lasting("the journal was written by a newer pi-strata; update pi-strata");

/** This process does not know the content. */
export const FOUND_LATE = lasting(
	"the journal could not be read when the server started, but can be now; start the server again",
);

/** SQLite keeps writing to an unlinked file, which is lost at the end. */
export const TAKEN_AWAY = lasting(
	"the journal's file was removed or replaced while the server ran; bring it back, then start the server again",
);

export const DISK_FULL = passing("the disk of the journal is full");

const HELD = passing("another process holds the journal");

/** By SQLite's primary error code. */
const REASONS: ReadonlyMap<number, Refusal> = new Map([
	[3, passing("the journal's file may not be accessed")],
	[5, HELD],
	[6, HELD],
	[7, passing("there is not enough memory to write the journal")],
	[8, passing("the journal's file cannot be written")],
	[10, passing("the disk of the journal reports an error")],
	[11, DAMAGED],
	[13, DISK_FULL],
	[14, passing("the journal's file cannot be opened")],
	[15, HELD],
	[26, DAMAGED],
]);

function passing(why: string): Refusal {
	return { why, lasting: false };
}

function lasting(why: string): Refusal {
	return { why, lasting: true };
}
