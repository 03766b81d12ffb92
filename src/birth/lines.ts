/** A text with the offsets of its lines, and the one behind its end. */
export interface LinedText {
	readonly text: string;
	/** Line k, from 0, ends at `starts[k + 1] - 1`. */
	readonly starts: Int32Array;
}

/** A text with two hashes for every line. */
export interface ScannedText extends LinedText {
	/** Equal lines have equal hashes. */
	readonly hashes: Int32Array;
	/** Lines that are equal but for digits and spaces have equal shapes. */
	readonly shapes: Int32Array;
}

/** Lines from `start` up to `end`, which become one line. */
export interface LineEdit {
	readonly start: number;
	readonly end: number;
	readonly line: string;
}

export function lineCount({ starts }: LinedText): number {
	return starts.length - 1;
}

/** Where a line ends: at its line end, or at the end of the text. */
export function lineEnd({ starts }: LinedText, line: number): number {
	return (starts[line + 1] as number) - 1;
}

export function lineAt(lined: LinedText, line: number): string {
	return lined.text.slice(lined.starts[line], lineEnd(lined, line));
}

export function lineStarts(text: string): Int32Array {
	const starts = [0];
	for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
	starts.push(text.length + 1);
	return Int32Array.from(starts);
}

const NEWLINE = 0x0a;
// As a 32-bit integer: another number would make the loop below four times as slow.
const FNV_START = 0x811c9dc5 | 0;
const FNV_PRIME = 0x01000193;

/** Reading units from a copy takes half the time of `charCodeAt`, whatever the string is made of. */
const CHUNK = 65_536;
const bytes = Buffer.allocUnsafeSlow(CHUNK * 2);
const units = new Uint16Array(bytes.buffer, 0, CHUNK);

/** A shape is the sum of its units' weights. Looking them up takes no branch, which would be slower. */
const WEIGHTS = new Int32Array(256).map((_, unit) =>
	/[\d ]/.test(String.fromCharCode(unit)) ? 0 : Math.imul(unit + 1, 0x9e3779b1) ^ (unit << 7),
);

export function scanLines(text: string): ScannedText {
	let starts = new Int32Array((text.length >>> 5) + 16);
	let hashes = new Int32Array(starts.length);
	let shapes = new Int32Array(starts.length);
	let count = 0;
	let hash = FNV_START;
	let shape = 0;
	const copy = units;
	const weights = WEIGHTS;
	for (let from = 0; from < text.length; from += CHUNK) {
		const length = bytes.write(text.slice(from, from + CHUNK), "utf16le") >>> 1;
		for (let at = 0; at < length; at++) {
			for (; at < length && copy[at] !== NEWLINE; at++) {
				const unit = copy[at] as number;
				hash = Math.imul(hash ^ unit, FNV_PRIME);
				shape = (shape + (weights[unit & 0xff] as number)) | 0;
			}
			if (at === length) break;
			hashes[count] = hash;
			shapes[count++] = shape;
			hash = FNV_START;
			shape = 0;
			if (count + 2 > starts.length) {
				[starts, hashes, shapes] = [doubled(starts), doubled(hashes), doubled(shapes)];
			}
			starts[count] = from + at + 1;
		}
	}
	hashes[count] = hash;
	shapes[count++] = shape;
	starts[count] = text.length + 1;
	return {
		text,
		starts: starts.slice(0, count + 1),
		hashes: hashes.slice(0, count),
		shapes: shapes.slice(0, count),
	};
}

function doubled(values: Int32Array<ArrayBuffer>): Int32Array<ArrayBuffer> {
	const larger = new Int32Array(values.length * 2);
	larger.set(values);
	return larger;
}

/** The text with all edits, as if it had been scanned. They are in order, and none overlaps another. */
export function withEdits(scanned: ScannedText, edits: readonly LineEdit[]): ScannedText {
	const removed = edits.reduce((sum, { start, end }) => sum + end - start - 1, 0);
	const count = lineCount(scanned) - removed;
	const starts = new Int32Array(count + 1);
	const hashes = new Int32Array(count);
	const shapes = new Int32Array(count);
	const parts: string[] = [];
	let [copied, made, offset] = [0, 0, 0];
	const copyUpTo = (line: number) => {
		hashes.set(scanned.hashes.subarray(copied, line), made);
		shapes.set(scanned.shapes.subarray(copied, line), made);
		const from = scanned.starts[copied] as number;
		for (let at = copied; at < line; at++) {
			starts[made++] = (scanned.starts[at] as number) - from + offset;
		}
		const end = scanned.starts[line] as number;
		if (end > from) parts.push(scanned.text.slice(from, end));
		offset += end - from;
	};
	for (const { start, end, line } of edits) {
		copyUpTo(start);
		const own = scanLines(line);
		hashes[made] = own.hashes[0] as number;
		shapes[made] = own.shapes[0] as number;
		starts[made++] = offset;
		const isLast = end === lineCount(scanned);
		parts.push(line, isLast ? "" : "\n");
		offset += line.length + 1;
		copied = end;
	}
	copyUpTo(lineCount(scanned));
	starts[count] = offset;
	return { text: parts.join(""), starts, hashes, shapes };
}

/** By how much shorter the text gets. */
export function savedBy({ starts }: LinedText, edits: readonly LineEdit[]): number {
	const saved = ({ start, end, line }: LineEdit) =>
		(starts[end] as number) - (starts[start] as number) - line.length - 1;
	return edits.reduce((sum, edit) => sum + saved(edit), 0);
}

/**
 * Scans texts and remembers the last one, since a result is made quiet, then decided on, then added: its
 * lines are scanned once.
 */
export class Scanner {
	#last: ScannedText | undefined;

	scan(text: string): ScannedText {
		if (this.#last?.text !== text) this.#last = scanLines(text);
		return this.#last;
	}

	edited(scanned: ScannedText, edits: readonly LineEdit[]): string {
		this.#last = withEdits(scanned, edits);
		return this.#last.text;
	}

	forget(): void {
		this.#last = undefined;
	}
}
