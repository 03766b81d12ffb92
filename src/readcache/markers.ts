import type { LineRange } from "./metadata.ts";

/** The whole file is as the model last saw it. */
export function unchangedMarker(totalLines: number): string {
	return `[readcache: unchanged, ${totalLines} lines]`;
}

/** These lines are as the model last saw them, and so is the rest of the file as far as we know. */
export function unchangedRangeMarker({ start, end }: LineRange, totalLines: number): string {
	return `[readcache: unchanged in lines ${start}-${end} of ${totalLines}]`;
}

/** These lines are as the model last saw them; other lines of the file are not. */
export function changedElsewhereMarker({ start, end }: LineRange): string {
	return `[readcache: unchanged in lines ${start}-${end}; changes exist outside this range]`;
}

/** Whether a text is a marker, and so shows nothing of a file. */
export function isMarker(text: string | undefined): boolean {
	return text?.startsWith("[readcache: unchanged") === true;
}

/** Stands above a diff. */
export function diffHeader(changedLines: number, totalLines: number): string {
	return `[readcache: ${changedLines} lines changed of ${totalLines}]`;
}
