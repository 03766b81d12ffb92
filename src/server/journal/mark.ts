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
import * as refusals from "./refusal.ts";

/** The minimum that the journal must contain, because SQLite silently ends a log at a broken frame. */
export interface Mark {
	/** Last transaction that survives a power cut. */
	readonly durable: number;
	/** Last transaction. Applies only if the machine has not been rebooted since (`boot`). */
	readonly written: number;
	readonly boot: string;
	/** Last transaction in the main file, and the minimum size of that file. */
	readonly folded: number;
	readonly foldedBytes: number;
}

export const NO_MARK: Mark = { durable: 0, written: 0, boot: "", folded: 0, foldedBytes: 0 };

export function markPath(journalPath: string): string {
	return join(dirname(journalPath), "journal.mark");
}

/** Returns `undefined` if the file is missing, `damaged` if no copy parses. Throws disk errors. */
export function readMark(path: string): Mark | "damaged" | undefined {
	let bytes: Buffer;
	try {
		bytes = readFileSync(path);
	} catch (error) {
		if (errnoOf(error) === "ENOENT") return undefined;
		throw error;
	}
	let newest: Mark | undefined;
	for (const at of COPY_OFFSETS) {
		const mark = parse(bytes.toString("latin1", at, at + COPY_BYTES));
		if (mark && mark.written >= (newest?.written ?? 0)) newest = mark;
	}
	return newest ?? "damaged";
}

export class MarkFile {
	readonly #file: number;

	constructor(path: string, mark: Mark) {
		if (!existsSync(path)) make(path, mark);
		this.#file = openSync(path, "r+");
		// Replaces both copies, because one from before a power cut may have a higher number than the journal.
		writeAll(this.#file, mark);
	}

	/** Replaces the older copy. A power cut may leave an older mark, which detects fewer losses. */
	write(mark: Mark): void {
		writeSync(this.#file, textOf(mark), COPY_OFFSETS[mark.written % COPY_OFFSETS.length], "latin1");
	}

	close(): void {
		closeSync(this.#file);
	}
}

/** The file has two copies on separate pages: a torn write damages only one. */
const COPY_OFFSETS = [0, 4_096] as const;
const COPY_BYTES = 256;

/** Creates the file atomically: a full disk or a power cut must not look like damage. */
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
	for (const at of COPY_OFFSETS) writeSync(file, textOf(mark), at, "latin1");
}

function textOf(mark: Mark): string {
	const json = JSON.stringify(mark);
	return `${checksum(json)} ${json}`.padEnd(COPY_BYTES - 1).concat("\n");
}

function parse(text: string): Mark | undefined {
	const json = text.slice(9).trimEnd();
	return text.slice(0, 9) === `${checksum(json)} ` ? JSON.parse(json) : undefined;
}

function checksum(text: string): string {
	return crc32(text).toString(16).padStart(8, "0");
}

export const COMMITS = "commits";

/** Opens the journal read-only, because opening it for writing would truncate the log at a broken frame. */
export async function checkMark(path: string): Promise<Mark | refusals.Refusal> {
	const mark = readMark(markPath(path));
	if (mark === undefined) return NO_MARK;
	if (mark === "damaged") return refusals.MARK_DAMAGED;
	const { size } = statSync(path, { throwIfNoEntry: false }) ?? { size: 0 };
	if (size < mark.foldedBytes) return refusals.LOST;
	const atLeast = mark.boot === bootName() ? mark.written : mark.durable;
	// An empty file is not opened: SQLite deletes the log of an empty database, even on a read.
	if (size === 0) return atLeast > 0 ? refusals.LOST : mark;
	const known = await commitsIn(path);
	if (typeof known !== "number") return known;
	if (known < atLeast) return refusals.LOST;
	// An older main file under a newer log mixes pages of both, so the main file is read without its log.
	// If it is unreadable, that proves nothing.
	const alone = pathToFileURL(path);
	alone.searchParams.set("immutable", "1");
	const folded = await commitsIn(alone.href);
	return typeof folded === "number" && folded < mark.folded ? refusals.LOST : mark;
}

export function bootName(): string | undefined {
	try {
		return readFileSync("/proc/sys/kernel/random/boot_id", "latin1").trim() || undefined;
	} catch {
		return undefined; // without a name, only `durable` is checked
	}
}

async function commitsIn(path: string): Promise<number | refusals.Refusal> {
	const opened = await openForReading(path);
	if (opened.kind !== "open") {
		const errorCode = opened.kind === "unavailable" ? opened.errorCode : undefined;
		return refusals.refusalOfCode(errorCode) ?? refusals.NO_DATABASE;
	}
	const { database } = opened;
	try {
		const row = database.prepare("SELECT value FROM meta WHERE name = ?").get(COMMITS);
		return Number(row?.value ?? 0);
	} catch (error) {
		return refusals.refusalOf(error) ?? refusals.LOST;
	} finally {
		database.close();
	}
}
