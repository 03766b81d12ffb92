import { sqliteErrorCode } from "../../core/sqlite.ts";

/** Why the journal does not take records. */
export interface Refusal {
	/** For clients and people: no paths, nothing of what was to be written. */
	why: string;
	/** Trying again cannot help, or would do harm: someone must look at the file and start the server again. */
	lasting: boolean;
}

/** What a failure of SQLite means for the journal; `undefined` when it is about the record and not about the file. */
export function refusalOf(error: unknown): Refusal | undefined {
	return refusalOfCode(sqliteErrorCode(error));
}

export function refusalOfCode(code: number | undefined): Refusal | undefined {
	const known = REASONS.get(code ?? -1);
	return known && { why: known.why, lasting: known.lasting ?? false };
}

/** A journal that was damaged while it was closed can look empty, and ids in it must not run again: hence lasting. */
export const DAMAGED: Refusal = {
	why: "the journal's file is damaged; restore it, or move it and journal.mark away, then start the server again",
	lasting: true,
};

/** SQLite would go on with what is left, and run ids again that were confirmed. */
export const LOST: Refusal = {
	why: "the journal lacks commands that were confirmed: its log or its file is damaged, cut, gone or an older one; restore it, or delete journal.mark to go on without them, then start the server again",
	lasting: true,
};

export const MARK_DAMAGED: Refusal = {
	why: "journal.mark is damaged, so it is not known whether the journal is whole; restore it, or delete it to go on with the journal as it is, then start the server again",
	lasting: true,
};

export const NO_DATABASE: Refusal = {
	why: "the journal's database cannot be used on this host",
	lasting: false,
};

export const NEWER: Refusal = {
	why: "the journal was written by a newer pi-strata; update pi-strata",
	lasting: true,
};

/** The journal could not be read when the server started, and what it holds is unknown to this process. */
export const FOUND_LATE: Refusal = {
	why: "the journal could not be read when the server started, but can be now; start the server again",
	lasting: true,
};

/** SQLite goes on writing to a file that has no name any more, and nobody would ever find it again. */
export const TAKEN_AWAY: Refusal = {
	why: "the journal's file was removed or replaced while the server ran; bring it back, then start the server again",
	lasting: true,
};

/** By SQLite's primary error code. */
const REASONS = new Map<number, { why: string; lasting?: boolean }>([
	[3, { why: "the journal's file may not be accessed" }],
	[5, { why: "another process holds the journal" }],
	[6, { why: "another process holds the journal" }],
	[7, { why: "there is not enough memory to write the journal" }],
	[8, { why: "the journal's file cannot be written" }],
	[10, { why: "the disk of the journal reports an error" }],
	[11, DAMAGED],
	[13, { why: "the disk of the journal is full" }],
	[14, { why: "the journal's file cannot be opened" }],
	[15, { why: "another process holds the journal" }],
	[26, DAMAGED],
]);
