/** A timeout that expires unless it is cancelled. */
export interface Deadline {
	/** Does nothing for one that has expired or was cancelled. */
	cancel(): void;
}

/** Node fires timers with a longer delay at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * Deadlines with one duration: they expire in the order of their start. So a linked list and one timer for its head
 * suffice, and adding and cancelling are O(1).
 */
export class Deadlines<Item> {
	readonly #afterMs: number;
	readonly #clock: () => number;
	readonly #expired: (item: Item) => void;
	#first: Node<Item> | undefined;
	#last: Node<Item> | undefined;
	#timer: NodeJS.Timeout | undefined;

	/** `clock` is monotonic, in milliseconds. */
	constructor(afterMs: number, clock: () => number, expired: (item: Item) => void) {
		this.#afterMs = Math.min(afterMs, LONGEST_TIMER_MS);
		this.#clock = clock;
		this.#expired = expired;
	}

	add(item: Item): Deadline {
		const node = new Node(item, this.#clock() + this.#afterMs, this);
		node.earlier = this.#last;
		if (this.#last === undefined) this.#first = node;
		else this.#last.later = node;
		this.#last = node;
		this.#timer ??= this.#wakeIn(this.#afterMs);
		return node;
	}

	/** Called by {@link Deadline.cancel}. */
	unlink({ earlier, later }: Node<Item>): void {
		if (earlier === undefined) this.#first = later;
		else earlier.later = later;
		if (later === undefined) this.#last = earlier;
		else later.earlier = earlier;
	}

	/** Nothing expires any more. */
	close(): void {
		clearTimeout(this.#timer);
		this.#timer = undefined;
		this.#first = undefined;
		this.#last = undefined;
	}

	/** The timer outlives a cancelled deadline: it then finds nothing due and sleeps until the next. */
	#wakeIn(ms: number): NodeJS.Timeout {
		return setTimeout(() => this.#wake(), Math.max(1, Math.ceil(ms))).unref();
	}

	#wake(): void {
		const now = this.#clock();
		// The spent timer keeps its place meanwhile: a deadline added now must not set a timer past those before it.
		while (this.#first !== undefined && this.#first.atMs <= now) {
			const { item } = this.#first;
			this.#first.cancel();
			this.#expired(item);
		}
		this.#timer = this.#first && this.#wakeIn(this.#first.atMs - now);
	}
}

class Node<Item> implements Deadline {
	readonly item: Item;
	readonly atMs: number;
	earlier: Node<Item> | undefined;
	later: Node<Item> | undefined;
	#list: Deadlines<Item> | undefined;

	constructor(item: Item, atMs: number, list: Deadlines<Item>) {
		this.item = item;
		this.atMs = atMs;
		this.#list = list;
	}

	cancel(): void {
		this.#list?.unlink(this);
		this.#list = undefined;
	}
}
