import { readFileSync, statSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { openForReading } from "../../core/sqlite.ts";
import { type Mark, markPath, NO_MARK, readMark } from "./mark.ts";
import {
	LOST,
	MARK_DAMAGED,
	NO_DATABASE,
	type Refusal,
	refusalOf,
	refusalOfCode,
} from "./refusal.ts";

/** The name of the row of `meta` that counts transactions. */
export const COMMITS = "commits";

/**
 * Looks whether the journal holds what its mark says it does, without changing a byte of it: opening it for writing would
 * drop what SQLite takes for the broken end of its log. Returns the mark, or why the journal must not be opened.
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
	// An older file under a newer log: each page comes from one or the other. One that cannot be read alone says nothing.
	const alone = pathToFileURL(path);
	alone.searchParams.set("immutable", "1");
	const folded = await commitsIn(alone.href);
	return typeof folded === "number" && folded < mark.folded ? LOST : mark;
}

/** A name for the time since the machine was started, or nothing where the system has none. */
export function bootName(): string | undefined {
	try {
		return readFileSync("/proc/sys/kernel/random/boot_id", "latin1").trim() || undefined;
	} catch {
		return undefined; // then only what is durable is asked for
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
