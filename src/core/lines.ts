/**
 * A text file's bytes with its lines, counted as pi counts them: split at "\n", so a final newline is followed by
 * one more, empty line. Lines are 1-based; "\r" belongs to its line.
 */
export interface Lines {
	readonly bytes: Buffer;
	readonly count: number;
	/** The bytes of lines `first` to `last` without the newline after the last one. */
	slice(first: number, last: number): Buffer;
	/** How many bytes `slice(first, last)` has. */
	size(first: number, last: number): number;
}

const NEWLINE = 10;

/** Finds the lines of a file. */
export function linesOf(bytes: Buffer): Lines {
	const starts = lineStarts(bytes);
	const startOf = (line: number) => starts[line - 1] as number;
	const endOf = (line: number) => (line < starts.length ? startOf(line + 1) - 1 : bytes.length);
	return {
		bytes,
		count: starts.length,
		slice: (first, last) => bytes.subarray(startOf(first), endOf(last)),
		size: (first, last) => endOf(last) - startOf(first),
	};
}

/** A plain loop: on files of ordinary line length it beats a search call per line. */
function lineStarts(bytes: Buffer): number[] {
	const starts = [0];
	for (let at = 0; at < bytes.length; at++) {
		if (bytes[at] === NEWLINE) starts.push(at + 1);
	}
	return starts;
}
