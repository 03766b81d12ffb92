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

/** Without a known length each slab is twice as large as the one before. */
const FIRST_SLAB_BYTES = 16 * 1024;
const MAX_SLAB_BYTES = 1024 * 1024;
/** Bytes copied before the event loop goes on: a fraction of a millisecond. */
const STEP_BYTES = 1024 * 1024;

export interface CopyLimits {
	readonly budget: CopyBudget;
	readonly maxBodyBytes: number;
}

/** A copy of the bytes that pass. Above its bounds it drops all of them, once and for ever. */
export class BodyCopy {
	readonly #limits: CopyLimits;
	/** Full slabs, and chunks that were kept as they are. */
	#parts: Uint8Array[] | undefined = [];
	#slab = EMPTY;
	#used = 0;
	#nextSlabBytes: number;
	#bytes = 0;
	/** Taken from the budget. */
	#held = 0;

	/** `length`: how many bytes will pass, if that is known. They are then copied only once. */
	constructor(limits: CopyLimits, length?: number) {
		this.#limits = limits;
		this.#nextSlabBytes = length || Math.min(FIRST_SLAB_BYTES, limits.maxBodyBytes);
		if (this.#nextSlabBytes > limits.maxBodyBytes) this.drop();
	}

	/** Keeps a very large chunk by reference: it must not be changed later. */
	add(chunk: Uint8Array): void {
		if (!this.#parts) return;
		if (this.#bytes + chunk.length > this.#limits.maxBodyBytes) {
			this.drop();
			return;
		}
		this.#bytes += chunk.length;
		if (chunk.length <= STEP_BYTES) this.#copy(chunk);
		else if (this.#take(chunk.length)) {
			this.#seal();
			this.#parts.push(chunk);
		}
	}

	/** All bytes in memory of their own; `undefined` if they were too many. */
	async join(): Promise<Uint8Array | undefined> {
		if (!this.#parts) return undefined;
		const isOneSlab = this.#parts.length === 0 && this.#used > 0;
		if (isOneSlab && this.#used === this.#slab.length) return this.#slab;
		this.#seal();
		if (!this.#take(this.#bytes)) return undefined;
		const whole = Buffer.allocUnsafeSlow(this.#bytes);
		let at = 0;
		for (const part of this.#parts) {
			for (let start = 0; start < part.length; start += STEP_BYTES) {
				if (at >= STEP_BYTES) await setImmediate();
				const step = part.subarray(start, start + STEP_BYTES);
				whole.set(step, at);
				at += step.length;
			}
		}
		return whole;
	}

	/** Returns the memory to the budget. */
	drop(): void {
		this.#limits.budget.release(this.#held);
		this.#held = 0;
		this.#parts = undefined;
		this.#slab = EMPTY;
	}

	#copy(chunk: Uint8Array): void {
		for (let at = 0; at < chunk.length; ) {
			if (this.#used === this.#slab.length && !this.#addSlab()) return;
			const part = chunk.subarray(at, at + this.#slab.length - this.#used);
			this.#slab.set(part, this.#used);
			this.#used += part.length;
			at += part.length;
		}
	}

	/** False, and all is dropped, if there is no room. */
	#addSlab(): boolean {
		const bytes = this.#nextSlabBytes;
		if (!this.#take(bytes)) return false;
		this.#seal();
		this.#slab = Buffer.allocUnsafeSlow(bytes);
		this.#nextSlabBytes = Math.min(2 * bytes, MAX_SLAB_BYTES);
		return true;
	}

	#take(bytes: number): boolean {
		if (!this.#limits.budget.take(bytes)) {
			this.drop();
			return false;
		}
		this.#held += bytes;
		return true;
	}

	#seal(): void {
		if (this.#used > 0) this.#parts?.push(this.#slab.subarray(0, this.#used));
		this.#slab = EMPTY;
		this.#used = 0;
	}
}

const EMPTY = new Uint8Array(0);
