import type { ScannedFile } from "./scanned-tree.ts";

/** What was stored about a file when its content was last read. */
export interface KnownFile extends ScannedFile {
	/** When its stat data was taken, before the content was read (ms since 1970). */
	readonly storedMs: number;
}

/** How a scan differs from what was stored. */
export interface FileChanges {
	readonly added: readonly ScannedFile[];
	readonly removed: readonly string[];
	/** Surely as they were. */
	readonly unchanged: readonly ScannedFile[];
	/** These may have changed: only their content tells. */
	readonly toHash: readonly ScannedFile[];
}

/**
 * Compares a scan with what was stored. A file counts as unchanged only if nothing about it differs and it
 * was not written around the time it was stored: clocks of file systems are coarse, and a second write within the
 * same tick leaves no trace in its times.
 */
export function changedFiles(
	known: ReadonlyMap<string, KnownFile>,
	scanned: readonly ScannedFile[],
): FileChanges {
	const added: ScannedFile[] = [];
	const unchanged: ScannedFile[] = [];
	const toHash: ScannedFile[] = [];
	for (const file of scanned) {
		const before = known.get(file.path);
		if (before === undefined) added.push(file);
		else if (isSame(before, file)) unchanged.push(file);
		else toHash.push(file);
	}
	const removed: string[] = [];
	if (unchanged.length + toHash.length < known.size) {
		const present = new Set(scanned.map((file) => file.path));
		for (const path of known.keys()) if (!present.has(path)) removed.push(path);
	}
	return { added, removed, unchanged, toHash };
}

/**
 * What was written less than this before it was looked at may be written again without a trace in its times. The
 * coarsest times in use are those of FAT.
 */
export const tickMs = 2_000;

function isSame(before: KnownFile, now: ScannedFile): boolean {
	return (
		before.bytes === now.bytes &&
		before.mtimeMs === now.mtimeMs &&
		before.ctimeMs === now.ctimeMs &&
		before.inode === now.inode &&
		Math.max(now.mtimeMs, now.ctimeMs) < before.storedMs - tickMs
	);
}
