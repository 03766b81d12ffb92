const BASE = 0x2c1b3c6d;

/**
 * A hash for every window: `size` consecutive lines, by its first one. It is a polynomial of the lines'
 * hashes, so that the next window follows from the one before.
 */
export function windowsOf(hashes: Int32Array, size: number): Int32Array {
	const windows = new Int32Array(Math.max(0, hashes.length - size + 1));
	let highest = 1;
	for (let power = 1; power < size; power++) highest = Math.imul(highest, BASE);
	let window = 0;
	for (let line = 0; line < hashes.length; line++) {
		if (line >= size) window -= Math.imul(hashes[line - size] as number, highest);
		window = (Math.imul(window, BASE) + (hashes[line] as number)) | 0;
		if (line >= size - 1) windows[line - size + 1] = window;
	}
	return windows;
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

	/**
	 * Adds a text of so many lines, of which `first` is the number of the first one. Lines before `oldest`
	 * are evicted.
	 */
	add(windows: Int32Array, lines: number, first: number, oldest: number): void {
		const end = first + lines;
		while (end - oldest > this.#mask + 1 && this.#mask + 1 < this.#maxLines) {
			this.#grow(first, oldest);
		}
		for (let line = 0; line < lines; line++) {
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
