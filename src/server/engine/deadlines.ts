/** Node fires timers with a longer delay immediately. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Deadlines of one duration expire in insertion order: one timer is enough for all of them. */
export class Deadlines<Item> {
	readonly #afterMs: number;
	readonly #clock: () => number;
	readonly #expired: (item: Item) => void;
	/** When each item expires, earliest first. */
	readonly #atMs = new Map<Item, number>();
	#timer: NodeJS.Timeout | undefined;

	constructor(afterMs: number, clock: () => number, expired: (item: Item) => void) {
		this.#afterMs = Math.min(afterMs, LONGEST_TIMER_MS);
		this.#clock = clock;
		this.#expired = expired;
	}

	/** An item has at most one deadline here. */
	add(item: Item): this {
		this.#atMs.set(item, this.#clock() + this.#afterMs);
		this.#timer ??= this.#wakeIn(this.#afterMs);
		return this;
	}

	/** Does not clear the timer: it wakes, finds nothing due and re-arms for the next. */
	cancel(item: Item): void {
		this.#atMs.delete(item);
	}

	close(): void {
		clearTimeout(this.#timer);
		this.#timer = undefined;
		this.#atMs.clear();
	}

	#wakeIn(ms: number): NodeJS.Timeout {
		return setTimeout(() => this.#wake(), Math.max(1, Math.ceil(ms))).unref();
	}

	#wake(): void {
		const now = this.#clock();
		// `#timer` stays set during the loop, so an added deadline cannot arm a later timer.
		for (const [item, atMs] of this.#atMs) {
			if (atMs > now) {
				this.#timer = this.#wakeIn(atMs - now);
				return;
			}
			this.#atMs.delete(item);
			this.#expired(item);
		}
		this.#timer = undefined;
	}
}
