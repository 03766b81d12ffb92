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
	/** Shorter than {@link CHUNK}. */
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
	const line = newLineHash();
	for (let from = 0; from < text.length; from += CHUNK) {
		const length = bytes.write(text.slice(from, from + CHUNK), "utf16le") >>> 1;
		for (let at = addLine(line, 0, length); at < length; at = addLine(line, at + 1, length)) {
			hashes[count] = line.hash;
			shapes[count++] = line.shape;
			startLine(line);
			if (count + 2 > starts.length) {
				[starts, hashes, shapes] = [doubled(starts), doubled(hashes), doubled(shapes)];
			}
			starts[count] = from + at + 1;
		}
	}
	hashes[count] = line.hash;
	shapes[count++] = line.shape;
	starts[count] = text.length + 1;
	return {
		text,
		starts: starts.slice(0, count + 1),
		hashes: hashes.slice(0, count),
		shapes: shapes.slice(0, count),
	};
}

/** Of a line up to where it was read. */
interface LineHash {
	hash: number;
	shape: number;
}

function newLineHash(): LineHash {
	return { hash: FNV_START, shape: 0 };
}

function startLine(line: LineHash): void {
	line.hash = FNV_START;
	line.shape = 0;
}

/**
 * Adds the units from `from` up to a line end or to `end`, and returns where it stopped. A function of its
 * own: inside the loop over lines, V8 would optimize it and give up again at every line.
 */
function addLine(line: LineHash, from: number, end: number): number {
	let { hash, shape } = line;
	let at = from;
	for (; at < end; at++) {
		const unit = units[at] as number;
		if (unit === NEWLINE) break;
		hash = Math.imul(hash ^ unit, FNV_PRIME);
		shape = (shape + (WEIGHTS[unit & 0xff] as number)) | 0;
	}
	line.hash = hash;
	line.shape = shape;
	return at;
}

function doubled(values: Int32Array<ArrayBuffer>): Int32Array<ArrayBuffer> {
	const larger = new Int32Array(values.length * 2);
	larger.set(values);
	return larger;
}

/** The text with all edits, as if it had been scanned. They are in order, and none overlaps another. */
function withEdits(scanned: ScannedText, edits: readonly LineEdit[]): ScannedText {
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
		copyMoved(scanned.starts.subarray(copied, line), starts, made, offset - from);
		made += line - copied;
		const end = scanned.starts[line] as number;
		if (end > from) parts.push(scanned.text.slice(from, end));
		offset += end - from;
	};
	const own = newLineHash();
	for (const { start, end, line } of edits) {
		copyUpTo(start);
		startLine(own);
		addLine(own, 0, bytes.write(line, "utf16le") >>> 1);
		hashes[made] = own.hash;
		shapes[made] = own.shape;
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

/** Copies offsets, each moved by the same distance. */
function copyMoved(from: Int32Array, to: Int32Array, at: number, by: number): void {
	for (let index = 0; index < from.length; index++) to[at + index] = (from[index] as number) + by;
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
