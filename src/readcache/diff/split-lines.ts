/** The lines of a text as a unified diff shows them. */
import type { Steps } from "./slices.ts";

/** What unified diffs print below a last line that does not end with a newline. */
export const NO_FINAL_NEWLINE = "\\ No newline at end of file";

const LINES_PER_STEP = 2048;
const UNITS_TO_SPLIT = 15; // per line, see `Steps`

/**
 * The lines of a text without their newlines. Only "\n" separates: CR, U+0085, U+2028 and U+2029 stay in the
 * line. A last line without newline carries the note of unified diffs as a second row, which makes it
 * differ from the same line with a newline (no other line contains "\n") and print as it should.
 *
 * The empty line that pi counts after a final newline is not among them.
 */
export function* splitLines(text: string): Steps<string[]> {
	const lines: string[] = [];
	let start = 0;
	let reported = 0;
	for (let end = text.indexOf("\n"); end !== -1; end = text.indexOf("\n", start)) {
		lines.push(text.slice(start, end));
		start = end + 1;
		if (lines.length % LINES_PER_STEP !== 0) continue;
		yield LINES_PER_STEP * UNITS_TO_SPLIT + ((start - reported) >> 3);
		reported = start;
	}
	if (start < text.length) lines.push(`${text.slice(start)}\n${NO_FINAL_NEWLINE}`);
	yield (lines.length % LINES_PER_STEP) * UNITS_TO_SPLIT + ((text.length - reported) >> 3);
	return lines;
}
