/** Something that ends at a certain time unless it is taken out before. */
export interface Deadline<Item> {
	readonly item: Item;
	readonly atMs: number;
	earlier: Deadline<Item> | undefined;
	later: Deadline<Item> | undefined;
	/** False once it has expired or was removed. */
	armed: boolean;
}

/** Node takes a longer delay for none at all. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * Deadlines that are all the same time away from their start, so they expire in the order in which they were added: a
 * list and one timer for its head do, and adding and removing cost next to nothing however many there are.
 */
export class Deadlines<Item> {
	readonly #afterMs: number;
	readonly #expired: (item: Item) => void;
	readonly #clock: () => number;
	#first: Deadline<Item> | undefined;
	#last: Deadline<Item> | undefined;
	#timer: NodeJS.Timeout | undefined;

	/** `clock` gives milliseconds and never goes back. */
	constructor(afterMs: number, clock: () => number, expired: (item: Item) => void) {
		this.#afterMs = Math.min(afterMs, LONGEST_TIMER_MS);
		this.#clock = clock;
		this.#expired = expired;
	}

	add(item: Item): Deadline<Item> {
		const deadline: Deadline<Item> = {
			item,
			atMs: this.#clock() + this.#afterMs,
			earlier: this.#last,
			later: undefined,
			armed: true,
		};
		if (this.#last === undefined) this.#first = deadline;
		else this.#last.later = deadline;
		this.#last = deadline;
		this.#timer ??= this.#wakeIn(this.#afterMs);
		return deadline;
	}

	/** Does nothing for one that has expired or was removed before. */
	remove(deadline: Deadline<Item>): void {
		if (!deadline.armed) return;
		deadline.armed = false;
		if (deadline.earlier === undefined) this.#first = deadline.later;
		else deadline.earlier.later = deadline.later;
		if (deadline.later === undefined) this.#last = deadline.earlier;
		else deadline.later.earlier = deadline.earlier;
	}

	/** Nothing expires any more. */
	close(): void {
		clearTimeout(this.#timer);
		this.#timer = undefined;
		this.#first = undefined;
		this.#last = undefined;
	}

	/** The timer is left alone when its deadline is removed: it then finds nothing due and sleeps until the next. */
	#wakeIn(ms: number): NodeJS.Timeout {
		return setTimeout(() => this.#wake(), Math.max(1, Math.ceil(ms))).unref();
	}

	#wake(): void {
		const now = this.#clock();
		// The spent timer stays in its place meanwhile, so that one added now does not set a timer past those before it.
		while (this.#first !== undefined && this.#first.atMs <= now) {
			const { item } = this.#first;
			this.remove(this.#first);
			this.#expired(item);
		}
		this.#timer = this.#first && this.#wakeIn(this.#first.atMs - now);
	}
}
