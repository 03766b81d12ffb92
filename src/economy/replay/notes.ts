import type { ReplayReport } from "./report.ts";

/** What of the file is not in the report, in sentences; none for a sound file. */
export function skippedNotes({
	skipped,
	skippedBy,
}: Pick<ReplayReport, "skipped" | "skippedBy">): string[] {
	const notes: string[] = [];
	const { damaged, tooLong, surplus, relinked, requests } = skippedBy;
	if (skipped > 0) {
		notes.push(
			`${skipped} lines were skipped: ${damaged} damaged, ${tooLong} too long, ${surplus} beyond the limit.`,
		);
	}
	if (relinked > 0) {
		notes.push(
			`${relinked} entries name a parent that is not there; they were taken to follow the line above.`,
		);
	}
	if (requests > 0) {
		notes.push(`The session is too large: its last ${requests} requests are left out.`);
	}
	return notes;
}
