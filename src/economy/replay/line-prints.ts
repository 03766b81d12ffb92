/** Short hashes of lines, so that two readings of a file can be compared after their text is gone. */
export interface LinePrints {
	/** One number a line, in ascending order; `undefined` when the session has had too many lines already. */
	of(text: string): Uint32Array | undefined;
}

/** Lines of all results of a session together: 16 MB of hashes. */
const MAX_LINES = 4_000_000;

/** One per session; `maxLines` bounds what all its texts take together. */
export function createLinePrints(maxLines = MAX_LINES): LinePrints {
	let left = maxLines;
	return {
		of(text) {
			const lines = text.split("\n");
			if (lines.length > left) return undefined;
			left -= lines.length;
			return Uint32Array.from(lines, print).sort();
		},
	};
}

/**
 * How many lines of `text` are not, or not as often, in `base`. Takes time by the length of `text`, however long `base`
 * is: a file may be read in thousands of small pieces after it was read as a whole.
 */
export function countNewLines(text: Uint32Array, base: Uint32Array): number {
	let fresh = 0;
	let next = 0; // lines of `base` before this one are smaller, or matched already
	for (const line of text) {
		next = firstFrom(next, base, line);
		if (base[next] === line) next++;
		else fresh++;
	}
	return fresh;
}

/** The first place at or behind `from` whose line is not smaller. */
function firstFrom(from: number, lines: Uint32Array, line: number): number {
	let [low, high] = [from, lines.length];
	while (low < high) {
		const middle = (low + high) >>> 1;
		if ((lines[middle] as number) < line) low = middle + 1;
		else high = middle;
	}
	return low;
}

/** FNV-1a over the UTF-16 units. A collision makes one changed line look unchanged in an estimate, no more. */
function print(line: string): number {
	let hash = 0x811c9dc5;
	for (let i = 0; i < line.length; i++) {
		hash = Math.imul(hash ^ line.charCodeAt(i), 0x01000193);
	}
	return hash >>> 0;
}
