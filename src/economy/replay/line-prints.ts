/** Short hashes of lines, so that two readings of a file can be compared after their text is gone. */
export interface LinePrints {
	/** One number a line; `undefined` when the session has had too many lines already. */
	of(text: string): Uint32Array | undefined;
}

/** Lines of all results of a session together: 16 MB of hashes. */
const MAX_LINES = 4_000_000;

export function createLinePrints(maxLines = MAX_LINES): LinePrints {
	let left = maxLines;
	return {
		of(text) {
			const lines = text.split("\n");
			if (lines.length > left) return undefined;
			left -= lines.length;
			return Uint32Array.from(lines, print);
		},
	};
}

/** How many lines of `text` are not, or not as often, in `base`. */
export function countNewLines(text: Uint32Array, base: Uint32Array): number {
	const unmatched = new Map<number, number>();
	for (const line of base) unmatched.set(line, (unmatched.get(line) ?? 0) + 1);
	let fresh = 0;
	for (const line of text) {
		const left = unmatched.get(line) ?? 0;
		if (left > 0) unmatched.set(line, left - 1);
		else fresh++;
	}
	return fresh;
}

/** FNV-1a over the UTF-16 units. A collision makes one changed line look unchanged in an estimate, no more. */
function print(line: string): number {
	let hash = 0x811c9dc5;
	for (let i = 0; i < line.length; i++) {
		hash = Math.imul(hash ^ line.charCodeAt(i), 0x01000193);
	}
	return hash >>> 0;
}
