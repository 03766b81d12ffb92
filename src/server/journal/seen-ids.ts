import { setImmediate as nextTick } from "node:timers/promises";

/** So many rows are looked at in one go, which holds up nobody for longer than a few milliseconds. */
const ROWS_AT_ONCE = 2_000;
/** One in fifty ids is asked for in vain when a million are known; with many more, it is most of them. */
const BITS = 2 ** 23;
const BITS_PER_ID = 4;

/** Rows of the journal's commands behind a position, in order. */
export type ReadIds = (after: number, limit: number) => readonly IdRow[];

export interface IdRow {
	readonly position: number;
	readonly principal: string;
	readonly id: string;
}

/**
 * Knows which ids the journal surely does not have, so that a new command need not ask the disk: a Bloom filter. What is
 * in the file already is taken in bit by bit; until then any id may be there.
 */
export class SeenIds {
	readonly #bits = new Uint32Array(BITS / 32);
	#isWhole = false;
	/** Takes the place of an earlier one when another file is opened. */
	#reading = 0;

	/** To be called for everything that is written from now on. */
	add(principal: string, id: string): void {
		let [bit, step] = hashes(principal, id);
		for (let i = 0; i < BITS_PER_ID; i++, bit = (bit + step) >>> 0) {
			const at = bit % BITS;
			this.#bits[at >>> 5] = (this.#bits[at >>> 5] as number) | (1 << (at & 31));
		}
	}

	/** `false` only for what was never added and is not in the file. */
	mayHave(principal: string, id: string): boolean {
		if (!this.#isWhole) return true;
		let [bit, step] = hashes(principal, id);
		for (let i = 0; i < BITS_PER_ID; i++, bit = (bit + step) >>> 0) {
			const at = bit % BITS;
			if (((this.#bits[at >>> 5] as number) & (1 << (at & 31))) === 0) return false;
		}
		return true;
	}

	/** Takes in a file's ids, in the background. If it cannot be read, any id may be there for good. */
	async takeIn(read: ReadIds): Promise<void> {
		this.#isWhole = false;
		const reading = ++this.#reading;
		for (let after = 0; ; ) {
			await nextTick();
			if (reading !== this.#reading) return;
			const rows = read(after, ROWS_AT_ONCE);
			for (const { principal, id } of rows) this.add(principal, id);
			const last = rows.at(-1);
			if (rows.length < ROWS_AT_ONCE || !last) break;
			after = last.position;
		}
		this.#isWhole = true;
	}

	/** Stops taking in; from now on any id may be there. */
	close(): void {
		this.#reading++;
		this.#isWhole = false;
	}
}

/** Where to begin and how to go on: two hashes (FNV-1a) of the name. The second is odd, so that all bits are reached. */
function hashes(principal: string, id: string): [number, number] {
	const first = hash(hash(0x811c9dc5, principal), id);
	return [first, hash(first ^ 0x5bd1e995, id) | 1];
}

function hash(start: number, text: string): number {
	// The length keeps `ab` + `c` and `a` + `bc` apart.
	let value = Math.imul(start ^ text.length, 0x01000193);
	for (let at = 0; at < text.length; at++) {
		value = Math.imul(value ^ text.charCodeAt(at), 0x01000193);
	}
	return value >>> 0;
}
