import { setImmediate } from "node:timers/promises";

/** Bytes that all copies of one proxy hold. */
export class CopyBudget {
	readonly #maxBytes: number;
	#held = 0;

	constructor(maxBytes: number) {
		this.#maxBytes = maxBytes;
	}

	get held(): number {
		return this.#held;
	}

	/** False if there is no room. */
	take(bytes: number): boolean {
		if (this.#held + bytes > this.#maxBytes) return false;
		this.#held += bytes;
		return true;
	}

	release(bytes: number): void {
		this.#held -= bytes;
	}
}

/** Smaller chunks are copied together: a buffer of its own for each event would weigh more. */
const SMALL_BYTES = 4 * 1024;
const SLAB_BYTES = 16 * 1024;
/** Bytes joined before the event loop goes on: a fraction of a millisecond. */
const JOIN_BYTES = 1024 * 1024;

/** A copy of the bytes that pass. Above its bounds it drops all of them, once and for ever. */
export class BodyCopy {
	readonly #budget: CopyBudget;
	readonly #maxBytes: number;
	#chunks: Uint8Array[] | undefined = [];
	#bytes = 0;
	#slab: Uint8Array | undefined;
	#used = 0;

	constructor(budget: CopyBudget, maxBytes: number) {
		this.#budget = budget;
		this.#maxBytes = maxBytes;
	}

	/** Keeps large chunks by reference: they must not be changed later. */
	add(chunk: Uint8Array): void {
		if (!this.#chunks) return;
		const { length } = chunk;
		if (this.#bytes + length > this.#maxBytes || !this.#budget.take(length)) {
			this.drop();
			return;
		}
		this.#bytes += length;
		if (length > SMALL_BYTES) {
			this.#seal();
			this.#chunks.push(chunk);
			return;
		}
		if (this.#slab && this.#used + length > this.#slab.length) this.#seal();
		this.#slab ??= Buffer.allocUnsafeSlow(SLAB_BYTES);
		this.#slab.set(chunk, this.#used);
		this.#used += length;
	}

	/** All bytes in memory of their own; `undefined` if they were too many. */
	async join(): Promise<Uint8Array | undefined> {
		if (!this.#chunks) return undefined;
		this.#seal();
		const chunks = this.#chunks;
		this.#chunks = [];
		const whole = Buffer.allocUnsafeSlow(this.#bytes);
		let at = 0;
		let rested = 0;
		for (const chunk of chunks) {
			whole.set(chunk, at);
			at += chunk.length;
			if (at - rested < JOIN_BYTES) continue;
			await setImmediate();
			rested = at;
		}
		return whole;
	}

	/** Returns the bytes to the budget. */
	drop(): void {
		this.#budget.release(this.#bytes);
		this.#chunks = undefined;
		this.#slab = undefined;
		this.#bytes = 0;
	}

	#seal(): void {
		if (this.#slab) this.#chunks?.push(this.#slab.subarray(0, this.#used));
		this.#slab = undefined;
		this.#used = 0;
	}
}
