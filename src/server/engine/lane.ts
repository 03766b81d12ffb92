export interface Place<Item> {
	readonly item: Item;
	readonly lane: Lane<Item>;
	readonly number: number;
	/** Controls do not wait for it. */
	readonly isSlow: boolean;
	isFinished: boolean;
	before: Place<Item> | undefined;
	after: Place<Item> | undefined;
}

/**
 * The commands of one session, or of the server, in order; one holds the turn. A command stays
 * until its outcome is sent, which may be after the next has begun.
 */
export class Lane<Item> {
	readonly #giveTurn: (item: Item) => void;
	readonly #emptied: () => void;
	#first: Place<Item> | undefined;
	#last: Place<Item> | undefined;
	/** Has the turn; `#upcoming` is the first that has not had it. */
	#holder: Place<Item> | undefined;
	#upcoming: Place<Item> | undefined;
	#isGivingTurns = false;
	#isEnded = false;
	#firstSlow: Place<Item> | undefined;
	#lastNumber = 0;
	/** All places up to this number are finished. */
	#finishedNumber = 0;
	/** Pending controls, each behind the place of its number. */
	#controls: Pick<Place<Item>, "item" | "number">[] = [];

	/** `giveTurn` may be called within `join`. An emptied lane is not used again. */
	constructor(options: { giveTurn: (item: Item) => void; emptied: () => void }) {
		this.#giveTurn = options.giveTurn;
		this.#emptied = options.emptied;
	}

	/** `placed` is called before the turn can come. */
	join(item: Item, isSlow: boolean, placed: (place: Place<Item>) => void): void {
		const place: Place<Item> = {
			item,
			lane: this,
			number: ++this.#lastNumber,
			isSlow,
			isFinished: false,
			before: this.#last,
			after: undefined,
		};
		if (this.#last === undefined) this.#first = place;
		else this.#last.after = place;
		this.#last = place;
		this.#upcoming ??= place;
		if (isSlow) this.#firstSlow ??= place;
		placed(place);
		this.#advance();
	}

	// A control waits for earlier short commands, except those behind a slow one: `abort` must reach
	// a run however long the queue is.
	joinControl(item: Item): void {
		const number = this.#firstSlow === undefined ? this.#lastNumber : this.#firstSlow.number - 1;
		// Numbers never decrease, so `#controls` stays sorted.
		if (number <= this.#finishedNumber) this.#giveTurn(item);
		else this.#controls.push({ item, number });
	}

	isBehindSlow(place: Place<Item>): boolean {
		return this.#firstSlow !== undefined && this.#firstSlow.number < place.number;
	}

	/** A handler that `isWorking` keeps the turn until {@link release}. */
	finished(place: Place<Item>, isWorking: boolean): void {
		place.isFinished = true;
		if (this.#firstSlow === place) this.#firstSlow = nextSlow(place.after);
		if (this.#holder !== place) return;
		if (isWorking) {
			this.#finishedNumber = place.number;
			this.#releaseControls();
		} else this.release(place);
	}

	release(place: Place<Item>): void {
		if (this.#holder !== place) return;
		this.#holder = undefined;
		this.#advance();
	}

	isFirst(place: Place<Item>): boolean {
		return this.#first === place;
	}

	/** Call when the outcome is sent. Returns the new head, if that changed. */
	leave(place: Place<Item>): Item | undefined {
		const { before, after } = place;
		if (this.#upcoming === place) this.#upcoming = after;
		if (after === undefined) this.#last = before;
		else after.before = before;
		if (before !== undefined) {
			before.after = after;
			return undefined;
		}
		this.#first = after;
		this.#endIfEmpty();
		return after?.item;
	}

	/** A loop, not recursion: a thousand queued commands may fail at once. */
	#advance(): void {
		if (this.#isGivingTurns) return;
		this.#isGivingTurns = true;
		while (this.#holder === undefined && this.#upcoming !== undefined) {
			const place = this.#upcoming;
			this.#upcoming = place.after;
			if (place.isFinished) continue;
			this.#holder = place;
			this.#finishedNumber = place.number - 1;
			this.#releaseControls();
			this.#giveTurn(place.item);
		}
		this.#isGivingTurns = false;
		if (this.#holder !== undefined) return;
		this.#finishedNumber = this.#lastNumber;
		this.#releaseControls();
		this.#endIfEmpty();
	}

	#endIfEmpty(): void {
		if (this.#first !== undefined || this.#holder !== undefined || this.#isEnded) return;
		this.#isEnded = true;
		this.#emptied();
	}

	#releaseControls(): void {
		for (let next = this.#controls[0]; next !== undefined; next = this.#controls[0]) {
			if (next.number > this.#finishedNumber) return;
			this.#controls.shift();
			this.#giveTurn(next.item);
		}
	}
}

/** Amortized O(1): each place is passed once. */
function nextSlow<Item>(from: Place<Item> | undefined): Place<Item> | undefined {
	let place = from;
	while (place !== undefined && !(place.isSlow && !place.isFinished)) place = place.after;
	return place;
}
