export interface Deadline {
	cancel(): void;
}

/** Node fires timers with a longer delay immediately. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Deadlines of equal duration. They expire in insertion order, so one timer is enough. */
export class Deadlines<Item> {
	readonly #afterMs: number;
	readonly #clock: () => number;
	readonly #onExpired: (item: Item) => void;
	readonly #pending = new Set<{ readonly item: Item; readonly atMs: number }>();
	#timer: NodeJS.Timeout | undefined;

	constructor(afterMs: number, clock: () => number, onExpired: (item: Item) => void) {
		this.#afterMs = Math.min(afterMs, LONGEST_TIMER_MS);
		this.#clock = clock;
		this.#onExpired = onExpired;
	}

	add(item: Item): Deadline {
		const entry = { item, atMs: this.#clock() + this.#afterMs };
		this.#pending.add(entry);
		this.#timer ??= this.#wakeIn(this.#afterMs);
		return { cancel: () => void this.#pending.delete(entry) };
	}

	close(): void {
		clearTimeout(this.#timer);
		this.#timer = undefined;
		this.#pending.clear();
	}

	/** Cancelling does not clear the timer, which fires anyway and re-arms if deadlines are left. */
	#wakeIn(ms: number): NodeJS.Timeout {
		return setTimeout(() => this.#wake(), Math.max(1, Math.ceil(ms))).unref();
	}

	#wake(): void {
		const now = this.#clock();
		// `#timer` stays set during the loop, so that `add` does not start a second timer.
		for (const entry of this.#pending) {
			if (entry.atMs > now) break;
			this.#pending.delete(entry);
			this.#onExpired(entry.item);
		}
		const [next] = this.#pending;
		this.#timer = next && this.#wakeIn(next.atMs - now);
	}
}
