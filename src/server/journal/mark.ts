import {
	closeSync,
	existsSync,
	fsyncSync,
	openSync,
	readFileSync,
	renameSync,
	statSync,
	writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { crc32 } from "node:zlib";
import { errnoOf } from "../../core/errno.ts";
import { openForReading } from "../../core/sqlite.ts";
import {
	LOST,
	MARK_DAMAGED,
	NO_DATABASE,
	type Refusal,
	refusalOf,
	refusalOfCode,
} from "./refusal.ts";

/**
 * A lower bound of what the journal holds, written beside it after each transaction. SQLite silently ends a log at the
 * first broken frame: with the mark the next process detects that something confirmed is missing.
 */
export interface Mark {
	/** The number of the last transaction that a power cut cannot lose. */
	durable: number;
	/** The number of the last transaction. Holds for the boot of this name. */
	written: number;
	boot: string;
	/** The last transaction known to be in the database's own file, and the size of that file at least. */
	folded: number;
	foldedBytes: number;
}

export const NO_MARK: Mark = { durable: 0, written: 0, boot: "", folded: 0, foldedBytes: 0 };

export function markPath(journalPath: string): string {
	return join(dirname(journalPath), "journal.mark");
}

/** Reads a mark: `undefined` where there is none, `damaged` where it cannot be one. Throws what the disk says. */
export function readMark(path: string): Mark | "damaged" | undefined {
	let bytes: Buffer;
	try {
		bytes = readFileSync(path);
	} catch (error) {
		if (errnoOf(error) === "ENOENT") return undefined;
		throw error;
	}
	let newest: Mark | undefined;
	for (const at of SLOTS) {
		const mark = parse(bytes.toString("latin1", at, at + SLOT_BYTES));
		if (mark && mark.written >= (newest?.written ?? 0)) newest = mark;
	}
	return newest ?? "damaged";
}

export class MarkFile {
	readonly #file: number;

	constructor(path: string, mark: Mark) {
		if (!existsSync(path)) make(path, mark);
		this.#file = openSync(path, "r+");
		// Both: one from before a power cut may have a higher number than the journal has now.
		writeAll(this.#file, mark);
	}

	/** Replaces the mark before the last one. A power cut may leave an earlier mark, which detects less. */
	write(mark: Mark): void {
		writeSync(this.#file, textOf(mark), SLOTS[mark.written % SLOTS.length], "latin1");
	}

	close(): void {
		closeSync(this.#file);
	}
}

/** In separate pages: a torn write leaves the other one. */
const SLOTS = [0, 4_096] as const;
const SLOT_BYTES = 256;

/** Atomic: a full disk or a power cut must not look like damage. */
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

export const COMMITS = "commits";

/**
 * Checks that the journal holds what its mark says, without changing a byte of it: opening it for writing would drop what
 * SQLite takes for the broken end of its log. Returns the mark, or why the journal must not be opened.
 */
export async function checkMark(path: string): Promise<Mark | Refusal> {
	const mark = readMark(markPath(path));
	if (mark === undefined) return NO_MARK;
	if (mark === "damaged") return MARK_DAMAGED;
	const { size } = statSync(path, { throwIfNoEntry: false }) ?? { size: 0 };
	if (size < mark.foldedBytes) return LOST;
	const atLeast = mark.boot === bootName() ? mark.written : mark.durable;
	// SQLite deletes the log of a database that is empty, even when it only reads.
	if (size === 0) return atLeast > 0 ? LOST : mark;
	const known = await commitsIn(path);
	if (typeof known !== "number") return known;
	if (known < atLeast) return LOST;
	// An older file under a newer log mixes pages of both. A file that cannot be read alone proves nothing.
	const alone = pathToFileURL(path);
	alone.searchParams.set("immutable", "1");
	const folded = await commitsIn(alone.href);
	return typeof folded === "number" && folded < mark.folded ? LOST : mark;
}

/** Names the time since the machine was started, on systems that can. */
export function bootName(): string | undefined {
	try {
		return readFileSync("/proc/sys/kernel/random/boot_id", "latin1").trim() || undefined;
	} catch {
		return undefined; // then only what is durable is checked
	}
}

async function commitsIn(path: string): Promise<number | Refusal> {
	const opened = await openForReading(path);
	if (opened.kind !== "open") {
		const errorCode = opened.kind === "unavailable" ? opened.errorCode : undefined;
		return refusalOfCode(errorCode) ?? NO_DATABASE;
	}
	const { database } = opened;
	try {
		const row = database.prepare("SELECT value FROM meta WHERE name = ?").get(COMMITS);
		return Number(row?.value ?? 0);
	} catch (error) {
		return refusalOf(error) ?? LOST;
	} finally {
		database.close();
	}
}
