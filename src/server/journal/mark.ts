import {
	closeSync,
	existsSync,
	fsyncSync,
	openSync,
	readFileSync,
	renameSync,
	writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { crc32 } from "node:zlib";

/**
 * What the journal holds at least, written beside it after each transaction. SQLite ends a log at the first frame that is
 * not whole, without a word: this is how the next process notices that something confirmed is missing.
 */
export interface Mark {
	/** The number of the last transaction that a power cut cannot lose. */
	durable: number;
	/** The number of the last transaction. Holds while the machine runs, that is for the boot of this name. */
	written: number;
	boot: string;
	/** The last transaction that is known to be in the database's own file, and how large that was at least. */
	folded: number;
	foldedBytes: number;
}

export const NO_MARK: Mark = { durable: 0, written: 0, boot: "", folded: 0, foldedBytes: 0 };

/** The mark of the journal at this path. */
export function markPath(journalPath: string): string {
	return join(dirname(journalPath), "journal.mark");
}

/** Reads a mark: `undefined` where there is none, `damaged` where it cannot be one. Throws what the disk says. */
export function readMark(path: string): Mark | "damaged" | undefined {
	let bytes: Buffer;
	try {
		bytes = readFileSync(path);
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
		throw error;
	}
	let newest: Mark | undefined;
	for (const at of SLOTS) {
		const mark = parse(bytes.toString("latin1", at, at + SLOT_BYTES));
		if (mark && mark.written >= (newest?.written ?? 0)) newest = mark;
	}
	return newest ?? "damaged";
}

/** The file of a mark, open for writing. */
export class MarkFile {
	readonly #file: number;

	/** Opens the file, or makes it, with this mark in it. */
	constructor(path: string, mark: Mark) {
		if (!existsSync(path)) make(path, mark);
		this.#file = openSync(path, "r+");
		// Both: one from before a power cut may have a higher number than the journal has now.
		writeAll(this.#file, mark);
	}

	/**
	 * Takes the place of the mark before the last one. The death of the process does not lose it. A power cut may: then the
	 * next process finds an earlier mark, and notices less.
	 */
	write(mark: Mark): void {
		writeSync(this.#file, textOf(mark), SLOTS[mark.written % SLOTS.length], "latin1");
	}

	close(): void {
		closeSync(this.#file);
	}
}

/** In pages of their own, so that a write that breaks off leaves the other one. */
const SLOTS = [0, 4_096] as const;
const SLOT_BYTES = 256;

/** Under its name there is either nothing or a whole mark: a disk that is full, or a power cut, must not look like damage. */
function make(path: string, mark: Mark): void {
	const unfinished = `${path}.new`;
	const file = openSync(unfinished, "w", 0o600);
	try {
		writeAll(file, mark);
		fsyncSync(file);
	} finally {
		closeSync(file);
	}
	renameSync(unfinished, path);
}

function writeAll(file: number, mark: Mark): void {
	for (const at of SLOTS) writeSync(file, textOf(mark), at, "latin1");
}

function textOf(mark: Mark): string {
	const json = JSON.stringify(mark);
	return `${checksum(json)} ${json}`.padEnd(SLOT_BYTES - 1).concat("\n");
}

function parse(text: string): Mark | undefined {
	const json = text.slice(9).trimEnd();
	return text.slice(0, 9) === `${checksum(json)} ` ? JSON.parse(json) : undefined;
}

function checksum(text: string): string {
	return crc32(text).toString(16).padStart(8, "0");
}
