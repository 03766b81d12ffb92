import type { LinedText } from "./reference.ts";

/** A text with a hash for every window: `size` consecutive lines. */
export interface ScannedText extends LinedText {
	/** By the window's first line. Equal windows have equal hashes. */
	readonly windows: Int32Array;
}

const NEWLINE = 0x0a;
// As a 32-bit integer: another number would make the loop below four times as slow.
const FNV_START = 0x811c9dc5 | 0;
const FNV_PRIME = 0x01000193;
const BASE = 0x2c1b3c6d;

/** Reading units from a copy takes half the time of `charCodeAt`, whatever the string is made of. */
const CHUNK = 65_536;
const bytes = Buffer.allocUnsafeSlow(CHUNK * 2);
const units = new Uint16Array(bytes.buffer, 0, CHUNK);

export function scanLines(text: string, size: number): ScannedText {
	let starts = new Int32Array((text.length >>> 5) + 16);
	let hashes = new Int32Array(starts.length);
	let count = 0;
	let hash = FNV_START;
	const copy = units;
	for (let from = 0; from < text.length; from += CHUNK) {
		const length = bytes.write(text.slice(from, from + CHUNK), "utf16le") >>> 1;
		for (let at = 0; at < length; at++) {
			for (; at < length && copy[at] !== NEWLINE; at++) {
				hash = Math.imul(hash ^ (copy[at] as number), FNV_PRIME);
			}
			if (at === length) break;
			hashes[count++] = hash;
			hash = FNV_START;
			if (count + 2 > starts.length) [starts, hashes] = [doubled(starts), doubled(hashes)];
			starts[count] = from + at + 1;
		}
	}
	hashes[count++] = hash;
	starts[count] = text.length + 1;
	return { text, starts: starts.slice(0, count + 1), windows: windowsOf(hashes, count, size) };
}

/** A polynomial of the lines' hashes, so that the next window follows from the one before. */
function windowsOf(hashes: Int32Array, count: number, size: number): Int32Array {
	const windows = new Int32Array(Math.max(0, count - size + 1));
	let highest = 1;
	for (let power = 1; power < size; power++) highest = Math.imul(highest, BASE);
	let window = 0;
	for (let line = 0; line < count; line++) {
		if (line >= size) window -= Math.imul(hashes[line - size] as number, highest);
		window = (Math.imul(window, BASE) + (hashes[line] as number)) | 0;
		if (line >= size - 1) windows[line - size + 1] = window;
	}
	return windows;
}

function doubled(values: Int32Array<ArrayBuffer>): Int32Array<ArrayBuffer> {
	const larger = new Int32Array(values.length * 2);
	larger.set(values);
	return larger;
}

const NONE = -1;
const UNUSED = -2;

/** A bucket may hold other windows too, so this many more places are visited than returned. */
const VISITS_PER_PLACE = 4;

/**
 * Finds the places of a window: chains of line numbers in a ring, as compressors keep them. Lines are
 * numbered across texts. The caller evicts the oldest, so memory does not grow beyond `maxLines`.
 */
export class WindowIndex {
	readonly #maxLines: number;
	#mask = 1023;
	#heads = new Int32Array(1024).fill(NONE);
	/** By line: the line before in its chain, and its window. Side by side, since both are read together. */
	#ring = new Int32Array(2048).fill(UNUSED);

	constructor(maxLines: number) {
		this.#maxLines = maxLines;
	}

	/** Lines before `oldest` are evicted; `first` is the number of the text's first line. */
	add({ windows, starts }: ScannedText, first: number, oldest: number): void {
		const end = first + starts.length - 1;
		while (end - oldest > this.#mask + 1 && this.#mask + 1 < this.#maxLines) {
			this.#grow(first, oldest);
		}
		for (let line = 0; line < starts.length - 1; line++) {
			const window = windows[line];
			// Of equal lines in a row the first window is enough: a run is extended from there.
			const isNew = window !== undefined && (line === 0 || window !== windows[line - 1]);
			if (isNew) this.#insert(first + line, window);
			else this.#ring[((first + line) & this.#mask) * 2] = UNUSED;
		}
	}

	/** Fills `places` with line numbers from `oldest` on, the newest first; returns their number. */
	find(window: number, oldest: number, places: Int32Array): number {
		let found = 0;
		let visits = places.length * VISITS_PER_PLACE;
		let at = this.#heads[bucket(window, this.#mask)] as number;
		while (at >= oldest && found < places.length && visits-- > 0) {
			const slot = (at & this.#mask) * 2;
			if (this.#ring[slot + 1] === window) places[found++] = at;
			at = this.#ring[slot] as number;
		}
		return found;
	}

	#insert(at: number, window: number): void {
		const head = bucket(window, this.#mask);
		const slot = (at & this.#mask) * 2;
		this.#ring[slot] = this.#heads[head] as number;
		this.#ring[slot + 1] = window;
		this.#heads[head] = at;
	}

	#grow(end: number, oldest: number): void {
		const [mask, ring] = [this.#mask, this.#ring];
		const size = (mask + 1) * 2;
		this.#mask = size - 1;
		this.#heads = new Int32Array(size).fill(NONE);
		this.#ring = new Int32Array(size * 2).fill(UNUSED);
		for (let at = oldest; at < end; at++) {
			const slot = (at & mask) * 2;
			if (ring[slot] !== UNUSED) this.#insert(at, ring[slot + 1] as number);
		}
	}
}

function bucket(window: number, mask: number): number {
	const mixed = Math.imul(window ^ (window >>> 15), 0x735a2d97);
	return (mixed ^ (mixed >>> 15)) & mask;
}
