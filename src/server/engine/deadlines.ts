export interface Deadline {
	cancel(): void;
}

/** Node fires timers with a longer delay immediately. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Deadlines of one duration expire in insertion order: a linked list and one timer give O(1). */
export class Deadlines<Item> {
	readonly #afterMs: number;
	readonly #clock: () => number;
	readonly #expired: (item: Item) => void;
	#first: Node<Item> | undefined;
	#last: Node<Item> | undefined;
	#timer: NodeJS.Timeout | undefined;

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

	unlink({ earlier, later }: Node<Item>): void {
		if (earlier === undefined) this.#first = later;
		else earlier.later = later;
		if (later === undefined) this.#last = earlier;
		else later.earlier = earlier;
	}

	close(): void {
		clearTimeout(this.#timer);
		this.#timer = undefined;
		this.#first = undefined;
		this.#last = undefined;
	}

	/** Cancelling does not clear the timer: it wakes, finds nothing due and re-arms for the next. */
	#wakeIn(ms: number): NodeJS.Timeout {
		return setTimeout(() => this.#wake(), Math.max(1, Math.ceil(ms))).unref();
	}

	#wake(): void {
		const now = this.#clock();
		// `#timer` stays set during the loop, so an added deadline cannot arm a later timer.
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
