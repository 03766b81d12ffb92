import type { Stats } from "node:fs";

/** These values change whenever the content of a file or the entries of a folder change. */
export interface FileTimes {
	readonly bytes: number;
	readonly mtimeMs: number;
	readonly ctimeMs: number;
	readonly inode: number;
}

export function timesOf({ size, mtimeMs, ctimeMs, ino }: Stats): FileTimes {
	return { bytes: size, mtimeMs, ctimeMs, inode: ino };
}

export function haveSameTimes(before: FileTimes, now: FileTimes): boolean {
	return (
		before.bytes === now.bytes &&
		before.mtimeMs === now.mtimeMs &&
		before.ctimeMs === now.ctimeMs &&
		before.inode === now.inode
	);
}

/** The coarsest timestamp resolution of file systems in use (FAT). */
const TICK_MS = 2_000;

/**
 * False if a write was less than a tick before `takenMs`: a second write in that tick would leave no
 * trace. `takenMs` is the time just before `before` was read.
 */
export function isSurelySame(before: FileTimes, takenMs: number, now: FileTimes): boolean {
	return haveSameTimes(before, now) && Math.max(now.mtimeMs, now.ctimeMs) < takenMs - TICK_MS;
}
